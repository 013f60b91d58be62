"""The Placement API's own behaviour at the edge."""

from contextlib import suppress
from uuid import UUID

from flask import Response

from baremetal_sched.errors import NotAuthenticated, TooManyConflicts
from baremetal_sched.placement.api import accept, errors, policies
from baremetal_sched.placement.api.accept import HTML
from baremetal_sched.placement.api.call import PlacementCall
from baremetal_sched.placement.api.root import VERSIONS
from baremetal_sched.placement.api.routes import ROUTES
from baremetal_sched.web.api import Api
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import BadRequest, PathNotFound


class PlacementApi(Api):
    """The Placement API (microversions 1.0 to 1.39)."""

    name = "placement"
    is_of_projects = True
    caching = None  # its views say it from 1.15, as the original's do
    routes = ROUTES
    versions = VERSIONS
    call = PlacementCall
    rules = policies.RULES

    def before_routing(self, call: Call) -> Response | None:
        self.negotiate(call)
        length = call.http.environ.get("CONTENT_LENGTH") or "0"
        if not length.isdecimal():
            raise BadRequest(message="content-length header must be an integer")
        if length.strip("0") and not call.http.content_type:
            raise BadRequest(message="content-type header required when content-length > 0")
        if call.http.environ["PATH_INFO"].startswith("//"):
            raise PathNotFound  # the route table would ignore the duplicate slashes
        named = call.http.view_args or {}
        for name in ("uuid", "consumer"):  # in any spelling, as clients may have one from before a move
            if name in named:
                with suppress(ValueError):
                    named[name] = str(UUID(named[name]))
        return None

    def accepts_json(self, call: Call) -> bool:
        return accept.takes_json(_accept(call))

    def failure(self, call: Call, error: Exception) -> Response:
        if isinstance(error, TooManyConflicts) and call.http.method != "GET":
            error = errors.race_lost(error, call.http.path)
        response = super().failure(call, error)
        if call.http.method == "HEAD":
            response.set_data(b"")
        return response

    def error_body(self, call: Call, error: Exception, status: int) -> Response:
        wants = accept.form_of_errors(_accept(call))
        if isinstance(error, NotAuthenticated):
            return errors.unauthorized(error, wants=wants)
        return errors.render(
            error,
            status,
            request_id=call.request_id,
            version=call.version if call.negotiated else None,
            method=call.http.method,
            accept=_accept(call),
            media_type=str(call.http.content_type or None),
            # As in Placement: a HEAD is not checked for Accept, and its answer has no length.
            wants=HTML if call.http.method == "HEAD" else wants,
        )


def _accept(call: Call) -> str:
    return accept.header_of(call.http.headers.get("Accept", ""))
