"""How the Placement API does what the edge leaves to each API."""

import structlog
from flask import Request, Response

from baremetal_sched.errors import NotAuthenticated, TooManyConflicts
from baremetal_sched.placement.api import accept, errors, policies, versions
from baremetal_sched.placement.api.accept import JSON
from baremetal_sched.placement.api.call import PlacementCall
from baremetal_sched.placement.api.endpoint import Endpoint
from baremetal_sched.placement.api.routes import ROUTES
from baremetal_sched.settings import Settings
from baremetal_sched.web.application import Api, Route
from baremetal_sched.web.call import Call
from baremetal_sched.web.caller import STRATEGIES
from baremetal_sched.web.policy import Policy
from baremetal_sched.web.problems import BadRequest, MethodNotAllowed, NotAcceptable, PathNotFound, UnsupportedMediaType

log = structlog.get_logger(__name__)


class PlacementApi(Api):
    """The Placement API (microversions 1.0 to 1.39)."""

    name = "placement"
    routes = ROUTES

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        strategy: str = settings.api.auth_strategy
        self._authenticate = STRATEGIES[strategy]
        self._policy = Policy(settings, policies.RULES)
        if strategy == "noauth2":
            log.warning("NO AUTHENTICATION: with noauth2 callers are whoever they say they are; for tests only")

    def new_call(self, http: Request, request_id: str) -> Call:
        return PlacementCall(http, request_id, self._settings)

    def before_routing(self, call: Call) -> Response | None:
        path = call.http.environ["PATH_INFO"]
        if path not in ("", "/"):
            call.caller = self._authenticate(call.http)
        call.version = versions.negotiate(call.http.headers)
        call.negotiated = True
        length = call.http.environ.get("CONTENT_LENGTH") or "0"
        if not length.isdecimal():
            raise BadRequest(message="content-length header must be an integer")
        if int(length) and not call.http.content_type:
            raise BadRequest(message="content-type header required when content-length > 0")
        if path.startswith("//"):
            raise PathNotFound  # the route table would pass over the slashes
        return None

    def before_view(self, call: Call, route: Route) -> None:
        if not isinstance(route, Endpoint):
            return
        if call.version < route.since:
            if route.missing_status == MethodNotAllowed.status:
                raise MethodNotAllowed(method=call.http.method, allowed=[])
            raise PathNotFound
        given = (call.http.content_type or "").partition(";")[0]
        if route.takes_json(call.version) and given != JSON:
            raise UnsupportedMediaType(message=f"The media type {given or None} is not supported, use {JSON}")
        if route.gives_json and not accept.takes_json(_accept(call)):
            raise NotAcceptable(message=f"Only {JSON} is provided")
        if route.policy is not None and not call.caller.unrestricted:
            projects = call.http.args.getlist("project_id")
            # The last one is the one that views go by.
            self._policy.require(call.caller, route.policy, {"project_id": projects[-1] if projects else None})

    def failure(self, call: Call, error: Exception) -> Response:
        wants = accept.form_of_errors(_accept(call))
        if isinstance(error, NotAuthenticated):
            return errors.unauthorized(error, wants=wants)
        if isinstance(error, TooManyConflicts) and call.http.method != "GET":
            error = errors.race_lost(error, call.http.path)
        return errors.render(
            error,
            request_id=call.request_id,
            version=call.version if call.negotiated else None,
            method=call.http.method,
            accept=_accept(call),
            media_type=str(call.http.content_type or None),
            wants=wants,
        )

    def finish(self, call: Call, response: Response) -> None:
        response.headers["x-openstack-request-id"] = call.request_id
        if call.negotiated:
            response.headers["openstack-api-version"] = f"placement 1.{call.version}"
            response.headers["Vary"] = "openstack-api-version"


def _accept(call: Call) -> str:
    return accept.header_of(call.http.headers.get("Accept", ""))
