"""Strategy ``noauth2``, for tests only: callers are trusted to be who they claim, as in Placement's own tests."""

from flask import Request

from baremetal_sched.errors import NotAuthenticated
from baremetal_sched.web.authentication.strategy import Strategy
from baremetal_sched.web.caller import Caller


class NoAuth2(Strategy):
    """The token is ``user`` or ``user:project``. Roles are in ``X-Roles``; without it the user ``admin`` has the role
    ``admin``, others have none. ``X-Project-Name`` is the name of the project, if that has one.
    ``OpenStack-System-Scope: all`` makes it a request about the system as a whole."""

    def authenticate(self, http: Request) -> Caller:
        token = http.headers.get("X-Auth-Token")
        if token is None:
            raise NotAuthenticated
        user, _, project = token.partition(":")
        system_scope = http.headers.get("OpenStack-System-Scope")
        own_project = None if system_scope else project or user
        roles = tuple(role.strip() for role in http.headers.get("X-Roles", "").split(",") if role.strip())
        if "X-Roles" not in http.headers and user == "admin":
            roles = ("admin",)
        project_id, name = http.headers.get("X-Project-Id", own_project), http.headers.get("X-Project-Name")
        return Caller(user, project_id, roles, system_scope, project_name=name)
