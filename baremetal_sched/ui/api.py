"""The parts of the application that each API implements, for the pages."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import cast
from wsgiref.types import WSGIApplication

from flask import Request, Response

from baremetal_sched.baremetal.api.policies import RULES as BAREMETAL_RULES
from baremetal_sched.compute.api.edge import ComputeApi
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import NotAllowed, NotAuthenticated, WrongScope
from baremetal_sched.image.api.edge import ImageApi
from baremetal_sched.scheduling.api.policies import RULES as SCHEDULING_RULES
from baremetal_sched.settings import Settings
from baremetal_sched.ui import access, guard, log_ins
from baremetal_sched.ui.access import PagesOff
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.guard import REFRESH, NoScope
from baremetal_sched.ui.rendering import page
from baremetal_sched.ui.routes import LOGIN, ROUTES
from baremetal_sched.ui.tabs import can_choose, hint_of
from baremetal_sched.web.api import Api
from baremetal_sched.web.authentication import Strategy
from baremetal_sched.web.call import Call
from baremetal_sched.web.caller import CALLER
from baremetal_sched.web.http_errors import message_of
from baremetal_sched.web.policy import Policy
from baremetal_sched.web.route import Route

#: One script of our own, which asks for the page again; no frame, nothing inline, nothing from elsewhere.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; "
    "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With no-referrer, browsers send "Origin: null" with forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class UiApi(Api):
    """Pages, which show what the APIs show to the same caller, and act by their requests. Only the rules of these APIs
    apply. The application sets ``apis``, by their mounts."""

    name = "ui"
    routes = ROUTES
    apis: Mapping[str, WSGIApplication]

    def __init__(self, settings: Settings, strategy: Strategy, database: Database) -> None:
        super().__init__(settings, strategy)
        self.policy = Policy(settings, (*BAREMETAL_RULES, *SCHEDULING_RULES))
        self._compute, self._image = ComputeApi(settings, self.strategy), ImageApi(settings, self.strategy)
        self._access = log_ins.make(settings, strategy, database)
        self._database = database

    @property
    def is_served(self) -> bool:
        """Return whether there are pages with these settings."""
        return access.why_off(self.settings) is None

    def new_call(self, http: Request, request_id: str) -> Call:
        call = UiCall(http, request_id, self.settings, self._compute, self._image, self._access)
        call.apis, call.database = self.apis, self._database
        return call

    def authenticate(self, call: Call, *, public: bool) -> None:
        """Find out who the caller is, by a session or, for pages, as the APIs do.

        Raises like ``access.check``, NotAuthenticated, NoScope, AuthenticationUnavailable.
        """
        call = cast(UiCall, call)
        access.check(self.settings, call.http.environ)
        if public or call.http.method == "OPTIONS":
            super().authenticate(call, public=public)
            return
        person = guard.admit(call)
        if person is None:
            if guard.needs_session(call):
                raise NotAuthenticated
            super().authenticate(call, public=False)
            call.credentials = {CALLER: call.caller} if call.caller.user_id else {}
            if call.page_access.is_open:
                guard.begin_form(call)
        elif person.has_no_scope:
            raise NoScope

    def before_view(self, call: Call, route: Route) -> None:
        """Refuse forms that are not of this caller, then as for every API. Raises RefusedRequest, NotAuthenticated."""
        if route.method == "POST":
            guard.check_form(cast(UiCall, call), logs_in=route.path == LOGIN)
        super().before_view(call, route)

    def failure(self, call: Call, error: Exception) -> Response:
        """Lead browsers to the page where people log in, or choose a project. Other clients get the error."""
        back = guard.way_back(cast(UiCall, call), error)
        if back is not None:
            return back
        response = super().failure(call, error)
        if REFRESH in call.http.headers:
            del response.headers["WWW-Authenticate"]  # or the browser would ask for a password
        return response

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
            hint=hint_of(cast(UiCall, call), call.http.path) if isinstance(error, NotAllowed | WrongScope) else "",
            can_choose=can_choose(cast(UiCall, call)),
            request_id=call.request_id,
        )

    def finish(self, call: Call, response: Response) -> None:
        super().finish(call, response)
        response.headers.update(_HEADERS)
        guard.set_cookies(cast(UiCall, call), response)
