"""Making plans: of each class, the first waiting request for several machines that can be planned gets one.

It is made anew (``plan_choice``) when the gate sees a change of one of its machines, and at each sweep. A request keeps
its plan, whoever begins to wait after it, so its start does not move later unless a machine comes later than was known.

What is read without locks is read again before it is written, with the rows of the class and of the machines locked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.bookings import bookings
from baremetal_sched.baremetal.bookings.times import BOOKED, turnaround
from baremetal_sched.baremetal.matching.spreading import SEVERAL
from baremetal_sched.baremetal.provider import booked_machines
from baremetal_sched.db import schema_state
from baremetal_sched.db.clock import epoch, in_words
from baremetal_sched.db.models import Node, WaitingRequest
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import DatabaseAway, SchedulerError
from baremetal_sched.placement import gate, waiting_ends, waiting_requests
from baremetal_sched.placement.waiting_requests import GATHERING, IS_GATHERING, LAST, WAITING
from baremetal_sched.scheduling import gathering, plans
from baremetal_sched.scheduling.claims import ClaimStatus
from baremetal_sched.scheduling.plan_choice import NO_END_KNOWN, Plan, Planned, plan_of
from baremetal_sched.settings import Settings

_SOON = "It gets a plan when the requests that wait are looked at the next time."

log = structlog.get_logger(__name__)

#: Of each class, at most so many requests are tried: mostly the first can be planned, or none.
_MOST_TRIED = 10


@dataclass(frozen=True)
class _Found:
    """The rows of the plans of a class as they were read, and which request has a plan now; None: none can have one."""

    rows: Sequence[Any]
    waiting: WaitingRequest | None = None
    plan: Plan | None = None

    @property
    def is_kept(self) -> bool:
        """Whether all is as it was."""
        if self.waiting is None or self.plan is None:
            return not self.rows
        if self.plan.is_vague and self.waiting.kept_since is None:
            return False
        return all(row.waiting_id == self.waiting.id for row in self.rows) and self.plan.is_kept(self.rows)


def renew(database: Database, settings: Settings, resource_class: str, deadline: float | None = None) -> None:
    """Make the plan of a class anew, and serve its request if it can be had now. Raises the errors of the database."""
    found = database.read(partial(_first, settings=settings, resource_class=resource_class), deadline=deadline)
    if not found.is_kept:
        keep = partial(_keep, settings=settings, resource_class=resource_class, found=found)
        if not database.write(keep, deadline=deadline):
            log.info("the plan of a class is left to the next sweep", resource_class=resource_class)
    if found.waiting is not None and found.plan is not None:
        log.debug("planned", claim=found.waiting.uuid, starts_at=found.plan.starts_at)
        gathering.serve_planned(database, settings, [found.waiting.uuid], deadline)


def look_after(database: Database, settings: Settings, noted: plans.Noted, deadline: float | None) -> None:
    """Serve requests whose plans have changed machines, if enough are free; then make the plans of classes anew. Raises
    the errors of the database."""
    planned, classes = noted
    if planned:
        gathering.serve_planned(database, settings, planned, deadline)
    for name in sorted(classes):
        renew(database, settings, name, deadline)


def begins_to_wait(database: Database, settings: Settings, uuid: str, deadline: float | None) -> None:
    """Plan for the class of a request, if it is one for several machines that still waits. Raises the errors of the
    database."""
    if not plans.are_made(settings):
        return
    waiting = database.read(lambda session: waiting_requests.find(session, uuid), deadline=deadline)
    if waiting is not None and waiting.state == GATHERING:
        renew(database, settings, waiting.resource_class, deadline)


def sweep(database: Database, settings: Settings) -> None:
    """Make all plans anew, and end those of requests that no longer wait; all of them, if none are made any more.
    Raises the errors of the database."""
    database.write(partial(_forget, settings=settings))
    if not plans.are_made(settings):
        return
    waiting = select(WaitingRequest.resource_class).distinct().where(IS_GATHERING, WaitingRequest.booking_id.is_(None))
    for name in database.read(lambda session: session.scalars(waiting.order_by(WaitingRequest.resource_class)).all()):
        renew(database, settings, name)


def _forget(session: Session, settings: Settings) -> None:
    waits = select(WaitingRequest.id).where(IS_GATHERING, WaitingRequest.id == BOOKED.c.waiting_id).exists()
    ended = (~waits,) if plans.are_made(settings) else ()
    if session.execute(select(BOOKED.c.id).where(BOOKED.c.waiting_id.is_not(None), *ended).limit(1)).first():
        booked_machines.drop(session, settings, BOOKED.c.waiting_id.is_not(None), *ended)


def _first(session: Session, settings: Settings, resource_class: str) -> _Found:
    """Return the first request of the class that can be planned: the one that has a plan, if it still can."""
    rows = plans.of_class(session, resource_class)
    if not schema_state.has_finished(session.connection(), bookings.FIRST_REVISION):
        return _Found(rows)
    had = [row.waiting_id for row in rows]
    tried = [*dict.fromkeys(had), *gathering.in_order(session, resource_class, LAST, _MOST_TRIED)]
    for waiting_id in dict.fromkeys(tried):
        waiting = session.scalars(select(WaitingRequest).where(WaitingRequest.id == waiting_id, IS_GATHERING)).first()
        if waiting is None or _unplannable(waiting):
            continue
        made = _made(session, settings, waiting, rows)
        if isinstance(made, Plan):
            return _Found(rows, waiting, made)
    return _Found(rows)


def _unplannable(waiting: WaitingRequest) -> str | None:
    """Return why a request is never planned, in a sentence; None: it may be."""
    if waiting.request.get(SEVERAL, {}).get("count", 1) < 2:
        return "Only requests for several machines are planned."
    if waiting.priority <= LAST:
        return "No machine could have satisfied it when it was made: it comes after all others."
    return None


def _made(session: Session, settings: Settings, waiting: WaitingRequest, rows: Sequence[Any]) -> Plan | str:
    """Return the plan of a request; or a sentence: why there is none."""
    try:
        return plan_of(Planned.of(session, settings, waiting, rows), settings)
    except DatabaseAway:
        raise
    except SchedulerError as error:
        return str(error)


def _keep(session: Session, settings: Settings, resource_class: str, found: _Found) -> bool:
    """Write what was ``found``; return False, and change nothing, if something else has changed. Raises StaleDataError
    if that happens while it is written."""
    project = "" if found.waiting is None else found.waiting.consumer_project
    booked_machines.count_up(session, resource_class, project)
    rows = plans.of_class(session, resource_class)
    if {(row.id, row.starts_at) for row in rows} != {(row.id, row.starts_at) for row in found.rows}:
        return False
    machines = {} if found.plan is None else found.plan.machines
    nodes = booked_machines.lock(session, {*machines, *(row.node_id for row in rows)})
    savepoint = session.begin_nested()
    is_written = _is_written(session, settings, found, rows, nodes)
    (savepoint.commit if is_written else savepoint.rollback)()
    return is_written


def _is_written(
    session: Session, settings: Settings, found: _Found, rows: Sequence[Any], nodes: Sequence[Node]
) -> bool:
    """Replace the ``rows`` of the class by the plan that was found; return whether it is possible. The ``nodes`` of
    both are locked."""
    waiting, plan = found.waiting, found.plan
    if waiting is None or plan is None:
        booked_machines.drop(session, settings, BOOKED.c.id.in_([row.id for row in rows]))
        return True
    own = {row.node_id: row for row in rows if row.waiting_id == waiting.id and row.node_id in plan.machines}
    stay = {row.id for row in own.values()}
    booked_machines.drop(session, settings, BOOKED.c.id.in_([row.id for row in rows if row.id not in stay]))
    seen = booked_machines.calendars(session, plan.machines)
    if not _is_possible(session, settings, waiting, plan, rows):
        return False
    if not plan.has_times_of(own.values()):
        booked_machines.move(session, stay, {node: seen[node] for node in own}, plan.times)
        gate.freed(session, nodes=[node.uuid for node in nodes if node.id in own])
    came = [node for node in nodes if node.id in plan.machines and node.id not in own]
    takes = turnaround(settings)
    row = {
        "booking_id": None,
        "waiting_id": waiting.id,
        "used_at": None,
        "turnaround": {node: takes(name) for node, name in plan.machines.items()},
        **plan.times,
    }
    if came:
        booked_machines.put(session, came, seen, session.scalar(select(epoch())) or 0.0, row)
    _require_waiting(session, waiting)
    if plan.is_vague:
        waiting_ends.keep_since(session, waiting.id, plan.starts_at)
    return True


def _is_possible(
    session: Session, settings: Settings, waiting: WaitingRequest, plan: Plan, rows: Sequence[Any]
) -> bool:
    """Return whether the machines of a plan, locked, can be had at its start."""
    now = session.scalar(select(epoch())) or 0.0
    asked = Planned.of(session, settings, waiting, rows)
    found = asked.machines(now, plan.machines)
    return found is not None and len(asked.at(found, max(plan.starts_at, now))) == len(plan.machines)


def _require_waiting(session: Session, waiting: WaitingRequest) -> None:
    """Lock the row of a request. Raises StaleDataError if it no longer waits, or has another end."""
    same = (getattr(WaitingRequest, each).is_not_distinct_from(getattr(waiting, each)) for each in ("ends_at", "lasts"))
    query = select(WaitingRequest.id).where(WaitingRequest.id == waiting.id, IS_GATHERING, *same)
    if session.scalars(query.with_for_update()).first() is None:
        raise StaleDataError("the request no longer waits")


# -- what clients see --------------------------------------------------------------------------------------------------


def seen(session: Session, settings: Settings, status: ClaimStatus) -> ClaimStatus:
    """Return a claim with its planned start; or, if it is for several machines and waits, why it has none."""
    waiting = status.claim
    is_gathering = status.state == WAITING and waiting.state == GATHERING and waiting.booking_id is None
    if not plans.are_made(settings) or not is_gathering:
        return status
    start = plans.start_of(session, waiting.id)
    start = None if start == waiting.kept_since else start
    return replace(status, planned_start=start, planned_reason=None if start else _reason(session, settings, waiting))


def _reason(session: Session, settings: Settings, waiting: WaitingRequest) -> str:
    rows = plans.of_class(session, waiting.resource_class)
    planned = session.get(WaitingRequest, rows[0].waiting_id) if rows else None
    is_behind = planned is not None and _place(planned) < _place(waiting)
    made = _unplannable(waiting) or ("" if is_behind else _made(session, settings, waiting, rows))
    if isinstance(made, str) and made:
        return made
    if isinstance(made, Plan) and made.is_vague:
        until = in_words(made.starts_at + settings.scheduling.gather_at_most)
        return f"{NO_END_KNOWN} Machines that are freed are kept for it until {until}."
    return f"Another request for {waiting.resource_class} has its turn first." if rows else _SOON


def _place(waiting: WaitingRequest) -> tuple[int, float, int]:
    return -waiting.priority, waiting.asked_at, waiting.id
