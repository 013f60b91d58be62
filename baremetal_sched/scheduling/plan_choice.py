"""The plan of a request for several machines: when it can have all of them, by what is known, and which ones.

The earliest moment is that of ``matching.earliest``. A plan keeps its machines unless others can be had earlier.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import turnaround
from baremetal_sched.baremetal.matching.earliest import MOST, Coming, coming, first_moment, lasts_for
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.spreading import Quotas, Several, quotas
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import WaitingRequest
from baremetal_sched.placement.ends import LATE, End
from baremetal_sched.scheduling import machine_groups, plans
from baremetal_sched.scheduling.queue import request_of
from baremetal_sched.settings import Settings

NO_END_KNOWN = "It is not known when enough of the machines that fit will be free."
TOO_LATE = "By what is known, it cannot be had before its deadline or its end."


@dataclass(frozen=True)
class Plan:
    """Machines (ids of nodes) and their classes, from ``starts_at`` until ``ends_at`` (None: without end).

    ``is_vague``: these are some of the machines, which are free and kept, as it is not known when all can be had.
    """

    starts_at: float
    ends_at: float | None
    machines: Mapping[int, str | None]
    is_vague: bool = False

    @property
    def times(self) -> dict[str, float | None]:
        """The columns of its rows with its times."""
        return {"starts_at": self.starts_at, "ends_at": self.ends_at}

    def has_times_of(self, rows: Collection[Any]) -> bool:
        """Return whether these rows have its times."""
        return all((row.starts_at, row.ends_at) == (self.starts_at, self.ends_at) for row in rows)

    def is_kept(self, rows: Collection[Any]) -> bool:
        """Return whether it is the one that has these rows."""
        return self.has_times_of(rows) and {row.node_id for row in rows} == {*self.machines}


@dataclass(frozen=True)
class Planned:
    """A request for several that waits, as its group is now, and the rows of its plan, if it has one."""

    waiting: WaitingRequest
    context: MachineContext
    request: MachineRequest
    several: Several
    rows: Sequence[Any]

    @classmethod
    def of(cls, session: Session, settings: Settings, waiting: WaitingRequest, rows: Sequence[Any]) -> "Planned":
        """Return the request. Raises the errors of ``machine_groups.asked``."""
        request = machine_groups.asked(session, waiting.consumer_project, request_of(waiting.request), names_nodes=True)
        context = MachineContext.of_project(session, settings, request.project).of_waiting(waiting)
        own = [row for row in rows if row.waiting_id == waiting.id]
        return cls(waiting, replace(context, plan=waiting.id), request, request.several or Several(1), own)

    @property
    def starts_at(self) -> float | None:
        """The planned start."""
        return min((float(row.starts_at) for row in self.rows), default=None)

    def machines(self, now: float, nodes: Collection[int] | None = None) -> list[Coming] | None:
        """Return the machines that fit like ``coming``. One of the plan that is being given back comes at its start,
        until that is over."""
        found = coming(self.context, replace(self.request, several=self.several), now, nodes)
        start, own = self.starts_at, {row.node_id for row in self.rows}
        if found is None or start is None or start < now:
            return found
        takes = turnaround(self.context.settings)
        return [
            _by_start(each, now, start, takes(each.facts.resource_class)) if each.facts.node_id in own else each
            for each in found
        ]

    def end_after(self, start: float) -> float | None:
        """Return when its use ends if it begins at a moment."""
        end: End | None = self.context.end
        return None if end is None else start + (end.seconds or 0.0) if end.at is None else end.at

    def at(self, machines: Sequence[Coming], start: float) -> list[Coming]:
        """Return those of the machines that can be had from a moment on."""
        lasts = lasts_for(self.context)
        return [each for each in machines if each.can_be_had(start, lasts)]


def _by_start(machine: Coming, now: float, start: float, seconds: float) -> Coming:
    """Return the machine, which is back at a moment if it is being given back now, and needs at most ``seconds``."""
    facts, free = machine.facts, machine.free
    is_over = facts.ends_at is not None and facts.ends_at <= now and facts.end_state != LATE
    if not free or free[0].start > now + seconds or not (facts.returns or (facts.is_used and is_over)):
        return machine
    return machine._replace(free=[free[0]._replace(start=min(free[0].start, start)), *free[1:]])


def plan_of(asked: Planned, settings: Settings) -> Plan | str:
    """Return the plan of a request; or a sentence: why there is none. Raises BadQuery."""
    now = asked.context.session.scalar(select(epoch())) or 0.0
    machines = asked.machines(now)
    if machines is None:
        return f"More than {MOST:,} machines fit: narrow the request."
    lasts, latest = lasts_for(asked.context), asked.waiting.deadline
    if asked.context.end is not None:
        latest = min(latest, asked.context.end.latest)
    free = [(each.place, each.free) for each in machines]
    start = first_moment(free, asked.several, lasts)
    if start is None:
        return _vague(asked, settings, asked.at(machines, now), now)
    planned = asked.starts_at
    if start <= now and planned is not None and planned <= now:
        start = planned  # it can be had since then
    if start >= latest:
        return TOO_LATE
    ahead = settings.scheduling.gather_ahead
    if start > now + ahead:
        return f"It cannot be had within {ahead:g} seconds, by what is known."
    chosen = _chosen(asked, asked.at(machines, max(start, now)))
    return NO_END_KNOWN if chosen is None else Plan(start, asked.end_after(start), chosen)


def _vague(asked: Planned, settings: Settings, free: Sequence[Coming], now: float) -> Plan | str:
    """Return the plan that keeps the most of the free machines that may be part of the group, if they are kept."""
    options, since = settings.scheduling, asked.waiting.kept_since
    if options.gather != plans.ALL or (since is not None and since + options.gather_at_most <= now):
        return NO_END_KNOWN
    smaller = (replace(asked.several, count=count) for count in range(asked.several.count - 1, 0, -1))
    kept = next(filter(None, (_chosen(replace(asked, several=each), free) for each in smaller)), {})
    return Plan(now if since is None else since, None, kept, is_vague=True)


def _chosen(asked: Planned, machines: Sequence[Coming]) -> dict[int, str | None] | None:
    """Return the machines of a plan: those that it has, if they still do; otherwise as many of them as there can be,
    and then those that come last, so that few are free for nothing."""
    several, own = asked.several, {row.node_id for row in asked.rows}
    kept = [each for each in machines if each.facts.node_id in own]
    if len(kept) == several.count and quotas(several, Counter(each.place for each in kept)) is not None:
        return {each.facts.node_id: each.facts.resource_class for each in kept}
    homes = {each.place[0] for each in kept}
    places = Counter(each.place for each in machines)
    found = quotas(several, {place: number for place, number in places.items() if place[0] in homes})
    found = quotas(several, places) if found is None else found
    return None if found is None else _picked(found, machines, own)


def _picked(found: Quotas, machines: Sequence[Coming], own: set[int]) -> dict[int, str | None]:
    left, picked = dict(found.numbers), dict[int, str | None]()
    for each in sorted(machines, key=lambda each: (each.facts.node_id not in own, -each.free[0][0])):
        domain = each.place[1]
        if each.place[0] == found.pack and left.get(domain, 0) > 0:
            left[domain] -= 1
            picked[each.facts.node_id] = each.facts.resource_class
    return picked
