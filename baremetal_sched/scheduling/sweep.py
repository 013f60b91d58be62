"""The sweep: hand-overs that no transaction does. Free machines that fit a waiting request are given away, and requests
after their deadline are ended, with the reason of that moment. Each part has its time, so neither keeps the other
waiting."""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.baremetal.matching.free_machine import free_nodes
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.db.models import Node, WaitingRequest
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import SchedulerError
from baremetal_sched.explain.explanations import explain_request
from baremetal_sched.placement import waiting_requests
from baremetal_sched.placement.tables import CLASSES, PROVIDERS
from baremetal_sched.placement.waiting_requests import ENDS_AT, IS_OVERDUE, IS_WAITING, TIMED_OUT, WAITING
from baremetal_sched.scheduling import gathering, machine_groups, planning, plans
from baremetal_sched.scheduling.gathering import SweepPlace
from baremetal_sched.scheduling.handover import ALL, SessionHandover, serve_free
from baremetal_sched.scheduling.queue import QUEUE, current_request, in_bookings, in_gaps
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Seconds that one sweep spends on giving machines away, and on ending requests.
_SECONDS = 5.0
#: Of these, seconds that it spends on finding out why requests found nothing. Later ones keep the reason that they had.
_EXPLAINING = 2.5
#: How many claims are ended in one transaction.
_AT_ONCE = 50
#: The greatest number of machines, or of claims, that one sweep looks at.
_MOST = 1000


#: Whether a machine is the conductor's: its UUID, conductor group and driver.
IsOwn = Callable[[str, str, str], bool]


def sweep(
    database: Database, settings: Settings, conductor: str, is_own: IsOwn, place: SweepPlace | None = None
) -> None:
    """Give away the free machines of the conductor (a host name), serve requests for several, from ``place`` on, then
    end the claims whose time is over.

    Raises the errors of the database. Machines that cannot be given away now are left to the next sweep.
    """
    until = time.monotonic() + _SECONDS
    for provider, resource_class in database.read(lambda session: list(_free_machines(session, settings, is_own))):
        if time.monotonic() > until:
            break
        serve = partial(_serve, settings=settings, conductor=conductor, provider=provider, name=resource_class)
        _try(database, serve, f"provider {provider}")
    gathering.sweep(database, settings, place)
    planning.sweep(database, settings)
    _end_overdue(database, settings)


def _end_overdue(database: Database, settings: Settings) -> None:
    """End claims whose time is over, the oldest deadline first. Requests that other conductors are ending are left to
    them; the rest that is not reached in time, to the next sweep."""
    reasons: dict[str, str] = {}
    began = time.monotonic()
    left = database.read(_overdue)
    while left:
        now, left = left[:_AT_ONCE], left[_AT_ONCE:]
        for claim_id, request_key in now:
            # Equal requests have the same reason.
            if request_key not in reasons and time.monotonic() <= began + _EXPLAINING:
                reasons[request_key] = database.read(partial(_reason, settings=settings, claim_id=claim_id))
        ids = [claim_id for claim_id, _ in now]
        if not _try(database, partial(_end, settings=settings, ids=ids, reasons=reasons), f"{len(ids)} claims"):
            for each in ids:
                _try(database, partial(_end, settings=settings, ids=[each], reasons=reasons), f"claim {each}")
        if time.monotonic() > began + _SECONDS:
            return


def _try(database: Database, work: Callable[[Session], None], subject: str) -> bool:
    try:
        database.write(work)
    except SchedulerError as error:
        log.info("left to the next sweep", subject=subject, reason=str(error))
        return False
    return True


def _free_machines(session: Session, settings: Settings, is_own: IsOwn) -> Iterator[tuple[int, str]]:
    """Yield provider (its id) and queue of free machines in whose queues claims wait, at most ``_MOST``, from a random
    one on and around the end, so the next sweep looks at others.

    SELECT n.id, n.uuid, …, p.id, c.name FROM nodes n … JOIN resource_classes c ON c.id = p.mirrored_class_id
    WHERE <it is free> AND c.name IN (SELECT resource_class FROM pending_claims WHERE <it waits>)
    """
    waited_for = select(WaitingRequest.resource_class).where(IS_WAITING, WaitingRequest.state == WAITING)
    if session.scalars(waited_for.limit(1)).first() is None:
        return
    free = free_nodes(CLASSES.c.name.in_(waited_for)).join(CLASSES, CLASSES.c.id == PROVIDERS.c.mirrored_class_id)
    columns = (Node.uuid, Node.conductor_group, Node.driver, PROVIDERS.c.id)
    rows = list(session.execute(free.with_only_columns(*columns, CLASSES.c.name).order_by(Node.id)))
    if session.scalars(waited_for.where(WaitingRequest.booking_id.is_not(None)).limit(1)).first() is not None:
        rows += session.execute(in_bookings().with_only_columns(*columns, QUEUE).order_by(Node.id))
    if session.scalars(waited_for.where(ENDS_AT.is_not(None)).limit(1)).first() is not None:
        rows += session.execute(in_gaps(settings).with_only_columns(*columns, CLASSES.c.name).order_by(Node.id))
    start = random.randrange(len(rows) or 1)  # noqa: S311 - spreading, not a secret
    own = ((provider, name) for *node, provider, name in rows[start:] + rows[:start] if is_own(*node))
    yield from islice(own, _MOST)


def _serve(session: Session, settings: Settings, conductor: str, provider: int, name: str) -> None:
    if serve_free(session, settings, {provider: name}, ALL):
        conductors.count_swept_machine(session, conductor)


def _overdue(session: Session) -> list[tuple[int, str]]:
    """SELECT id, request_key FROM pending_claims WHERE <it is overdue> ORDER BY deadline, id LIMIT …"""
    columns = select(WaitingRequest.id, WaitingRequest.request_key).where(IS_OVERDUE)
    rows = session.execute(columns.order_by(WaitingRequest.deadline, WaitingRequest.id).limit(_MOST))
    return [(claim_id, request_key) for claim_id, request_key in rows]


def _reason(session: Session, settings: Settings, claim_id: int) -> str:
    """Return why the claim finds no machine at this moment."""
    waiting = session.get(WaitingRequest, claim_id)
    if waiting is None:
        return ""
    try:
        request = current_request(MachineContext(session, settings), waiting.request)
        asked = machine_groups.asked(session, waiting.consumer_project, request, names_nodes=True)
        context = MachineContext.of_project(session, settings, request.project)
        return explain_request(context.of_waiting(waiting), asked).summary
    except SchedulerError as error:
        log.info("cannot explain why a claim waited in vain", claim=waiting.uuid, reason=str(error))
        return waiting.reason or ""


def _end(session: Session, settings: Settings, ids: Sequence[int], reasons: Mapping[str, str]) -> None:
    handover = SessionHandover(session, settings)
    plans.end(session, settings, ids)
    for waiting in waiting_requests.take_overdue(session, ids):
        handover.end(
            waiting, TIMED_OUT, reasons.get(waiting.request_key) or waiting.reason or "No machine was free in time."
        )
