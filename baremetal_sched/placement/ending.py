"""Ends that are due: how conductors take them, tell of them, and note that they are late. See ``ends`` for the states.

Each change is one conditional UPDATE, by the clock of the database, so that two conductors that look at the same time
do nothing twice.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Update, and_, case, func, literal, or_, select, update

from baremetal_sched.db.clock import epoch, in_words, statement_epoch
from baremetal_sched.db.event_types import EventType
from baremetal_sched.db.notes import notes_of
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.types import Query, Reader, connection_of
from baremetal_sched.placement import calendars, ends
from baremetal_sched.placement.consumers import PLACEMENT
from baremetal_sched.placement.ends import ENDING, LATE, OVER, SET, End
from baremetal_sched.placement.events import ENDED
from baremetal_sched.placement.tables import ALLOCATIONS, CLAIM_ENDS, CONSUMERS, GROUP_MEMBERS, PROVIDERS

_ENDS = CLAIM_ENDS.c

#: Seconds after which an end that no conductor has taken counts as late.
LAG = 60.0
#: Seconds until an end that is late is tried again: first, and at most.
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 300.0
#: After so many tries the pause is the longest.
_MOST_DOUBLED = 6

#: Something is to be done about an end, by the index on the moment.
DUE: Query = select(_ENDS.consumer_id).where(_ENDS.due_at <= statement_epoch()).limit(1)

#: SQL condition: the end has come, and the machine was not given back in time.
IS_LATE: ColumnElement[bool] = or_(_ENDS.state == LATE, and_(_ENDS.state == SET, _ENDS.ends_at <= epoch() - LAG))
#: The state of an end as clients see it.
STATE_NOW = case((IS_LATE, LATE), else_=_ENDS.state).label("state_now")

#: The state of the end of the consumer of an allocation; NULL: it has none. It is read when the consumer is locked.
STATE_OF_HOLDER = select(_ENDS.state).where(_ENDS.consumer_id == ALLOCATIONS.c.consumer_id).scalar_subquery()

_OF_END = (
    *(_ENDS.consumer_id, _ENDS.state, _ENDS.ends_at, _ENDS.due_at, _ENDS.tries, _ENDS.late_since, _ENDS.reason),
    _ENDS.booking_id,
    *(CONSUMERS.c.uuid, CONSUMERS.c.project_id, CONSUMERS.c.user_id),
    func.coalesce(CONSUMERS.c.request_kind, PLACEMENT).label("kind"),
    func.coalesce(GROUP_MEMBERS.c.claim, CONSUMERS.c.uuid).label("claim"),
    epoch().label("now"),
)


class GivenEnd(NamedTuple):
    """An end that has just been given, with ``STATE_NOW``."""

    ends_at: float
    state_now: str = SET
    late_since: float | None = None
    reason: str | None = None


def given(reader: Reader, consumer: str, end: End | None) -> list[Any]:
    """Return the end, with ``STATE_NOW``, that a consumer (a UUID) has just been given with its machine: a moment is
    not read again."""
    if end is None:
        return []
    return [*ends.of_consumers(reader, [consumer], STATE_NOW).values()] if end.at is None else [GivenEnd(end.at)]


def find(reader: Reader, consumer: int) -> Any:
    """Return the end of a consumer (an id), with the consumer's columns, its ``kind``, the UUID of its ``claim``, and
    ``now``; None if it has none."""
    query = (
        select(*_OF_END)
        .join_from(CLAIM_ENDS, CONSUMERS, CONSUMERS.c.id == _ENDS.consumer_id)
        .outerjoin(GROUP_MEMBERS, GROUP_MEMBERS.c.consumer_id == CONSUMERS.c.id)
        .where(_ENDS.consumer_id == consumer)
    )
    return connection_of(reader).execute(query).first()


def count_by_state(reader: Reader) -> dict[str, int]:
    """Return how many ends there are: ``set``, ``ending`` and ``late``, with those that nobody has taken in time."""
    found = connection_of(reader).execute(select(STATE_NOW, func.count()).group_by(STATE_NOW))
    return dict.fromkeys((SET, *OVER), 0) | {name: count for name, count in found}


def errors(reader: Reader) -> Iterator[str]:
    """Yield the errors of ends, one line each: of ends without consumer or allocations, and of unknown states.

    SELECT DISTINCT e.consumer_id, c.uuid, e.state, a.consumer_id FROM claim_ends e LEFT JOIN consumers c ON …
    LEFT JOIN allocations a ON … WHERE a.consumer_id IS NULL OR e.state NOT IN ('set', 'ending', 'late')
    """
    columns = (_ENDS.consumer_id, CONSUMERS.c.uuid, _ENDS.state, ALLOCATIONS.c.consumer_id.label("holder"))
    query = select(*columns).distinct().outerjoin_from(CLAIM_ENDS, CONSUMERS, CONSUMERS.c.id == _ENDS.consumer_id)
    query = query.outerjoin(ALLOCATIONS, ALLOCATIONS.c.consumer_id == _ENDS.consumer_id)
    is_wrong = or_(ALLOCATIONS.c.consumer_id.is_(None), _ENDS.state.not_in((SET, *OVER)))
    for row_id, uuid, state, holder in connection_of(reader).execute(query.where(is_wrong)):
        if uuid is None:
            yield f"consumer with id {row_id}: it has an end, but does not exist"
        elif holder is None:
            yield f"consumer {uuid}: it has an end, but no allocations"
        else:
            yield f"consumer {uuid}: its end is in the unknown state {state!r}"


# -- before it ---------------------------------------------------------------------------------------------------------


def tell(connection: Connection, consumer: int, told_before: Sequence[float]) -> float | None:
    """Mark the shortest interval before the end of a consumer (an id) that has begun, unless it or a shorter one is
    marked already, or was over when the end was set. Return it in seconds, None if there is none to tell of. All
    consumers of a claim of several are marked together.
    """
    claim = select(GROUP_MEMBERS.c.claim).where(GROUP_MEMBERS.c.consumer_id == consumer).scalar_subquery()
    same_claim = select(GROUP_MEMBERS.c.consumer_id).where(GROUP_MEMBERS.c.claim == claim)
    own = sorted({consumer, *connection.scalars(same_claim)})
    intervals = tuple(sorted(told_before, reverse=True))
    # It lies ahead: what is over is not told any more.
    rest = (
        update(CLAIM_ENDS)
        .where(_ENDS.consumer_id.in_(own), _ENDS.state == SET, _ENDS.ends_at > epoch(), _ENDS.due_at <= epoch())
        .values(due_at=ends.due_at(_ENDS.ends_at, intervals))
    )
    told = next((each for each in reversed(intervals) if _mark(connection, own, each)), None)
    connection.execute(rest)
    return told


def _mark(connection: Connection, consumers: Sequence[int], seconds: float) -> bool:
    begins = _ENDS.ends_at - literal(seconds)
    mark = (
        update(CLAIM_ENDS)
        .where(_ENDS.consumer_id.in_(consumers), _ENDS.state == SET, _ENDS.ends_at > epoch())
        .where(begins <= epoch(), begins > _ENDS.set_at, or_(_ENDS.told.is_(None), _ENDS.told > seconds))
        .values(told=seconds)
    )
    return bool(rows_changed(connection.execute(mark)))


# -- at the end --------------------------------------------------------------------------------------------------------


def lock(connection: Connection, consumer: int) -> tuple[Any, bool]:
    """Lock a consumer (an id), and take its end if that has come. Return the end as ``find`` does, None if there is
    nothing to be done about it now, and whether it was taken now.

    Whoever else releases the consumer does so before, or knows that its end has come.
    """
    connection.execute(select(CONSUMERS.c.id).where(CONSUMERS.c.id == consumer).with_for_update())
    is_taken = bool(rows_changed(connection.execute(_take(consumer))))
    end = find(connection, consumer)
    is_due = end is not None and end.state in OVER and end.due_at <= end.now
    return (end if is_due else None), is_taken


def _take(consumer: int) -> Update:
    """UPDATE claim_ends SET state = 'ending' WHERE consumer_id = … AND state = 'set' AND ends_at <= now"""
    is_over = and_(_ENDS.state == SET, _ENDS.ends_at <= epoch())
    return update(CLAIM_ENDS).where(_ENDS.consumer_id == consumer, is_over).values(state=ENDING)


def begin(connection: Connection, end: Any) -> None:
    """Note that the machine of an end is being given back."""
    if end.state == LATE:
        connection.execute(update(CLAIM_ENDS).where(_ENDS.consumer_id == end.consumer_id).values(state=ENDING))
        calendars.turn(connection, end.consumer_id)


def put_off(connection: Connection, end: Any, reason: str) -> None:
    """Note that the machine of an end cannot be given back now, for this reason: it is tried again later."""
    pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(end.tries, _MOST_DOUBLED))
    values = {
        "state": LATE,
        "tries": _ENDS.tries + 1,
        "late_since": func.coalesce(_ENDS.late_since, epoch()),
        "due_at": epoch() + pause,
        "reason": reason,
    }
    connection.execute(update(CLAIM_ENDS).where(_ENDS.consumer_id == end.consumer_id).values(values))
    if end.state != LATE:
        calendars.turn(connection, end.consumer_id)


# -- in events ---------------------------------------------------------------------------------------------------------


def note(
    connection: Connection,
    kind: EventType,
    end: Any,
    node: str | None,
    *,
    seconds: float | None = None,
    reason: str | None = None,
) -> None:
    """Note an event of an end, which ``find`` has returned. ``node``: the UUID of the machine."""
    told = {"at": in_words(end.ends_at), "state": end.state, "node": node, "seconds": seconds, "reason": reason}
    data = {
        "claim": {"uuid": end.claim, "kind": end.kind},
        "consumer": {"uuid": end.uuid, "project_id": end.project_id, "user_id": end.user_id},
        "end": told,
    }
    notes_of(connection).add(kind, end.claim, data, project=end.project_id)


def given_back(connection: Connection, end: Any, machines: Collection[int]) -> None:
    """Note that machines (ids of providers) are given back at an end, which ``find`` has returned."""
    own = PROVIDERS.c.id.in_([*machines]), PROVIDERS.c.mirrored_class_id.is_not(None)
    nodes = [*connection.scalars(select(PROVIDERS.c.uuid).where(*own).order_by(PROVIDERS.c.id))]
    for node in nodes or (None,):
        note(connection, ENDED, end, node)


def lost(connection: Connection, machine: str) -> None:
    """Note that consumers lose a machine (the UUID of its provider) after their ends have come."""
    own = select(PROVIDERS.c.id).where(PROVIDERS.c.uuid == machine).scalar_subquery()
    on = select(ALLOCATIONS.c.consumer_id).where(ALLOCATIONS.c.provider_id == own)
    for consumer in connection.scalars(
        select(_ENDS.consumer_id).where(_ENDS.consumer_id.in_(on), _ENDS.state.in_(OVER))
    ):
        note(connection, ENDED, find(connection, consumer), machine)
