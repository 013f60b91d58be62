"""The base class of the APIs: the part that all of them share, with methods that each overrides."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NoReturn
from wsgiref.types import WSGIEnvironment

from flask import Request, Response
from oslo_policy import policy
from werkzeug.datastructures import MIMEAccept
from werkzeug.http import parse_accept_header

from baremetal_sched.errors import SchedulerError
from baremetal_sched.settings import Settings
from baremetal_sched.web.authentication import Strategy, make
from baremetal_sched.web.call import Call
from baremetal_sched.web.caller import CALLER, Caller
from baremetal_sched.web.http_errors import (
    MethodNotAllowed,
    NotAcceptable,
    Statuses,
    UnsupportedMediaType,
    status_of,
)
from baremetal_sched.web.microversions import Microversions
from baremetal_sched.web.policy import OptionalRules, Policy
from baremetal_sched.web.responses import JSON
from baremetal_sched.web.route import Methods, Route


@lru_cache(maxsize=200)
def _takes_json(accept: str) -> bool:
    """Return whether a client with this Accept header accepts JSON. Cached, as clients hardly ever send anything
    else."""
    accepted = parse_accept_header(accept, MIMEAccept)
    return not accepted or bool(accepted.best_match([JSON]))


class Api(ABC):
    """One API, at its own mount. Shared behaviour is implemented here; subclasses override the rest.

    ``versions``: its microversions, if any. ``statuses``: those of errors that differ from the other APIs'. ``rules``:
    its policies. ``optional_rules``: rules that exist only in the operator's file. ``is_of_projects``: its rules know
    no scope but that of projects, and ``admin`` in any of them is the administrator.
    """

    name: str
    routes: Iterable[Route]
    versions: Microversions | None = None
    call: type[Call] = Call
    statuses: Statuses = {}
    rules: Sequence[policy.RuleDefault] = ()
    #: Rules of another API that this one asks, too.
    borrowed_rules: Sequence[policy.RuleDefault] = ()
    optional_rules: Sequence[OptionalRules] = ()
    is_of_projects: bool = False
    #: Cache-Control of answers that do not say it themselves.
    caching: str | None = "no-store"

    def __init__(self, settings: Settings, strategy: Strategy | None = None) -> None:
        """``strategy``: how callers are authenticated; by default, a new one according to the settings."""
        self.settings = settings
        self.strategy = strategy or make(settings)
        self.policy = Policy(settings, (*self.rules, *self.borrowed_rules))

    def new_call(self, http: Request, request_id: str) -> Call:
        """Return the request for the views of this API."""
        return self.call(http, request_id, self.settings)

    def request_of(self, call: Call) -> Call:
        """Return a request to another API, whose caller is known, as one to this API: this API's rules decide."""
        own = self.new_call(call.http, call.request_id)
        own.policy, own.deadline = self.policy, call.deadline
        self._admit(own, call.caller)
        return own

    def rewrite_path(self, environ: WSGIEnvironment) -> None:  # noqa: B027 - most have nothing to do here
        """Normalize PATH_INFO to the form of the route table."""

    def authenticate(self, call: Call, *, public: bool) -> None:
        """Authenticate the caller; ``public``: the route may be used by anyone. OPTIONS has no credentials, as browsers
        send it. Raises NotAuthenticated, AuthenticationUnavailable."""
        is_open = public or call.http.method == "OPTIONS"
        known: Caller | None = call.http.environ.get(CALLER)
        self._admit(call, self.strategy.anyone if is_open else known or self.strategy.authenticate(call.http))

    def _admit(self, call: Call, caller: Caller) -> None:
        """Set the caller of a request, in the scope of this API."""
        call.caller = self._scoped(caller)
        call.unscoped = None if call.caller is caller else caller

    def _scoped(self, caller: Caller) -> Caller:
        """Return the caller in the scope that this API has for the administrator of the system.

        Callers with tokens do not need this: they can get a token with another scope. Other roles in the system have no
        counterpart in a project.
        """
        if not (self.is_of_projects and self.strategy.scope_is_fixed):
            return caller
        if caller.system_scope is None or "admin" not in caller.roles:
            return caller
        return replace(caller, system_scope=None, project_id=self.settings.compute.project_id)

    def before_routing(self, call: Call) -> Response | None:
        """Checks after authentication and before 404 and 405. Their result or error is the answer."""
        return None

    def negotiate(self, call: Call) -> None:
        """Negotiate a microversion, if the API has any. Raises MicroversionMalformed, MicroversionNotServed."""
        if self.versions is not None:
            call.versions = self.versions
            call.version = self.versions.negotiate(call.http.headers)
            call.negotiated = True

    def refuse_method(self, call: Call, methods: Methods) -> NoReturn:
        """Raise the error for a method that the path does not support; ``methods`` are the supported ones."""
        routes = [route for each in methods.values() for route in each]
        if routes[0].hides_path and not any(route.serves(call.version) for route in routes):
            raise routes[0].absent("GET", call.version)
        raise MethodNotAllowed(method=call.http.method, allowed=list(methods))

    def before_view(self, call: Call, route: Route) -> None:
        """Checks that come after the route is known: media types, policy, query strings. Raises UnsupportedMediaType,
        NotAcceptable, NotAllowed, InvalidValue."""
        if route.takes and not (route.may_be_empty and not call.raw_body):
            given = (call.http.content_type or "").partition(";")[0]
            if given not in route.takes:
                raise UnsupportedMediaType(
                    message=f"The media type {given or None} is not supported, use {' or '.join(route.takes)}"
                )
        if route.gives_json and not self.accepts_json(call):
            raise NotAcceptable(message=f"Only {JSON} is provided")
        if route.policy is not None and not route.checks_policy:
            call.require(route.policy)
        if route.refuses_query or (
            route.operation is not None and route.operation.refuses and not route.operation.query
        ):
            call.refuse_query()

    def accepts_json(self, call: Call) -> bool:
        """Return whether the client accepts JSON."""
        accept = call.http.environ.get("HTTP_ACCEPT")
        return accept is None or _takes_json(accept)

    def run(self, call: Call, transaction: Callable[[], Response]) -> Response:
        """Run the transaction of a view."""
        return transaction()

    def failure(self, call: Call, error: Exception) -> Response:
        """Return the answer to ``error``: ``error_body`` with the headers that belong to its status."""
        statuses = self.statuses if call.route is None else {**self.statuses, **call.route.statuses}
        status = status_of(error, statuses)
        response = self.error_body(call, error, status)
        if isinstance(error, MethodNotAllowed) and error.details["allowed"]:
            response.headers["Allow"] = ", ".join(error.details["allowed"])
        if status == 401 and self.strategy.challenge is not None:
            response.headers["WWW-Authenticate"] = self.strategy.challenge
        if status in (429, 503):
            details = error.details if isinstance(error, SchedulerError) else {}
            response.headers["Retry-After"] = str(details.get("retry_after", 1))
        return response

    @abstractmethod
    def error_body(self, call: Call, error: Exception, status: int) -> Response:
        """Return the body of ``error`` with this status, in the format of this API."""

    def finish(self, call: Call, response: Response) -> None:
        """Add the headers that every response of this API has."""
        response.headers.add("X-OpenStack-Request-Id", call.request_id)
        if self.caching is not None:
            response.headers.setdefault("Cache-Control", self.caching)
        if call.negotiated and self.versions is not None:
            self.versions.describe(response.headers, call.version)
