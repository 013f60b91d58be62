"""Who is calling."""

from collections.abc import Callable
from dataclasses import dataclass, field

from flask import Request

from baremetal_sched.errors import NotAuthenticated


@dataclass(frozen=True)
class Caller:
    """The user, his project and roles; ``system_scope`` is "all" for a request about the system as a whole."""

    user_id: str | None = None
    project_id: str | None = None
    roles: tuple[str, ...] = ()
    system_scope: str | None = None
    #: May do everything: nobody is authenticated.
    unrestricted: bool = field(default=False, kw_only=True)


#: Makes a Caller from a request. Raises NotAuthenticated.
Authenticate = Callable[[Request], Caller]


def nobody(request: Request) -> Caller:
    """Strategy ``none``: whoever reaches the service may do everything."""
    return Caller(unrestricted=True)


def whoever_he_says(request: Request) -> Caller:
    """Strategy ``noauth2``, for tests only: the token is ``user`` or ``user:project``, roles come from a header."""
    token = request.headers.get("X-Auth-Token")
    if token is None:
        raise NotAuthenticated
    user, _, project = token.partition(":")
    system_scope = request.headers.get("OpenStack-System-Scope")
    own_project = None if system_scope else project or user
    roles = tuple(role.strip() for role in request.headers.get("X-Roles", "").split(",") if role.strip())
    if "X-Roles" not in request.headers and user == "admin":
        roles = ("admin",)
    return Caller(user, request.headers.get("X-Project-Id", own_project), roles, system_scope)


STRATEGIES: dict[str, Authenticate] = {"none": nobody, "noauth2": whoever_he_says}
