"""The root of the service, and its health."""

from typing import Any

import structlog
from flask import Request, Response
from sqlalchemy import text
from sqlalchemy.orm import Session

from baremetal_sched import __version__
from baremetal_sched.db import schema
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import SchedulerError
from baremetal_sched.settings import Settings
from baremetal_sched.web import metrics
from baremetal_sched.web.application import Api, Route
from baremetal_sched.web.call import Call
from baremetal_sched.web.metrics import Figures
from baremetal_sched.web.problems import MethodNotAllowed, status_of
from baremetal_sched.web.responses import json_response

log = structlog.get_logger(__name__)


class RootApi(Api):
    """``/``: what is served here. ``/healthcheck``: ready or not. ``/healthcheck/live``: the process answers.
    ``/metrics``: for Prometheus.

    ``figures`` are those of the metrics that come from the database.
    """

    name = "root"

    def __init__(self, settings: Settings, database: Database, figures: Figures) -> None:
        self._settings = settings
        self._database = database
        self._figures = figures
        self._head = schema.head()
        self.routes = (
            Route("GET", "/", index, transaction=None),
            Route("GET", "/healthcheck", self._ready, transaction=None),
            Route("GET", "/healthcheck/live", live, transaction=None),
            Route("GET", "/metrics", self._metrics, transaction=None),
        )

    def new_call(self, http: Request, request_id: str) -> Call:
        return Call(http, request_id, self._settings)

    def failure(self, call: Call, error: Exception) -> Response:
        status = status_of(error)
        message = str(error) if isinstance(error, SchedulerError) else "An internal error occurred; see the log."
        response = json_response({"error": {"status": status, "message": message}}, status)
        if isinstance(error, MethodNotAllowed):
            response.headers["Allow"] = ", ".join(error.details["allowed"])
        return response

    def finish(self, call: Call, response: Response) -> None:
        response.headers["X-OpenStack-Request-Id"] = call.request_id

    def _ready(self, call: Call, session: None) -> Response:
        """200 if requests can be served now, else 503; the body says which part is missing."""
        checks = {"database": "ok", "schema": "ok"}
        try:
            found = self._database.read(_revision)
        except SchedulerError as error:
            log.warning("not ready", reason=str(error))
            checks = {"database": "away", "schema": "unknown"}
        else:
            if found != self._head:
                checks["schema"] = f"at {found}, needs {self._head}"
        ready = all(state == "ok" for state in checks.values())
        headers = None if ready else {"Retry-After": "1"}
        return json_response({"live": True, "ready": ready, "checks": checks}, 200 if ready else 503, headers)

    def _metrics(self, call: Call, session: None) -> Response:
        """Metrics in Prometheus' text format."""
        return Response(metrics.expose(self._database, self._figures), content_type=metrics.CONTENT_TYPE)


def _revision(session: Session) -> str | None:
    revision: str | None = session.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return revision


def live(call: Call, session: None) -> Response:
    """200 as long as the process answers at all."""
    return json_response({"live": True})


def index(call: Call, session: None) -> Response:
    """The APIs that are served here, and where."""
    apis: dict[str, Any] = {
        name: {"href": f"{call.base_url}/{name}"} for name in ("baremetal", "placement", "healthcheck", "metrics")
    }
    return json_response({"name": "baremetal-sched", "version": __version__, "links": apis})
