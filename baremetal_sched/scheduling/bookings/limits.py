"""The limits of bookings: what a project may book, and how much of a class may be booked at once.

The sums are those of bookings that are planned or running. They are safe, because bookings of a class, and those of a
project, follow each other (``booked_machines.count_up``).
"""

from dataclasses import dataclass
from math import ceil, floor

from sqlalchemy import ColumnElement, Integer, func, literal, select, union_all
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import Window
from baremetal_sched.baremetal.provider.blocked_times import IS_LASTING
from baremetal_sched.db.clock import epoch, in_words
from baremetal_sched.db.models import Booking, Node, ResourceClass, table_of
from baremetal_sched.errors.scheduling import BookingLimit
from baremetal_sched.placement.tables import INVENTORIES, PROVIDERS
from baremetal_sched.settings import Settings

_BOOKINGS = table_of(Booking)

#: 0.29 * 100 is a little less than 29.
_ROUNDED = 1e-9

#: SQL condition on a booking: it is planned or running.
_COUNTS = (_BOOKINGS.c.is_over.is_(False), _BOOKINGS.c.ends_at > epoch())


@dataclass(frozen=True)
class Wanted:
    """What is to be booked: ``count`` machines of a class for a project. ``own``: the booking (an id) that is changed;
    None: it is a new one. ``is_noticed``: it must begin with notice."""

    project: str
    resource_class: str
    count: int
    window: Window
    own: int | None = None
    is_noticed: bool = True

    def others(self) -> tuple[ColumnElement[bool], ...]:
        """SQL conditions on other bookings that are planned or running."""
        return _COUNTS if self.own is None else (*_COUNTS, _BOOKINGS.c.id != self.own)


def require_within(session: Session, settings: Settings, wanted: Wanted, now: float) -> None:
    """Raise BookingLimit, which says what would be allowed, if a booking is beyond a limit of the settings.

    The rows of the class and the project are locked.
    """
    _require_times(settings, wanted, now)
    _require_of_project(session, settings, wanted)
    _require_share(session, settings, wanted)


def _require_times(settings: Settings, wanted: Wanted, now: float) -> None:
    options, window = settings.scheduling, wanted.window
    first, length = now + options.notice, options.longest_booking
    if wanted.is_noticed and window.starts_at < first:
        raise BookingLimit(
            reason=f"A booking can begin at {in_words(ceil(first))} at the earliest: {options.notice:.15g} s from now.",
            limit="notice",
            allowed=first,
        )
    if length and window.ends_at - window.starts_at > length:
        reason = f"A booking can last for {length:.15g} s at most, until {in_words(window.starts_at + length)}."
        raise BookingLimit(reason=reason, limit="longest_booking", allowed=window.starts_at + length)
    furthest = now + options.furthest_booking
    if options.furthest_booking and window.ends_at > furthest:
        reason = f"A booking must end by {in_words(furthest)}: {options.furthest_booking:.15g} s from now."
        raise BookingLimit(reason=reason, limit="furthest_booking", allowed=furthest)


def _require_of_project(session: Session, settings: Settings, wanted: Wanted) -> None:
    """SELECT count(*), sum(count * (ends_at - starts_at)) FROM bookings WHERE project = … AND <it counts>"""
    options = settings.scheduling
    seconds = func.sum(_BOOKINGS.c.count * (_BOOKINGS.c.ends_at - _BOOKINGS.c.starts_at))
    query = select(func.count(), func.coalesce(seconds, 0.0)).where(_BOOKINGS.c.project == wanted.project)
    number, booked = session.execute(query.where(*wanted.others())).one()
    if number >= options.most_bookings and wanted.own is None:
        reason = f"Project {wanted.project} has {number} bookings that are planned or running"
        raise BookingLimit(
            reason=f"{reason}; at most {options.most_bookings} are allowed.",
            limit="most_bookings",
            allowed=options.most_bookings,
        )
    own = wanted.count * (wanted.window.ends_at - wanted.window.starts_at)
    left = options.booked_hours - booked / 3600
    if options.booked_hours and own / 3600 > left:
        raise BookingLimit(
            reason=f"It takes {own / 3600:.1f} hours of machines, and project {wanted.project} may book "
            f"{max(left, 0):.1f} more.",
            limit="booked_hours",
            allowed=max(left, 0.0),
        )


def _require_share(session: Session, settings: Settings, wanted: Wanted) -> None:
    share, booked = settings.scheduling.most_booked, _most_at_once(session, wanted)
    if share >= 1:
        return
    needed = ceil((booked + wanted.count) / share) if share else None
    usable = _usable(session, wanted.resource_class, needed)
    allowed = floor(share * usable + _ROUNDED)
    if booked + wanted.count > allowed:
        raise BookingLimit(
            reason=f"Of {usable:,} machines of {wanted.resource_class} that can be used, {allowed:,} may be booked at "
            f"any moment, and up to {booked:,} are booked in that time: {max(allowed - booked, 0):,} are left.",
            limit="most_booked",
            allowed=max(allowed - booked, 0),
        )


def _most_at_once(session: Session, wanted: Wanted) -> int:
    """Return how many machines of the class other bookings have at most at one moment of the window.

    SELECT max(number) FROM (SELECT sum(more) OVER (ORDER BY at, more) AS number FROM (SELECT starts_at AS at, count AS
    more FROM bookings WHERE … UNION ALL SELECT ends_at, -count FROM bookings WHERE …))
    """
    window = wanted.window
    met = (
        *wanted.others(),
        _BOOKINGS.c.resource_class == wanted.resource_class,
        _BOOKINGS.c.starts_at < window.ends_at,
        _BOOKINGS.c.ends_at > window.starts_at,
    )
    begin = select(_BOOKINGS.c.starts_at.label("at"), _BOOKINGS.c.count.label("more")).where(*met)
    end = select(_BOOKINGS.c.ends_at, -_BOOKINGS.c.count).where(*met)
    changes = union_all(begin, end).subquery("changes")
    # In a moment that one ends and another begins, both do not count.
    number = func.sum(changes.c.more).over(order_by=[changes.c.at, changes.c.more])
    sums = select(number.label("number")).subquery("sums")
    return int(session.scalar(select(func.max(sums.c.number))) or 0)


def _usable(session: Session, resource_class: str, most: int | None) -> int:
    """Return how many machines of a class can be used, now or when they are free again: they are not retired, no parts
    of others, and in no state that only an operator ends. ``most``: more are not counted.

    SELECT count(*) FROM (SELECT 1 FROM inventories i JOIN resource_providers p … JOIN nodes n … WHERE … LIMIT …)
    """
    class_id = select(ResourceClass.id).where(ResourceClass.name == resource_class).scalar_subquery()
    found = (
        select(literal(1, Integer()).label("one"))
        .select_from(INVENTORIES)
        .join(PROVIDERS, PROVIDERS.c.id == INVENTORIES.c.provider_id)
        .join(Node, Node.uuid == PROVIDERS.c.uuid)
        .where(
            INVENTORIES.c.resource_class_id == class_id,
            PROVIDERS.c.mirrored_class_id == class_id,
            IS_LASTING,
        )
        .limit(most)
    )
    return session.scalar(select(func.count()).select_from(found.subquery("usable"))) or 0
