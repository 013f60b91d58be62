"""/waiting: who waits for a machine, since when, and why."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from flask import Response
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session, defer

from baremetal_sched import commands
from baremetal_sched.baremetal import fleet
from baremetal_sched.baremetal.bookings.times import BOOKED as ROWS
from baremetal_sched.baremetal.matching.spreading import SEVERAL
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, WaitingRequest
from baremetal_sched.errors import NotAllowed, WrongScope
from baremetal_sched.placement.names import resource_class_of
from baremetal_sched.placement.waiting_requests import ALLOCATION, CLAIM, IS_WAITING, SERVER
from baremetal_sched.scheduling import claims
from baremetal_sched.scheduling.api.claims import visible_to
from baremetal_sched.scheduling.api.rights import may_delete
from baremetal_sched.scheduling.claims import ClaimStatus
from baremetal_sched.scheduling.schemas import claims as schemas
from baremetal_sched.ui import exports
from baremetal_sched.ui.actions import ACTIONS
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.forms import distinct
from baremetal_sched.ui.rendering import page

#: The number of claims on the page: the ones that have waited for longest.
MOST_CLAIMS = 200

#: The commands that end the waiting, by kind.
_COMMANDS = {
    CLAIM: commands.CANCEL_CLAIM,
    ALLOCATION: commands.DELETE_ALLOCATION,
    SERVER: commands.DELETE_SERVER,
}


def show_waiting(call: UiCall, session: Session) -> Response:
    """GET /waiting. Raises InvalidValue for an unknown format."""
    wanted = exports.format_of(call)
    call.refuse_query()
    visible = visible_to(call)
    conditions = [IS_WAITING] if visible is None else [IS_WAITING, visible]
    if wanted:
        found = map(claims.document_of, _statuses(session, conditions, exports.MOST + 1))
        return exports.export(call, wanted, "waiting", exports.members(wanted, schemas.CLAIM), found)
    statuses = list(_statuses(session, conditions, MOST_CLAIMS + 1))
    by_class: dict[str, list[tuple[ClaimStatus, datetime, datetime, str]]] = {}
    for each in statuses[:MOST_CLAIMS]:
        by_class.setdefault(each.claim.machine_class, []).append((each, *_times(each), _command(each)))
    known = _machine_classes(call, session) if by_class else []
    counted = fleet.waiting_by_class(MOST_CLAIMS, *conditions) if by_class else None
    mine = {each.claim.uuid for each in statuses if _may_cancel(call, each)}
    return page(
        call,
        "waiting.html",
        everything=visible is None,
        classes=[
            (name, rows, [each for each in known if resource_class_of(each) == name]) for name, rows in by_class.items()
        ],
        numbers={name: number for name, number in session.execute(counted)} if counted is not None else {},
        mine=mine,
        planned=_planned(session, statuses),
        offers=[("cancel", ACTIONS["cancel"].label)] if mine else [],
        has_more=len(statuses) > MOST_CLAIMS,
        most=MOST_CLAIMS,
        now=utcnow(),
    )


def _statuses(session: Session, conditions: Sequence[ColumnElement[bool]], most: int) -> Iterator[ClaimStatus]:
    """Yield the requests that wait, the ones that have waited for longest first; some are read at a time."""
    ids = select(WaitingRequest.id).where(*conditions).order_by(WaitingRequest.asked_at, WaitingRequest.id).limit(most)
    query = select(WaitingRequest).options(defer(WaitingRequest.secret))
    for chunk in exports.chunks(session.scalars(ids).all()):
        requests = session.scalars(query.where(WaitingRequest.id.in_(chunk))).all()
        yield from claims.statuses_of(session, sorted(requests, key=lambda each: (each.asked_at, each.id)))


def _planned(session: Session, statuses: Sequence[ClaimStatus]) -> dict[int, datetime]:
    """Return the starts of the plans of requests (ids) that have one, in UTC.

    SELECT waiting_id, min(starts_at) FROM booked_machines WHERE waiting_id IN (…) GROUP BY waiting_id
    """
    several = [each.claim.id for each in statuses if SEVERAL in each.claim.request]
    if not several:
        return {}
    starts = select(ROWS.c.waiting_id, func.min(ROWS.c.starts_at)).where(ROWS.c.waiting_id.in_(several))
    rows = session.execute(starts.group_by(ROWS.c.waiting_id))
    return {claim: datetime.fromtimestamp(start, UTC).replace(tzinfo=None) for claim, start in rows}


def _machine_classes(call: UiCall, session: Session) -> list[str]:
    """The classes of nodes that the caller may list."""
    with suppress(NotAllowed, WrongScope):
        return [name for name in distinct(session, Node.resource_class, call.listed("node")) if name]
    return []


def _times(status: ClaimStatus) -> tuple[datetime, datetime]:
    """Return since when and until when it waits, in UTC."""
    claim = status.claim
    since, until = (datetime.fromtimestamp(each, UTC) for each in (claim.asked_at, claim.deadline))
    return since.replace(tzinfo=None), until.replace(tzinfo=None)


def _may_cancel(call: UiCall, status: ClaimStatus) -> bool:
    """Return whether the API that was asked for the machine lets the caller end the waiting."""
    return may_delete(call, call, call.compute, status.claim)


def _command(status: ClaimStatus) -> str:
    return _COMMANDS[status.claim.kind].of(uuid=status.claim.uuid)
