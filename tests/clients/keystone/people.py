"""Who is in the Keystone of the tests: a user for every role and scope, named after both."""

from dataclasses import dataclass

#: Of two tenants, and of services.
PROJECTS = ("red", "blue", "service")
#: What ``keystone-manage bootstrap`` makes; admin implies manager, which implies member, which implies reader.
ROLES = ("admin", "manager", "member", "reader")


@dataclass(frozen=True)
class Person:
    """A user with one role, in the project ``scope``, or in "system" or "domain" (the default one)."""

    name: str
    role: str
    scope: str

    @property
    def password(self) -> str:
        """Made of the name, so that any process knows it."""
        return f"password-of-{self.name}"


#: By their names: ``system-admin``, ``domain-reader``, ``red-member`` and so on.
PEOPLE = {
    person.name: person
    for person in (
        *(Person(f"{scope}-{role}", role, scope) for scope in ("system", "domain", "red", "blue") for role in ROLES),
        # What calls for users, as Nova does: for a project or for the system, or as an administrator of its project.
        Person("service", "service", "service"),
        Person("system-service", "service", "system"),
        Person("service-admin", "admin", "service"),
        # What the service under test calls itself.
        Person("baremetal-sched", "service", "service"),
        # A service in the project of a tenant.
        Person("red-service", "service", "red"),
    )
}
