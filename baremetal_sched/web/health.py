"""The root of the service, health checks and metrics."""

import math
import time
from collections.abc import Sequence

import structlog
from flask import Response
from oslo_policy import policy

from baremetal_sched import __version__
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import DatabaseAway, SchedulerError, SchemaNotServed
from baremetal_sched.settings import Settings
from baremetal_sched.web import forwarding, metrics
from baremetal_sched.web.api import Api
from baremetal_sched.web.authentication import Strategy
from baremetal_sched.web.call import Call
from baremetal_sched.web.caller import Caller
from baremetal_sched.web.http_errors import message_of
from baremetal_sched.web.metrics import Figures
from baremetal_sched.web.responses import json_response, prefers_html
from baremetal_sched.web.route import Route

log = structlog.get_logger(__name__)

METRICS = "/metrics"
GET_METRICS = "metrics:get"

#: Local processes may read metrics, and nothing else: only this route uses this caller.
_THIS_MACHINE = Caller(unrestricted=True)

#: Time limit of a database probe, in seconds.
_LONGEST_PROBE = 5


class RootApi(Api):
    """``/``: the list of APIs. ``/healthcheck``: readiness. ``/healthcheck/live``: the process answers. ``/metrics``:
    for Prometheus.

    ``figures`` reads the metrics that come from the database; ``apis`` are the names of the other APIs.
    """

    name = "root"
    rules = (
        policy.DocumentedRuleDefault(
            GET_METRICS,
            "role:admin or role:service or (role:reader and system_scope:all)",
            "Read the metrics of the service.",
            [{"path": METRICS, "method": "GET"}],
            scope_types=["system", "project"],
        ),
    )

    def __init__(
        self, settings: Settings, strategy: Strategy, database: Database, figures: Figures, apis: Sequence[str]
    ) -> None:
        super().__init__(settings, strategy)
        self._database = database
        self._figures = figures
        self._apis = apis
        self.routes = (
            Route("GET", "/", self._index, transaction=None, public=True),
            Route("GET", "/healthcheck", self._ready, transaction=None, is_routine=True, public=True),
            Route("GET", "/healthcheck/live", live, transaction=None, is_routine=True, public=True),
            Route("GET", METRICS, self._metrics, transaction=None, is_routine=True, policy=GET_METRICS),
        )

    def authenticate(self, call: Call, *, public: bool) -> None:
        """Accept requests from this machine without credentials, for a local Prometheus."""
        if call.http.environ["PATH_INFO"] == METRICS and forwarding.is_from_this_machine(call.http.environ):
            call.caller = _THIS_MACHINE
        else:
            super().authenticate(call, public=public)

    def error_body(self, call: Call, error: Exception, status: int) -> Response:
        return json_response({"error": {"status": status, "message": message_of(error)}}, status)

    def _index(self, call: Call, session: None) -> Response:
        """List the APIs and their paths; browsers are led to the pages."""
        if "ui" in self._apis and prefers_html(call.http.headers.get("Accept", "")):
            return Response(status=303, headers={"Location": f"{call.mount}/ui/", "Vary": "Accept"})
        apis = {name: {"href": f"{call.base_url}/{name}"} for name in (*self._apis, "healthcheck", "metrics")}
        return json_response({"name": "baremetal-sched", "version": __version__, "links": apis})

    def _ready(self, call: Call, session: None) -> Response:
        """Return 200 if requests can be served, else 503; the body says which part is unavailable."""
        checks = {"database": "ok", "schema": "unknown"}
        # Probes come every few seconds, and must not occupy all threads while the database hangs.
        deadline = min(time.monotonic() + _LONGEST_PROBE, call.deadline or math.inf)
        try:
            self._database.schema.check(deadline=deadline)
            checks["schema"] = "ok"
            self._database.check_writable(deadline=deadline)
        except SchemaNotServed as error:
            checks["schema"] = "at {found}, needs {known}".format(**error.details)
        except SchedulerError as error:
            log.warning("not ready", reason=str(error), cause=str(error.__cause__).split("\n")[0])
            checks["database"] = error.state if isinstance(error, DatabaseAway) else "away"
        ready = all(state == "ok" for state in checks.values())
        headers = None if ready else {"Retry-After": "1"}
        return json_response({"live": True, "ready": ready, "checks": checks}, 200 if ready else 503, headers)

    def _metrics(self, call: Call, session: None) -> Response:
        """Return metrics in Prometheus' text format."""
        text = metrics.expose(self._database, self._figures, deadline=call.deadline)
        return Response(text, content_type=metrics.CONTENT_TYPE)


def live(call: Call, session: None) -> Response:
    """Return 200 as long as the process answers at all."""
    return json_response({"live": True})
