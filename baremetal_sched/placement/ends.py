"""Ends of claims: the moment at which a consumer gives its machine back, whatever its user forgets.

An end is a row beside its consumer: it goes with the consumer, and what has no end pays nothing. Its states:

- ``set``: it lies ahead, and can be changed.
- ``ending``: its conductor has taken it, by one conditional UPDATE, once it was over by the clock of the database; the
  machine is being given back, and the end can no longer be changed.
- ``late``: the same, but the machine cannot be given back now. It is tried again.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, nextafter
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Double,
    Integer,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal,
    literal_column,
    select,
    update,
)
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db import compiled, schema_state
from baremetal_sched.db.clock import epoch, in_words, statement_epoch
from baremetal_sched.db.compiled import IDS
from baremetal_sched.db.models import SchemaState, table_of
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.types import Query, Reader, Writer, connection_of
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.scheduling import EndsNotServed, EndsTooSoon, HasEnded
from baremetal_sched.placement import calendars
from baremetal_sched.placement.tables import ALLOCATIONS, CLAIM_ENDS, CONSUMERS, PROVIDERS
from baremetal_sched.settings import Settings

#: The schema's revision of the first release that ends claims.
FIRST_REVISION = "0038"

#: The greatest number of seconds that a request may name: a hundred years.
LONGEST = 100 * 366 * 86_400

# States.
SET = "set"
ENDING = "ending"
LATE = "late"

STATES = (SET, ENDING, LATE)

#: The states in which the machine is being given back.
OVER = (ENDING, LATE)


@dataclass(frozen=True)
class End:
    """The end of a claim: ``at`` a moment (seconds since 1970), or ``seconds`` after it has got its machine, or, of
    several, all of them. ``told_before``: how many seconds before it events tell of it, the longest interval first.
    ``shortest``: nobody gets a machine for fewer seconds than this. ``booking``: the booking (an id) under which the
    machine is claimed, and nothing else; None: it is claimed under none. ``within``: the end of that, which is not
    earlier than its own."""

    at: float | None = None
    seconds: float | None = None
    told_before: tuple[float, ...] = ()
    shortest: float = 0
    booking: int | None = None
    within: float = inf

    @classmethod
    def of(
        cls, settings: Settings, at: float | None, seconds: float | None, booking: int | None = None
    ) -> "End | None":
        """Return the end with what the settings say of it; None if there is neither a moment nor seconds."""
        if at is None and seconds is None:
            return None
        options = settings.scheduling
        told_before = tuple(sorted(map(float, options.tell_before), reverse=True))
        return cls(at, seconds, told_before, options.shortest_claim, booking)

    @property
    def latest(self) -> float:
        """The last moment at which a machine can be had until this end."""
        if self.at is None:
            return self.within - (self.seconds or 0.0)
        return min(self.at - self.shortest, nextafter(self.at, -inf))

    def bounded(self, deadline: ColumnElement[float]) -> ColumnElement[float]:
        """SQL: the deadline, or the ``latest`` moment if that is earlier."""
        if self.latest == inf:
            return deadline
        last: ColumnElement[float] = literal(self.latest, Double())
        return case((deadline < last, deadline), else_=last)

    def moment(self) -> ColumnElement[float]:
        """Return the moment for a consumer that gets its machine now, in SQL."""
        return statement_epoch() + literal(self.seconds, Double()) if self.at is None else literal(self.at, Double())

    def require_time(self, now: float) -> None:
        """Raise EndsTooSoon if a request with this end has no time to wait."""
        if self.latest <= now:
            end = self.within if self.at is None else self.at
            raise EndsTooSoon(end=in_words(end), shortest=f"{self.seconds or self.shortest:g}")

    def columns(self) -> dict[str, Any]:
        """Return the columns of a request that waits with this end."""
        return {"ends_at": self.at, "lasts": self.seconds, "booking_id": self.booking}

    def parameters(self, began_at: float | None = None) -> dict[str, Any]:
        """Return the parameters of ``new_row``. ``began_at``: since when the consumer has its machine; None: it gets it
        now."""
        return {
            "end_at": self.at,
            "end_seconds": self.seconds,
            "end_began_at": began_at,
            "end_booking": self.booking,
            "end_within": None if self.within == inf else self.within,
        }


@dataclass(frozen=True)
class AskedEnd:
    """The end that a request names: a moment, or seconds, or neither: none. ``is_named``: whether it names one at all;
    if not, it has the default of the settings. ``booking``: the UUID of the booking under which it claims."""

    at: float | None = None
    seconds: float | None = None
    is_named: bool = False
    booking: str | None = None


def granted(
    reader: Reader, settings: Settings, asked: AskedEnd, began_at: float | None = None, *, is_bound: bool = True
) -> End | None:
    """Return the end of a request, or the default of the settings, within their limits,
    if it names none; None if it has no end.
    ``began_at``: since when its consumer has its machine; None: it gets it now or later. ``is_bound``: the limits of
    the settings apply.

    Raises EndsNotServed, and InvalidValue if the end is over or too late.
    """
    options = settings.scheduling
    is_default = not asked.is_named and bool(options.default_claim)
    seconds = asked.seconds
    if is_default:
        seconds = min(filter(None, (options.default_claim, options.longest_claim, options.longest_in_all)))
    end = End.of(settings, asked.at, seconds)
    if end is None:
        return None
    try:
        now = require_served(reader, end)
    except EndsNotServed:
        if is_default:  # what asks for no end is served as before
            return None
        raise
    ends_at = now + (end.seconds or 0.0) if end.at is None else end.at
    bounds = [
        (options.longest_claim, now, "longest_claim"),
        (options.longest_in_all, began_at or now, "longest_in_all"),
    ]
    for seconds, since, name in bounds if is_bound else ():
        if seconds and ends_at > since + seconds:
            raise InvalidValue(
                message=f"The end is too late: {in_words(since + seconds)} is the last one that [scheduling] {name} "
                f"({seconds:g} s) allows."
            )
    return end


#: SELECT served_since, <now> FROM schema_state
_STATE: Query = select(table_of(SchemaState).c.served_since, epoch().label("now"))


def require_served(reader: Reader, end: End | None = None) -> float:
    """Return the time. Raise EndsNotServed while a release before this one, which ends nothing, may serve the database,
    and InvalidValue if the end is over."""
    served_since, now = compiled.run(connection_of(reader), _STATE, {}).one()
    if not schema_state.is_since(served_since, FIRST_REVISION):
        raise EndsNotServed
    if end is not None and end.at is not None and end.at <= now:
        raise InvalidValue(message=f"The end must be later than now: {in_words(end.at)} is over.")
    return float(now)


_AT: ColumnElement[float] = bindparam("end_at", type_=Double())
_SECONDS: ColumnElement[float] = bindparam("end_seconds", type_=Double())
_WITHIN: ColumnElement[float] = bindparam("end_within", type_=Double())
_LATER = statement_epoch() + _SECONDS
#: The moment that the parameters give.
_ENDS_AT = func.coalesce(_AT, case((_LATER > _WITHIN, _WITHIN), else_=_LATER))
#: The columns of a new end.
COLUMNS = ("consumer_id", "began_at", "set_at", "ends_at", "state", "due_at", "booking_id")


def due_at(ends_at: ColumnElement[float], told_before: tuple[float, ...]) -> ColumnElement[float]:
    """SQL: the first moment from now on at which something is to be done about an end that has just been set: an
    interval before it, or the end.

    CASE WHEN ends_at - 86400 > now THEN ends_at - 86400 WHEN … ELSE ends_at END
    """
    moments = [ends_at - literal_column(str(seconds), Double()) for seconds in told_before]
    return case(*((each > statement_epoch(), each) for each in moments), else_=ends_at) if moments else ends_at


def new_row(consumer: ColumnElement[int], told_before: tuple[float, ...]) -> dict[str, ColumnElement[Any]]:
    """Return the ``COLUMNS`` of a new end of a consumer, as expressions. The parameters are those of ``End``."""
    now, due = statement_epoch(), due_at(_ENDS_AT, told_before)
    began_at: ColumnElement[float] = func.coalesce(bindparam("end_began_at", type_=Double()), now)
    booking: ColumnElement[int | None] = bindparam("end_booking", type_=Integer())
    return dict(zip(COLUMNS, (consumer, began_at, now, _ENDS_AT, literal(SET), due, booking), strict=True))


@lru_cache
def _insert(told_before: tuple[float, ...]) -> Any:
    return insert(CLAIM_ENDS).values(new_row(bindparam("consumer", type_=Integer()), told_before)).inline()


def at_once(reader: Reader, end: End | None) -> End | None:
    """Return the end of consumers that get their machines now: the same moment for all; None: they have none."""
    if end is None or end.seconds is None:
        return end
    now: float = connection_of(reader).scalar(select(epoch())) or 0.0
    return replace(end, at=now + end.seconds, seconds=None)


def enter(connection: Connection, consumer: int, end: End, began_at: float | None = None) -> None:
    """Give an end to a consumer (an id), which has its machine since ``began_at``; None: it has just got it."""
    compiled.change(connection, _insert(end.told_before), {"consumer": consumer, **end.parameters(began_at)})


_ROOT = PROVIDERS.alias("root")
_LOCK = select(CONSUMERS.c.id).where(CONSUMERS.c.id.in_([IDS])).order_by(CONSUMERS.c.id).with_for_update()
_PRESENT = select(CLAIM_ENDS.c.consumer_id, CLAIM_ENDS.c.ends_at).where(CLAIM_ENDS.c.consumer_id.in_([IDS]))


def change(writer: Writer, consumers: Mapping[int, str], end: End | None, began_at: float | None = None) -> bool:
    """Give consumers (their UUIDs by id) that have machines, since ``began_at`` (None: they have just got them), this
    end instead of another; None: none. An end in ``seconds`` counts from now on, for all of them alike. Return whether
    one of them ends later than before.

    Locks the consumers, their inventories and their ends, in the order in which a release does. Raises HasEnded if the
    end of one has come, StaleDataError if one has been released, or there are none any more.
    """
    connection = connection_of(writer)
    if not consumers or len(compiled.run(connection, _LOCK, {}, consumers).all()) < len(consumers):
        raise StaleDataError("a consumer was released")
    calendars.turn(connection, *consumers)
    end = at_once(connection, end)
    before: dict[int, float] = dict(compiled.run(connection, _PRESENT, {}, consumers).all())
    for consumer, uuid in sorted(consumers.items()):
        own = and_(CLAIM_ENDS.c.consumer_id == consumer, CLAIM_ENDS.c.state == SET, CLAIM_ENDS.c.ends_at > epoch())
        changed = _changed(connection, consumer, end, own)
        if not changed and consumer in before:
            raise HasEnded(consumer=uuid)
        if not changed and end is not None:
            enter(connection, consumer, end, began_at)
    return any(ends_at < (inf if end is None or end.at is None else end.at) for ends_at in before.values())


def _changed(connection: Connection, consumer: int, end: End | None, condition: ColumnElement[bool]) -> bool:
    """Change or delete the end of a consumer, under the condition; return whether there was one."""
    if end is None:
        return bool(rows_changed(connection.execute(delete(CLAIM_ENDS).where(condition))))
    new = new_row(literal(consumer), end.told_before)
    values = {name: new[name] for name in ("set_at", "ends_at", "due_at")} | {"told": None}
    statement = update(CLAIM_ENDS).where(condition).values(values)
    return bool(rows_changed(connection.execute(statement, end.parameters())))


#: SELECT e.*, r.id FROM claim_ends e JOIN allocations … JOIN resource_providers p … JOIN resource_providers r ON
#: r.id = p.root_id WHERE e.consumer_id IN (…) AND r.mirrored_class_id IS NOT NULL FOR UPDATE OF e
_WITH_MACHINES = (
    select(CLAIM_ENDS, _ROOT.c.id.label("machine"))
    .join(ALLOCATIONS, ALLOCATIONS.c.consumer_id == CLAIM_ENDS.c.consumer_id)
    .join(PROVIDERS, PROVIDERS.c.id == ALLOCATIONS.c.provider_id)
    .join(_ROOT, _ROOT.c.id == PROVIDERS.c.root_id)
    .where(CLAIM_ENDS.c.consumer_id.in_([IDS]), _ROOT.c.mirrored_class_id.is_not(None))
    .order_by(CLAIM_ENDS.c.ends_at, CLAIM_ENDS.c.consumer_id)
    .with_for_update(of=CLAIM_ENDS)
)


def with_machines(connection: Connection, consumers: Collection[int]) -> Sequence[Any]:
    """Lock the ends of consumers (ids), which are locked, and return them, the earliest first, each with a ``machine``
    of its consumer (the id of a provider): for ``pass_on``."""
    rows: Sequence[Any] = compiled.run(connection, _WITH_MACHINES, {}, consumers).all()
    return rows


def pass_on(connection: Connection, found: Sequence[Any], takers: Mapping[int, int], kept: Collection[int]) -> None:
    """Pass the ends of ``with_machines`` on to the consumers that have the machines now, ids of both. If a consumer has
    an end already, the earlier one counts. ``kept``: the consumers that were there before, and still are. (SQLite gives
    the ids of those that are gone to new ones.)"""
    earliest = {row.consumer_id: row.ends_at for row in reversed(found) if row.consumer_id in kept}
    for row in found:
        taker = takers.get(row.machine)
        if taker is not None and row.ends_at < earliest.get(taker, inf):
            earliest[taker] = row.ends_at
            calendars.turn(connection, taker)
            connection.execute(delete(CLAIM_ENDS).where(CLAIM_ENDS.c.consumer_id == taker))
            values = {column.name: getattr(row, column.name) for column in CLAIM_ENDS.c}
            connection.execute(insert(CLAIM_ENDS), {**values, "consumer_id": taker})


_OF_CONSUMERS: Query = select(CONSUMERS.c.uuid, CLAIM_ENDS).join_from(
    CLAIM_ENDS, CONSUMERS, CONSUMERS.c.id == CLAIM_ENDS.c.consumer_id
)


@lru_cache
def _of_consumer(*columns: ColumnElement[Any]) -> Query:
    return _OF_CONSUMERS.add_columns(*columns).where(CONSUMERS.c.uuid == bindparam("consumer"))


def of_consumers(reader: Reader, uuids: Collection[str] | Query, *columns: ColumnElement[Any]) -> dict[str, Any]:
    """Return the ends of consumers (UUIDs, or a query of them) by their UUIDs: rows of ``claim_ends``, with ``uuid``,
    and with more columns. Those without one are left out."""
    connection = connection_of(reader)
    if isinstance(uuids, Collection) and len(uuids) == 1:
        rows = compiled.run(connection, _of_consumer(*columns), {"consumer": next(iter(uuids))})
    else:
        rows = connection.execute(_OF_CONSUMERS.add_columns(*columns).where(CONSUMERS.c.uuid.in_(uuids)))
    return {row.uuid: row for row in rows}
