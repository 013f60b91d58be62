"""Strategy ``none``: everyone who reaches the service can do everything."""

from flask import Request

from baremetal_sched.web.authentication.strategy import Strategy
from baremetal_sched.web.caller import Caller


class NoAuthentication(Strategy):
    """Ignores all credentials."""

    anyone = Caller(unrestricted=True)

    def authenticate(self, http: Request) -> Caller:
        return self.anyone
