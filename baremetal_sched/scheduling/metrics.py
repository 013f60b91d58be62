"""Capacity for Prometheus: the figures of ``GET /v1/capacity`` by class and conductor group, counted now and then. And
the states of webhooks, of ends of claims and of bookings."""

import threading
import time
from collections.abc import Sequence

import structlog
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings import bookings
from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.baremetal.nodes.node_list import NodeFilters
from baremetal_sched.db import deadline
from baremetal_sched.db.models import Booking, Webhook
from baremetal_sched.placement import ending
from baremetal_sched.scheduling import capacity
from baremetal_sched.scheduling.capacity import Figures
from baremetal_sched.scheduling.events import numbering, reading
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

KEYS = ("resource_class", "conductor_group")

#: The number of pairs of a class and a group with series of their own: the ones with the most machines.
MOST_PAIRS = 500

#: After a count, the next one waits for this many times as long as that one took.
_REST = 20


class CapacityMetrics:
    """The figures of one process. A scrape never waits for another one.

    Counting is stopped after ``[scheduling] explain_time_limit``, and takes a twentieth of the time at most. Until the
    next count the metrics have the figures of the last one, and their age.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._counting = threading.Lock()
        self._figures: list[Figures] | None = None
        self._counted_at = self._rests_until = 0.0

    def figures(self, session: Session) -> list[Metric]:
        """Return the metrics; nothing as long as the machines have never been counted in time."""
        if time.monotonic() >= self._rests_until and self._counting.acquire(blocking=False):
            try:
                self._count(session)
            finally:
                self._counting.release()
        if self._figures is None:
            return []
        age = GaugeMetricFamily(
            "baremetal_sched_capacity_age_seconds",
            "How long ago the machines were counted.",
            value=time.monotonic() - self._counted_at,
        )
        return [*_metrics(self._figures), age]

    def _count(self, session: Session) -> None:
        began = time.monotonic()
        try:
            with deadline.limited(session, self._settings.scheduling.explain_time_limit):
                self._figures = capacity.measure(session.connection(), self._settings, KEYS, NodeFilters())
            self._counted_at = began
        except TimeoutError as error:
            log.warning("capacity was not counted", reason=str(error))
        ends = time.monotonic()
        self._rests_until = ends + _REST * (ends - began)


def of_events(session: Session) -> list[Metric]:
    """Return how far the numbering of events is behind, and how many there have been."""
    waiting = GaugeMetricFamily(
        "baremetal_sched_events_unnumbered_seconds",
        "For how long the oldest event has waited for its number, without which nobody can read it.",
        value=numbering.oldest_wait(session.connection()),
    )
    events = CounterMetricFamily(
        "baremetal_sched_events", "Events with a number.", value=reading.last_number(session.connection())
    )
    return [waiting, events]


def _metrics(figures: Sequence[Figures]) -> list[Metric]:
    free = GaugeMetricFamily("baremetal_sched_capacity_free", "Machines that are free.", labels=KEYS)
    allocated = GaugeMetricFamily("baremetal_sched_capacity_allocated", "Machines that are allocated.", labels=KEYS)
    unavailable = GaugeMetricFamily(
        "baremetal_sched_capacity_unavailable",
        "Machines that are neither free nor allocated, by the reason.",
        labels=[*KEYS, "reason"],
    )
    ordered = sorted(figures, key=lambda each: -each.total)
    for each in ordered[:MOST_PAIRS]:
        labels = [each.keys[key] or "" for key in KEYS]
        free.add_metric(labels, each.free)
        allocated.add_metric(labels, each.allocated)
        for reason, count in sorted(each.unavailable.items()):
            unavailable.add_metric([*labels, reason], count)
    left_out = GaugeMetricFamily(
        "baremetal_sched_capacity_nodes_left_out",
        f"Machines of other classes and conductor groups than the {MOST_PAIRS} with the most machines.",
        value=sum(each.total for each in ordered[MOST_PAIRS:]),
    )
    return [free, allocated, unavailable, left_out]


def of_webhooks(session: Session) -> list[Metric]:
    """Return how many webhooks there are by state; ``failing`` are active ones whose last attempt failed.

    SELECT parked, failing_since IS NULL, count(*) FROM webhooks GROUP BY parked, failing_since IS NULL
    """
    works = Webhook.failing_since.is_(None)
    counts = dict.fromkeys(("active", "failing", "parked"), 0)
    for parked, is_well, count in session.execute(
        select(Webhook.parked, works, func.count()).group_by(Webhook.parked, works)
    ):
        counts["parked" if parked else "active" if is_well else "failing"] += count
    metric = GaugeMetricFamily("baremetal_sched_webhooks", "Webhooks by state.", labels=["state"])
    for state, count in counts.items():
        metric.add_metric([state], count)
    return [metric]


def of_ends(session: Session) -> list[Metric]:
    """Return how many ends of claims there are by state."""
    metric = GaugeMetricFamily(
        "baremetal_sched_claim_ends",
        "Ends of claims by state; late: they have come, and the machine was not given back in time.",
        labels=["state"],
    )
    for state, count in ending.count_by_state(session).items():
        metric.add_metric([state], count)
    return [metric]


def of_bookings(session: Session) -> list[Metric]:
    """Return how many bookings there are by state, how many lack machines, and how many requests have plans.

    SELECT count(CASE WHEN <it is planned> THEN 1 END), count(CASE WHEN <running> …), … FROM bookings WHERE NOT is_over
    """
    known = (bookings.PLANNED, bookings.RUNNING)
    numbers = [func.count(case((bookings.in_state(state), 1))) for state in known]
    lacking = func.count(case((Booking.short_told > 0, 1)))
    plans = select(func.count(BOOKED.c.waiting_id.distinct())).scalar_subquery()
    *counts, short, planned = session.execute(select(*numbers, lacking, plans).where(~Booking.is_over)).one()
    metric = GaugeMetricFamily("baremetal_sched_bookings", "Bookings that are not over, by state.", labels=["state"])
    for state, count in zip(known, counts, strict=True):
        metric.add_metric([state], count)
    return [
        metric,
        GaugeMetricFamily("baremetal_sched_bookings_short", "Bookings that lack machines.", value=short),
        GaugeMetricFamily("baremetal_sched_plans", "Waiting requests for several that have a plan.", value=planned),
    ]
