"""The interface of authentication strategies."""

from abc import ABC, abstractmethod

from flask import Request

from baremetal_sched.settings import Settings
from baremetal_sched.web.caller import Caller


class Strategy(ABC):
    """Determines the caller of a request.

    One instance is shared by all threads of an application. Strategies rely on nothing that a client sends except what
    they check themselves.
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

    @abstractmethod
    def authenticate(self, http: Request) -> Caller:
        """Return the caller.

        Raises NotAuthenticated for missing or wrong credentials (401), and AuthenticationUnavailable if they cannot be
        checked at present (503).
        """
