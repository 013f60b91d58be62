"""The interface of authentication strategies."""

from abc import ABC, abstractmethod

from flask import Request

from baremetal_sched.errors import NotAuthenticated
from baremetal_sched.settings import Settings
from baremetal_sched.web.caller import Caller


class Strategy(ABC):
    """Determines the caller of a request.

    One instance is shared by all threads of an application. Strategies rely only on input that they check themselves.
    """

    #: The value of ``WWW-Authenticate`` in a 401; None: the header is omitted.
    challenge: str | None = None

    #: Callers have one scope and cannot ask for another, as they can with tokens.
    scope_is_fixed: bool = False

    #: The caller of public routes. A token that comes with the request is ignored.
    anyone: Caller = Caller(is_public_api=True)

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @property
    def roles(self) -> frozenset[str]:
        """Return the roles of all callers, as far as they are known before they call."""
        return frozenset()

    def today(self, caller: Caller) -> Caller | None:
        """Return an earlier caller with the rights of today, as far as the service itself knows them; None: the user
        no longer exists. Raises AuthenticationUnavailable."""
        return caller

    @abstractmethod
    def authenticate(self, http: Request) -> Caller:
        """Return the caller.

        Raises NotAuthenticated for missing or wrong credentials (401), and AuthenticationUnavailable if they cannot be
        checked at present (503).
        """


class NoAuthentication(Strategy):
    """Ignores all credentials."""

    anyone = Caller(unrestricted=True)

    def authenticate(self, http: Request) -> Caller:
        return self.anyone


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
