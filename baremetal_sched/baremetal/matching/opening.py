"""Which machines a request may have although they are closed to requests that name no end: those of its own booking or
plan, and those whose next booking begins later than it needs them."""

from dataclasses import dataclass
from enum import Enum

from sqlalchemy import ColumnElement, and_, exists, func, or_, select

from baremetal_sched.baremetal.bookings.times import (
    BOOKED,
    COUNTS,
    NOBODY,
    Own,
    closed_by_hold,
    is_booked_now,
    is_clear,
    meets_booking,
)
from baremetal_sched.baremetal.provider.availability import IS_BOOKED, IS_OPEN
from baremetal_sched.db.clock import statement_epoch
from baremetal_sched.db.models import Node
from baremetal_sched.db.types import Query
from baremetal_sched.placement.ends import End
from baremetal_sched.settings import Settings

_NEXT = BOOKED.alias("next")
#: SQL condition on a node: a booking or a plan keeps it.
_IS_KEPT = exists().where(BOOKED.c.node_id == Node.id, COUNTS)


#: SQL conditions on a node, for requests that name no end: neither a hold that has come nor a booking closes it.
UNHELD, UNBOOKED = or_(IS_OPEN, IS_BOOKED), or_(IS_OPEN, ~IS_BOOKED)


class Reach(Enum):
    """Which machines a search with an end or a plan looks at."""

    OPEN = "those that nobody has booked"
    GAPS = "those that are booked later than it needs them"
    ALL = "both"


@dataclass(frozen=True)
class Opening:
    """What holds and bookings must leave of a machine to a request: until its ``end``. ``own``: its booking, or its
    plan. ``takes_held``: a hold may be planned before the end."""

    settings: Settings
    end: End | None = None
    own: Own = NOBODY
    reach: Reach = Reach.OPEN
    takes_held: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it leaves what is open to everybody."""
        return self.own == NOBODY and (self.end is None or self.reach is Reach.OPEN)

    @property
    def until(self) -> ColumnElement[float] | None:
        """The end of a consumer that gets its machine now; None: it has none."""
        return None if self.end is None else self.end.moment()

    def is_open(self) -> ColumnElement[bool]:
        """SQL condition on a node: neither a hold that has come nor a booking keeps it from the request."""
        if self.is_plain:
            return IS_OPEN
        if self.own.booking is not None:
            return and_(is_booked_now(self.own), ~closed_by_hold(self.settings, statement_epoch()))
        # A closed machine without a row that counts waits for the sweep, which opens it.
        is_clear_until = and_(_IS_KEPT, is_clear(self.settings, self.until, self.own))
        return is_clear_until if self.is_of_gaps else or_(IS_OPEN, is_clear_until)

    @property
    def is_of_gaps(self) -> bool:
        """Whether only machines that are booked later are looked at."""
        return self.reach is Reach.GAPS and self.own == NOBODY and self.end is not None

    def is_unheld(self) -> ColumnElement[bool]:
        """SQL condition on a node: no hold that has come keeps it from the request; the first part of ``is_open``."""
        if self.is_plain:
            return UNHELD
        unheld = ~closed_by_hold(self.settings, statement_epoch())
        return unheld if self.own.booking is not None else or_(IS_OPEN, unheld)

    def is_unbooked(self) -> ColumnElement[bool]:
        """SQL condition on a node: no booking keeps it from the request; the second part of ``is_open``."""
        if self.is_plain:
            return UNBOOKED
        if self.own.booking is not None:
            return is_booked_now(self.own)
        clear = ~meets_booking(self.settings, statement_epoch(), self.until, self.own)
        return or_(IS_OPEN, and_(_IS_KEPT, clear))

    def stays_open(self) -> ColumnElement[bool] | None:
        """SQL condition on a node: no hold is planned before the end; None: it does not matter."""
        if self.until is None or self.takes_held:
            return None
        if self.is_plain:
            return or_(Node.closes_at.is_(None), Node.closes_at >= self.until)
        return or_(Node.closes_at.is_(None), ~closed_by_hold(self.settings, self.until, before=True))

    def clauses(self) -> list[ColumnElement[bool]]:
        """Return both conditions."""
        stays = self.stays_open()
        return [self.is_open()] if stays is None else [self.is_open(), stays]

    def gap(self) -> ColumnElement[float]:
        """SQL: when the next booking of a node begins, by which gaps are compared; NULL: there is none."""
        after = BOOKED.c.starts_at >= (statement_epoch() if self.until is None else self.until)
        return select(func.min(BOOKED.c.starts_at)).where(BOOKED.c.node_id == Node.id, after).scalar_subquery()

    def by_gap(self, query: Query) -> Query:
        """Return the query of nodes with a row for each booking that begins after the end, the shortest gap first: by
        the index of their starts, so that the few machines that are booked later are looked at, and no others.

        … JOIN booked_machines next ON next.node_id = n.id AND next.starts_at >= :until ORDER BY next.starts_at, n.id
        """
        until = statement_epoch() if self.until is None else self.until
        later = query.join(_NEXT, and_(_NEXT.c.node_id == Node.id, _NEXT.c.starts_at >= until))
        return later.order_by(None).order_by(_NEXT.c.starts_at, Node.id)
