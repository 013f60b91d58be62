"""The queue of requests that wait until a machine is free: which are in it, in which order, and how they leave it.

A row is a claim of the scheduling API, a bare metal allocation or a server (its ``kind``). It enters as ``waiting``,
and reserves its UUID as a consumer. The transaction that frees a machine gives it that machine, or the sweep ends it
after its deadline, or its owner deletes it. Only the rows of claims stay until they are deleted.

Requests for one resource class are served by priority, the highest first, and then by the time when they were made.
Those under a booking have a queue of their own (``queue_name``): they keep back nobody else, and nobody else them.
Equal ones are one entry of the queue: a machine that does not fit the first of them fits none.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Double,
    and_,
    case,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.orm import Session

from baremetal_sched.db import requester, schema_state
from baremetal_sched.db.clock import epoch, utcnow
from baremetal_sched.db.models import Booking, WaitingRequest
from baremetal_sched.db.models.waiting_requests import queue_name
from baremetal_sched.db.results import require_changed, rows_changed
from baremetal_sched.db.sql_functions import as_digits, concat
from baremetal_sched.db.types import dump_json
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.scheduling import TooManyWaitingClaims, UuidTaken, WaitingNotServed
from baremetal_sched.placement import consumers, events, gate
from baremetal_sched.placement.consumers import ConsumerWrite, Unset
from baremetal_sched.placement.ends import End

#: The schema's revision of the first release that hands machines over.
FIRST_REVISION = "0020"

#: That of the first release that knows reserved UUIDs.
RESERVING_REVISION = "0024"

# States.
WAITING = "waiting"
GATHERING = "gathering"  # waits for several machines at one moment: a free one is not kept for it
CLAIMED = "claimed"
TIMED_OUT = "timed_out"
FAILED = "failed"

# Kinds.
CLAIM = "claim"
ALLOCATION = "allocation"
SERVER = "server"

#: The states of claims that are not decided.
UNDECIDED = (WAITING, GATHERING)

_IN_TIME = WaitingRequest.deadline > epoch()
#: SQL conditions: the claim waits, for one machine or several, and its time is not over; it is one of several.
IS_WAITING = and_(WaitingRequest.state.in_(UNDECIDED), _IN_TIME)
IS_GATHERING = and_(WaitingRequest.state == GATHERING, _IN_TIME)
#: SQL condition: its deadline has passed, and its state has not been updated yet.
IS_OVERDUE = and_(WaitingRequest.state.in_(UNDECIDED), WaitingRequest.deadline <= epoch())

#: SQL: the class of the machines that a request waits for, or waited for: ``WaitingRequest.machine_class``.
MACHINE_CLASS: ColumnElement[str] = case(
    (WaitingRequest.booking_id.is_(None), WaitingRequest.resource_class),
    else_=func.substr(
        WaitingRequest.resource_class,
        func.length(concat("booking::", as_digits(WaitingRequest.booking_id.expression))) + 1,
    ),
)

#: SQL: the end of a request that gets its machine now; NULL: it has none.
ENDS_AT: ColumnElement[float] = func.coalesce(WaitingRequest.ends_at, epoch() + WaitingRequest.lasts)

#: The priority of claims that no machine could have satisfied when they were made: they come after all others.
LAST = -1


@dataclass(frozen=True)
class NewWaitingRequest:
    """A request that is to wait for a machine. It waits for ``seconds`` from now on, unless it began ``since`` and
    waits ``until``, in seconds since 1970. Higher ``priority`` goes first. ``reason`` says why it must wait, in a
    sentence. ``needed_trait`` is one of the traits that the machine must have: machines without it are not looked at.
    ``gathers``: it is for several machines, of the group ``group_id``. ``end``: what it gets when it gets its machine;
    it waits no longer than this allows.
    """

    uuid: str
    kind: str
    resource_class: str
    request: Mapping[str, Any]
    project: str
    user: str
    seconds: float = 0
    since: float | None = None
    until: float | None = None
    consumer_type: str | None = None
    body_digest: str | None = None
    reason: str | None = None
    secret: Any = None
    needed_trait: str | None = None
    priority: int = 0
    gathers: bool = False
    group_id: int | None = None
    end: End | None = None

    def consumer(self) -> ConsumerWrite:
        """Return the consumer whose UUID is reserved while the request waits."""
        kept = Unset.KEEP_TYPE if self.consumer_type is None else self.consumer_type
        return ConsumerWrite(self.uuid, {}, self.project, self.user, consumers.RESERVED, kept, self.kind)


def key_of(request: Mapping[str, Any]) -> str:
    """Return the key that equal requests share."""
    return hashlib.sha256(dump_json(dict(sorted(request.items()))).encode()).hexdigest()


def enter(session: Session, new: NewWaitingRequest, *, most: int) -> WaitingRequest:
    """Enter a request into the queue, and return its claim: its UUID is reserved if it is for one machine. After the
    transaction, machines are looked for once more.

    Raises TooManyWaitingClaims if ``most`` of its project wait; UuidTaken if a consumer has its UUID; EndsTooSoon;
    WaitingNotServed while a release that hands nothing over may serve the database; InvalidValue if it is to wait under
    a booking of another class.
    """
    served_since = schema_state.oldest(session.connection())
    if not schema_state.is_since(served_since, FIRST_REVISION):
        raise WaitingNotServed
    if new.end is not None and new.end.booking is not None:
        _require_class(session, new, new.end.booking)
    _require_few(session, new.project, most)
    entered = _insert(session, new, state=GATHERING if new.gathers else WAITING)
    if new.end is not None:
        new.end.require_time(entered.asked_at)
    # Releases that do not know them would take a reserved UUID for one that is in use.
    reserves = schema_state.is_since(served_since, RESERVING_REVISION) and not new.gathers
    if reserves and not consumers.reserve(session.connection(), new.consumer()):
        raise UuidTaken(uuid=new.uuid)
    return entered


def _require_class(session: Session, new: NewWaitingRequest, booking_id: int) -> None:
    booking = session.get(Booking, booking_id)
    if booking is not None and booking.resource_class != new.resource_class:
        raise InvalidValue(
            message=f"It would wait in vain: booking {booking.uuid} has machines of class {booking.resource_class}, "
            f"and the request is for {new.resource_class}."
        )


def _require_few(session: Session, project: str, most: int) -> None:
    """Raise TooManyWaitingClaims if ``most`` of the project wait."""
    is_undecided = WaitingRequest.state.in_(UNDECIDED)
    waiting = select(func.count()).where(WaitingRequest.consumer_project == project, is_undecided)
    number = session.scalar(waiting) or 0
    if most - 100 < number < most:  # so near to it one begins to wait after the other
        schema_state.lock(session.connection())
        number = session.scalar(waiting) or 0
    if number >= most:
        raise TooManyWaitingClaims(project=project, limit=most)


def enter_claimed(session: Session, new: NewWaitingRequest) -> WaitingRequest:
    """Note a claim that got its machine at once, and return it."""
    return _insert(session, new, state=CLAIMED, decided_at=epoch())


def _insert(session: Session, new: NewWaitingRequest, **values: Any) -> WaitingRequest:
    deadline = epoch() + new.seconds if new.until is None else literal(new.until, Double())
    statement = insert(WaitingRequest).values(
        uuid=new.uuid,
        kind=new.kind,
        resource_class=queue_name(new.resource_class, None if new.end is None else new.end.booking),
        asked_at=epoch() if new.since is None else new.since,
        deadline=deadline if new.end is None else new.end.bounded(deadline),
        request=dict(new.request),
        request_key=key_of(new.request),
        body_digest=new.body_digest,
        consumer_project=new.project,
        consumer_user=new.user,
        consumer_type=new.consumer_type,
        reason=new.reason,
        secret=new.secret,
        needed_trait=new.needed_trait,
        priority=new.priority,
        group_id=new.group_id,
        **({} if new.end is None else new.end.columns()),
        created_at=utcnow(),
        **requester.of(session).known(),
        **values,
    )
    if session.connection().dialect.insert_returning:  # all but MySQL
        entered = session.scalars(statement.returning(WaitingRequest)).one()
    else:
        session.execute(statement)
        entered = session.scalars(select(WaitingRequest).where(WaitingRequest.uuid == new.uuid)).one()
    gate.note_request(session, WAITING if entered.state in UNDECIDED else entered.state, entered, new.reason)
    return entered


def take_overdue(session: Session, ids: Collection[int]) -> Sequence[WaitingRequest]:
    """Return which of these claims are overdue, the oldest deadline first, their rows locked; claims that another
    transaction is deciding are left out."""
    overdue = select(WaitingRequest).where(WaitingRequest.id.in_(ids), IS_OVERDUE).with_for_update(skip_locked=True)
    found = session.scalars(overdue.execution_options(populate_existing=True)).all()
    return sorted(found, key=lambda claim: (claim.deadline, claim.id))


def find(session: Session, uuid: str, *, lock: bool = False) -> WaitingRequest | None:
    """Return the claim with this UUID, whatever its state; with ``lock`` its row is locked."""
    query = select(WaitingRequest).where(WaitingRequest.uuid == uuid)
    if lock:
        query = query.with_for_update().execution_options(populate_existing=True)
    found: WaitingRequest | None = session.scalars(query).first()
    return found


def decide(session: Session, claim: WaitingRequest, state: str, reason: str | None = None) -> None:
    """End the waiting of a claim, whose row is locked. Its secret is deleted. Unless CLAIMED, its UUID is free."""
    session.execute(
        update(WaitingRequest)
        .where(WaitingRequest.id == claim.id)
        .values(state=state, decided_at=epoch(), reason=reason, secret=None)
    )
    if state != CLAIMED:
        consumers.free_uuids(session, [claim.uuid])
    gate.note_request(session, state, claim, reason)


def decide_gathering(session: Session, claim: WaitingRequest) -> None:
    """Give a claim of several machines the state of one that has them. Raises StaleDataError if it was changed."""
    same = (getattr(WaitingRequest, each).is_not_distinct_from(getattr(claim, each)) for each in ("ends_at", "lasts"))
    decided = update(WaitingRequest).where(WaitingRequest.uuid == claim.uuid, IS_GATHERING, *same)
    decided = decided.values(state=CLAIMED, decided_at=epoch(), reason=None)
    require_changed(session.execute(decided.execution_options(synchronize_session=False)), "the claim was changed")
    gate.note_request(session, CLAIMED, claim)


def leave(session: Session, uuid: str, state: str = events.WITHDRAWN) -> bool:
    """Delete the claim with this UUID; return whether there was one. Waits for a transaction that is deciding it.

    ``state`` is what its event says. If it is CLAIMED, its UUID stays reserved, for what it is about to be given.
    """
    known = gate.known_request(session, uuid)
    had = None if known is None else known.state
    left = bool(rows_changed(session.execute(delete(WaitingRequest).where(WaitingRequest.uuid == uuid))))
    if left and CLAIMED not in (state, had):
        consumers.free_uuids(session, [uuid])
    if left and known is not None:
        gate.note_request(session, events.RELEASED if had == CLAIMED else state, known)
    return left
