"""Which machines a request may have although they are closed to whoever names no end: those of its own booking or plan,
and those that are booked later than it needs them."""

from dataclasses import dataclass
from enum import Enum

from sqlalchemy import ColumnElement, and_, or_, select

from baremetal_sched.baremetal.bookings.times import (
    BOOKED,
    COUNTS,
    NOBODY,
    Own,
    closed_by_hold,
    is_booked_now,
    is_clear,
    turnaround_of,
)
from baremetal_sched.baremetal.provider.availability import IS_OPEN
from baremetal_sched.db.clock import statement_epoch
from baremetal_sched.db.models import Node
from baremetal_sched.placement.ends import End
from baremetal_sched.settings import Settings


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
        clear = or_(IS_OPEN, is_clear(self.settings, self.until, self.own))
        if self.reach is not Reach.GAPS or self.until is None:
            return clear
        # From the few machines that are booked later: the others are not looked at.
        later = BOOKED.c.starts_at >= self.until
        return and_(
            Node.id.in_(select(BOOKED.c.node_id).where(COUNTS, later)), is_clear(self.settings, self.until, self.own)
        )

    def stays_open(self) -> ColumnElement[bool] | None:
        """SQL condition on a node: no hold is planned before the end; None: it does not matter."""
        if self.until is None or self.takes_held:
            return None
        if self.is_plain:
            return or_(Node.closes_at.is_(None), Node.closes_at >= self.until)
        return or_(Node.closes_at.is_(None), ~closed_by_hold(self.settings, self.until))

    def clauses(self) -> list[ColumnElement[bool]]:
        """Return both conditions."""
        stays = self.stays_open()
        return [self.is_open()] if stays is None else [self.is_open(), stays]

    def gap(self) -> ColumnElement[float]:
        """SQL: when the next booking of a node begins, by which gaps are compared; NULL: there is none."""
        after = BOOKED.c.node_id == Node.id, COUNTS, BOOKED.c.starts_at >= (self.until or statement_epoch())
        first: ColumnElement[float] = (
            select(BOOKED.c.starts_at - turnaround_of(self.settings))
            .where(*after)
            .order_by(BOOKED.c.starts_at)
            .limit(1)
        ).scalar_subquery()
        return first
