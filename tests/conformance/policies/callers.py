"""The callers, and the kinds of resources that they call about."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: The project of the callers that have one, and another one.
MINE, OTHERS = "red", "blue"
SERVICE = "service"
#: Roles with the roles that they imply, as a token has them.
ADMIN = ("admin", "manager", "member", "reader")


@dataclass(frozen=True)
class Caller:
    """A caller; ``elevated``: the service runs with ``rbac_service_role_elevated_access``."""

    name: str
    roles: tuple[str, ...] = ()
    project: str | None = None
    system: bool = False
    elevated: bool = field(default=False, kw_only=True)

    @property
    def is_anonymous(self) -> bool:
        """Return whether the caller has no token."""
        return not self.roles

    @property
    def person(self) -> str:
        """Return who calls, of the people in the Keystone of the tests."""
        return self.name.removeprefix("elevated-")

    def context(self) -> dict[str, Any]:
        """Return what Ironic's request context is made from."""
        return {
            "user_id": self.name,
            "roles": list(self.roles),
            "project_id": self.project,
            "project_name": self.project,
            "system_scope": "all" if self.system else None,
        }

    def headers(self) -> dict[str, str]:
        """Return the headers of a request under the strategy ``noauth2``."""
        if self.is_anonymous:
            return {}
        token = self.name if self.project is None else f"{self.name}:{self.project}"
        scope = {"OpenStack-System-Scope": "all"} if self.system else {}
        project = {"X-Project-Name": self.project} if self.project else {}
        return {"X-Auth-Token": token, "X-Roles": ",".join(self.roles), **scope, **project}


SYSTEM_ADMIN = Caller("system-admin", ADMIN, system=True)
RED_READER = Caller("red-reader", ADMIN[3:], MINE)
NOT_ELEVATED = (
    SYSTEM_ADMIN,
    Caller("system-member", ADMIN[2:], system=True),
    Caller("system-reader", ADMIN[3:], system=True),
    Caller("red-admin", ADMIN, MINE),
    Caller("red-manager", ADMIN[1:], MINE),
    Caller("red-member", ADMIN[2:], MINE),
    RED_READER,
    Caller("service", (SERVICE,), SERVICE),
    Caller("nobody"),
)
#: The same service where services have elevated access, and one in the project of a tenant.
CALLERS = (
    *NOT_ELEVATED,
    Caller("red-service", (SERVICE,), MINE),
    Caller("elevated-service", (SERVICE,), SERVICE, elevated=True),
)

#: Kinds of nodes, by whose they are to the projects' callers: owner and lessee.
KINDS: Mapping[str, tuple[str | None, str | None]] = {
    "owned": (MINE, None),
    "leased": (OTHERS, MINE),
    "foreign": (OTHERS, None),
    "ownerless": (None, None),
}
#: The kind of what has no owner, such as a driver.
NOTHING = "nothing"


def target(kind: str) -> dict[str, str | None]:
    """Return what rules compare the caller with: a node of that kind, and an allocation and a runbook of its owner."""
    if kind == NOTHING:
        return {}
    owner, lessee = KINDS[kind]
    whose = {f"{thing}.owner": owner for thing in ("node", "allocation", "runbook")}
    return {**whose, **({"node.lessee": lessee} if lessee else {})}
