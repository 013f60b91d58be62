"""What a way to authenticate callers has to do."""

from abc import ABC, abstractmethod

from flask import Request

from baremetal_sched.settings import Settings
from baremetal_sched.web.caller import Caller


class Strategy(ABC):
    """Tells from a request who its caller is.

    It is made once for an application, whose threads all use it. Nothing that a client sends counts but what the
    strategy itself looks at.
    """

    #: The value of ``WWW-Authenticate`` in a 401; None: there is no such header.
    challenge: str | None = None

    #: Who calls a public route. A token that comes with the request is not looked at.
    anyone: Caller = Caller(is_public_api=True)

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @abstractmethod
    def authenticate(self, http: Request) -> Caller:
        """Return who is calling.

        Raises NotAuthenticated for missing or wrong credentials (401), and AuthenticationUnavailable if they cannot
        be checked now (503).
        """
