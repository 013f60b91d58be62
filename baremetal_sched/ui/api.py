"""The parts of the application that each API implements, for the pages."""

from http import HTTPStatus

from flask import Request, Response

from baremetal_sched.baremetal.api.policies import RULES as BAREMETAL_RULES
from baremetal_sched.compute.api.edge import ComputeApi
from baremetal_sched.image.api.edge import ImageApi
from baremetal_sched.scheduling.api.policies import RULES as SCHEDULING_RULES
from baremetal_sched.settings import Settings
from baremetal_sched.ui import access
from baremetal_sched.ui.access import PagesOff
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.rendering import page
from baremetal_sched.ui.routes import ROUTES
from baremetal_sched.web.api import Api
from baremetal_sched.web.authentication import Strategy
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import message_of
from baremetal_sched.web.policy import Policy

#: One script of our own, which asks for the page again; no frame, nothing inline, nothing from elsewhere.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; "
    "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class UiApi(Api):
    """Pages, which show what the APIs show to the same caller. Only the rules of these APIs apply."""

    name = "ui"
    routes = ROUTES

    def __init__(self, settings: Settings, strategy: Strategy | None = None) -> None:
        super().__init__(settings, strategy)
        self.policy = Policy(settings, (*BAREMETAL_RULES, *SCHEDULING_RULES))
        self._compute, self._image = ComputeApi(settings, self.strategy), ImageApi(settings, self.strategy)

    @property
    def is_served(self) -> bool:
        """Return whether there are pages with these settings."""
        return access.why_off(self.settings) is None

    def new_call(self, http: Request, request_id: str) -> Call:
        return UiCall(http, request_id, self.settings, self._compute, self._image)

    def authenticate(self, call: Call, *, public: bool) -> None:
        """Authenticate the caller. Raises like ``access.check``."""
        access.check(self.settings, call.http.environ)
        super().authenticate(call, public=public)

    def error_body(self, call: Call, error: Exception, status: int) -> Response:
        if isinstance(error, PagesOff):
            return Response(f"{error}\n", status, content_type="text/plain; charset=utf-8")
        return page(
            call,
            "error.html",
            status,
            code=status,
            phrase=HTTPStatus(status).phrase,
            message=message_of(error),
            request_id=call.request_id,
        )

    def finish(self, call: Call, response: Response) -> None:
        super().finish(call, response)
        response.headers.update(_HEADERS)
