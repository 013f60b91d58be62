"""How the bare metal API does what the edge leaves to each API."""

import time
from collections.abc import Callable
from typing import Any

from flask import Request, Response

from baremetal_sched.baremetal.api import errors, gates, paths, versions
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.routes import ROUTES
from baremetal_sched.baremetal.api.versions import VersionOutOfRange
from baremetal_sched.errors.baremetal import NodeBusy, NodeLocked
from baremetal_sched.settings import Settings
from baremetal_sched.web.application import Api, Route
from baremetal_sched.web.call import Call
from baremetal_sched.web.problems import NotAcceptable
from baremetal_sched.web.responses import empty_response


class BaremetalApi(Api):
    """The bare metal API (Ironic v1, microversions 1.1 to 1.115)."""

    name = "baremetal"
    routes = ROUTES

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._newest = versions.newest(settings)

    def new_call(self, http: Request, request_id: str) -> Call:
        call = BaremetalCall(http, request_id, self._settings)
        call.stripped_json = paths.STRIPPED in http.environ
        return call

    def rewrite_path(self, environ: dict[str, Any]) -> None:
        paths.rewrite(environ)

    def before_routing(self, call: Call) -> Response | None:
        return empty_response(200) if call.http.method == "OPTIONS" else None

    def before_view(self, call: Call, route: Route) -> None:
        call.version = versions.negotiate(call.http.headers, self._newest)
        call.negotiated = True
        if call.version < route.since:
            raise gates.refusal(route, call.version)
        if call.http.headers.get("Accept") == "application/json":
            return  # as every client says: no need to parse it
        accept = call.http.accept_mimetypes
        if accept and not accept.best_match(["application/json"]):
            raise NotAcceptable(message=f"Only application/json is served, which {accept} excludes.")

    def run(self, transaction: Callable[[], Response]) -> Response:
        """A locked node is tried again for a while: most locks last a moment, and clients back off for seconds."""
        options = self._settings.conductor
        for _ in range(options.node_locked_retry_attempts - 1):
            try:
                return transaction()
            except NodeBusy:
                raise
            except NodeLocked:
                time.sleep(options.node_locked_retry_interval)
        return transaction()

    def failure(self, call: Call, error: Exception) -> Response:
        response = errors.render(error, at_root=call.http.path == "/")
        if errors.is_unversioned(error):
            call.negotiated = False
        if isinstance(error, VersionOutOfRange):
            self._say_range(response)
        return response

    def finish(self, call: Call, response: Response) -> None:
        headers = response.headers
        headers["x-openstack-request-id"] = headers["openstack-request-id"] = call.request_id
        if call.negotiated:
            self._say_range(response)
            headers[versions.HEADER] = f"1.{call.version}"

    def _say_range(self, response: Response) -> None:
        response.headers["X-OpenStack-Ironic-API-Minimum-Version"] = f"1.{versions.MINIMUM}"
        response.headers["X-OpenStack-Ironic-API-Maximum-Version"] = f"1.{self._newest}"
