"""Metrics for Prometheus: requests counted by this process, and values read from the database on demand.

Several processes at one address share their counts in files: set PROMETHEUS_MULTIPROC_DIR to an empty directory before
they start (prometheus_client's own variable). Values from the database are the same in all of them.
"""

import os
from collections.abc import Callable, Iterable
from functools import cache

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from sqlalchemy.orm import Session

from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import UnavailableError

#: Reads metrics from the database.
Figures = Callable[[Session], list[Metric]]


def together(*sources: Figures) -> Figures:
    """Return a reader that combines all sources, one after the other."""
    return lambda session: [metric for source in sources for metric in source(session)]


CONTENT_TYPE = CONTENT_TYPE_LATEST

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_requests_registry = CollectorRegistry()
_requests = Histogram(
    "baremetal_sched_request_duration_seconds",
    "Answered requests and their duration.",
    ["api", "method", "status"],
    registry=_requests_registry,
)


def count_request(api: str, method: str, status: int, seconds: float) -> None:
    """Count a request that was answered."""
    # Clients can send any method; unknown ones must not create new series.
    _series(api, method if method in _METHODS else "other", status).observe(seconds)


@cache
def _series(api: str, method: str, status: int) -> Histogram:
    return _requests.labels(api, method, str(status))


class _Given(Collector):
    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = list(metrics)

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def expose(database: Database, figures: Figures, *, deadline: float | None = None) -> bytes:
    """Return all metrics in Prometheus' text format. While the database is unavailable its metrics are left out."""
    try:
        found = database.read(figures, deadline=deadline)
        is_up = 1
    except UnavailableError:
        found = []
        is_up = 0
    up = GaugeMetricFamily("baremetal_sched_database_up", "Does the database answer?", value=is_up)
    registry = CollectorRegistry()
    registry.register(_Given([up, *found]))
    return generate_latest(registry) + generate_latest(_requests_of_all_processes())


def _requests_of_all_processes() -> CollectorRegistry:
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return _requests_registry
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry
