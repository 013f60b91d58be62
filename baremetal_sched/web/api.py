"""What an API is to the edge: a base that has all that the APIs share, and lets each do the rest its own way."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NoReturn

from flask import Request, Response
from oslo_policy import policy
from werkzeug.datastructures import MIMEAccept
from werkzeug.http import parse_accept_header

from baremetal_sched.settings import Settings
from baremetal_sched.web.authentication import Strategy, make
from baremetal_sched.web.call import Call
from baremetal_sched.web.microversions import Microversions
from baremetal_sched.web.policy import OptionalRules, Policy
from baremetal_sched.web.problems import (
    MethodNotAllowed,
    NotAcceptable,
    Statuses,
    TooManyFailedLogins,
    UnsupportedMediaType,
    status_of,
)
from baremetal_sched.web.responses import JSON
from baremetal_sched.web.route import Methods, Route


@lru_cache(maxsize=200)
def _takes_json(accept: str) -> bool:
    """Return whether a client whose header Accept is this takes JSON. Clients hardly ever have another."""
    accepted = parse_accept_header(accept, MIMEAccept)
    return not accepted or bool(accepted.best_match([JSON]))


class Api(ABC):
    """One API, at a mount of its own. What it shares with others is here; what it does its own way, it overrides.

    ``versions``: its microversions, if it has any. ``statuses``: those of errors that differ from the other APIs'.
    ``rules``: its policies. ``optional_rules``: those that only the operator's file can have.
    """

    name: str
    routes: Iterable[Route]
    versions: Microversions | None = None
    call: type[Call] = Call
    statuses: Statuses = {}
    rules: Sequence[policy.RuleDefault] = ()
    optional_rules: Sequence[OptionalRules] = ()

    def __init__(self, settings: Settings, strategy: Strategy | None = None) -> None:
        """``strategy``: how callers are authenticated; without it, one of its own as the settings say."""
        self.settings = settings
        self.strategy = strategy or make(settings)
        self.policy = Policy(settings, self.rules)

    def new_call(self, http: Request, request_id: str) -> Call:
        """The request, as the views of this API see it."""
        return self.call(http, request_id, self.settings)

    def rewrite_path(self, environ: dict[str, Any]) -> None:  # noqa: B027 - most have nothing to do here
        """Bring PATH_INFO into the form that the route table has."""

    def authenticate(self, call: Call, *, public: bool) -> None:
        """Find out who is calling; ``public``: the route may be used by anyone. OPTIONS has no credentials, as browsers
        send it. Raises NotAuthenticated, AuthenticationUnavailable."""
        is_open = public or call.http.method == "OPTIONS"
        call.caller = self.strategy.anyone if is_open else self.strategy.authenticate(call.http)

    def before_routing(self, call: Call) -> Response | None:
        """Checks that come before 404 and 405, but after authentication. What they raise or return is the answer."""
        return None

    def negotiate(self, call: Call) -> None:
        """Agree on a microversion, if the API has any. Raises MicroversionMalformed, MicroversionNotServed."""
        if self.versions is not None:
            call.versions = self.versions
            call.version = self.versions.negotiate(call.http.headers)
            call.negotiated = True

    def refuse_method(self, call: Call, methods: Methods) -> NoReturn:
        """Raise the error for a method that the path does not have; ``methods`` are those that it has."""
        routes = [route for each in methods.values() for route in each]
        if routes[0].hides_path and not any(route.serves(call.version) for route in routes):
            raise routes[0].absent("GET", call.version)
        raise MethodNotAllowed(method=call.http.method, allowed=list(methods))

    def before_view(self, call: Call, route: Route) -> None:
        """Checks that come after the route is known: media types, policy. Raises UnsupportedMediaType, NotAcceptable,
        NotAllowed."""
        if route.takes:
            given = (call.http.content_type or "").partition(";")[0]
            if given not in route.takes:
                raise UnsupportedMediaType(
                    message=f"The media type {given or None} is not supported, use {' or '.join(route.takes)}"
                )
        if route.gives_json and not self.accepts_json(call):
            raise NotAcceptable(message=f"Only {JSON} is provided")
        if route.policy is not None and not route.checks_policy:
            call.require(route.policy)

    def accepts_json(self, call: Call) -> bool:
        """Return whether the client takes JSON for an answer."""
        accept = call.http.environ.get("HTTP_ACCEPT")
        return accept is None or _takes_json(accept)

    def run(self, call: Call, transaction: Callable[[], Response]) -> Response:
        """Run the transaction of a view."""
        return transaction()

    def failure(self, call: Call, error: Exception) -> Response:
        """The answer to ``error``: ``error_body`` with the headers that go with its status."""
        statuses = self.statuses if call.route is None else {**self.statuses, **call.route.statuses}
        status = status_of(error, statuses)
        response = self.error_body(call, error, status)
        if isinstance(error, MethodNotAllowed) and error.details["allowed"]:
            response.headers["Allow"] = ", ".join(error.details["allowed"])
        if status == 401 and self.strategy.challenge is not None:
            response.headers["WWW-Authenticate"] = self.strategy.challenge
        if status in (429, 503):
            details = error.details if isinstance(error, TooManyFailedLogins) else {}
            response.headers["Retry-After"] = str(details.get("retry_after", 1))
        return response

    @abstractmethod
    def error_body(self, call: Call, error: Exception, status: int) -> Response:
        """``error``, with the status that it has here, as this API says it."""

    def finish(self, call: Call, response: Response) -> None:
        """Add the headers that every response of this API has."""
        response.headers["X-OpenStack-Request-Id"] = call.request_id
        if call.negotiated and self.versions is not None:
            self.versions.describe(response.headers, call.version)
