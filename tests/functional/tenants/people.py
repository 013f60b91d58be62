"""Who calls: two tenants with a few roles each, and those who run the place."""

from collections.abc import Mapping

RED, BLUE = "red", "blue"
_ROLES = ("manager", "member", "reader")


def headers(project: str, role: str) -> Mapping[str, str]:
    """Return the headers of a member of a project, under the strategy ``noauth2``."""
    implied = ("admin", *_ROLES)
    return {"X-Auth-Token": f"{project}-{role}:{project}", "X-Roles": ",".join(implied[implied.index(role) :])}


#: Of the system, for the bare metal API; of a project, for the others, to which its role ``admin`` is everything.
OPERATOR: Mapping[str, str] = {"X-Auth-Token": "operator", "X-Roles": "admin,member,reader"}
SYSTEM: Mapping[str, str] = {**OPERATOR, "OpenStack-System-Scope": "all"}


def roles(api: str) -> tuple[str, ...]:
    """Return the roles of tenants. To APIs other than bare metal the role ``admin`` of any project is everything."""
    return ("admin", *_ROLES) if api == "baremetal" else _ROLES
