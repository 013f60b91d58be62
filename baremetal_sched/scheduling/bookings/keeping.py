"""When bookings are looked at: after a commit that changed one of their machines, and in the sweep.

The sweep finds those about which something is due: an end, a start, an interval before the end; at each sweep a booking
that is short, or has a claimed machine that does not satisfy it any more, each of the others once an hour. Now and then
it also finds what no commit has told: those with a machine that SQL knows to be lost, or with fewer machines than they
say. Any conductor does it. A booking that is slow or broken keeps no other waiting.
"""

import random
import time
from collections.abc import Collection, Iterable, Mapping
from functools import partial

import structlog
from sqlalchemy import ColumnElement, Connection, case, delete, func, or_, select, union
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.db.clock import statement_epoch
from baremetal_sched.db.models import Booking, Node, table_of
from baremetal_sched.db.transaction import Database
from baremetal_sched.db.types import Query
from baremetal_sched.errors import SchedulerError
from baremetal_sched.placement.freed import FreedMachines
from baremetal_sched.scheduling.bookings import lost_machines, replacing
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Seconds that one sweep takes at most, and that one booking may take of it.
_SECONDS, _OF_ONE = 5.0, 2.0
#: The most bookings of one sweep, and of one look after a commit.
_MOST, _FEW = 5000, 20
#: The rank of bookings that are running and short, in the order of a sweep.
_SHORT = 1
#: How many bookings that were over long ago are deleted in one transaction.
_AT_ONCE = 500

_BOOKINGS = table_of(Booking)

#: There is a booking; there is something to be done about one.
ANY: Query = select(Booking.id).where(~Booking.is_over).limit(1)
DUE: Query = select(Booking.id).where(Booking.due_at <= statement_epoch()).limit(1)

#: SQL condition: the booking has lost machines since it was last told how many it lacks.
_HAS_FEWER = (
    select(func.count()).where(BOOKED.c.booking_id == Booking.id).scalar_subquery() < Booking.count - Booking.short_told
)


def sweep(database: Database, settings: Settings, *, only_due: bool = False) -> None:
    """Look at the bookings about which there is something to do: first those that are over, which free machines, then
    those that are running and short, the oldest start first, and the others in random order. Delete those that were
    over 30 days ago. ``only_due``: machines that are lost, and that no commit has told, are not looked for. Raises the
    errors of the database."""
    until = time.monotonic() + _SECONDS
    for each in database.read(partial(_due, settings=settings, only_due=only_due)):
        if time.monotonic() > until:
            break
        _keep(database, settings, each, time.monotonic() + _OF_ONE)
    while database.change(_delete_old) == _AT_ONCE and time.monotonic() <= until:
        pass


def _due(session: Session, settings: Settings, only_due: bool) -> list[int]:
    """SELECT id, … FROM bookings WHERE NOT is_over AND due_at <= now, or
    SELECT … JOIN (SELECT id FROM bookings WHERE NOT is_over AND (due_at <= now OR <it has fewer machines than it says>)
    UNION SELECT … <with a lost machine>) ON …"""
    now = statement_epoch()
    is_short = (Booking.short_told > 0) & (Booking.starts_at <= now)
    rank = case((Booking.ends_at <= now, 0), (is_short, _SHORT), else_=2)
    query = select(Booking.id, rank, Booking.starts_at).where(~Booking.is_over)
    if only_due:
        query = query.where(Booking.due_at <= now)
    else:
        is_due = select(Booking.id).where(~Booking.is_over, or_(Booking.due_at <= now, _HAS_FEWER))
        found = union(is_due, lost_machines.bookings_that_lose(settings)).subquery()
        query = query.join(found, found.c[0] == Booking.id)
    rows = [*session.execute(query)]
    random.shuffle(rows)
    rows.sort(key=lambda row: (row[1], row[2] if row[1] == _SHORT else 0.0))
    return [row[0] for row in rows[:_MOST]]


def _delete_old(connection: Connection) -> int:
    """DELETE FROM bookings WHERE is_over AND due_at <= now, some of them; return how many."""
    is_old = select(_BOOKINGS.c.id).where(_BOOKINGS.c.is_over, _BOOKINGS.c.due_at <= statement_epoch())
    ids = connection.scalars(is_old.limit(_AT_ONCE)).all()
    if ids:
        connection.execute(delete(_BOOKINGS).where(_BOOKINGS.c.id.in_(ids)))
    return len(ids)


def _keep(database: Database, settings: Settings, booking: int, deadline: float | None) -> None:
    try:
        database.write(partial(replacing.keep, settings=settings, booking_id=booking), deadline=deadline)
    except SchedulerError as error:
        log.warning("a booking is left to the next sweep", booking=booking, reason=str(error))
    except Exception:  # the others must not wait for it
        log.exception("a booking is left to the next sweep", booking=booking)


# -- after a commit ----------------------------------------------------------------------------------------------------


def look_after(database: Database, settings: Settings, nodes: Collection[str], deadline: float | None) -> None:
    """Look at the bookings of machines (UUIDs of nodes) that a transaction has changed, after its commit, until
    ``deadline``: the first ones to begin, if there are many. Nothing is locked for those in which nothing is to be
    done. Raises the errors of the database; the rest is left to the sweep, and so is what one booking fails with."""
    for each in database.read(partial(_concerned, settings=settings, nodes=nodes), deadline=deadline):
        _keep(database, settings, each, deadline)


def _concerned(session: Session, settings: Settings, nodes: Collection[str]) -> list[int]:
    """Return the bookings (ids) with one of the machines that lack one now, or will when it is given back, or have
    just lost one that is deleted."""
    ids = session.scalars(select(Node.id).where(Node.uuid.in_(nodes))).all()
    mine: ColumnElement[bool] = Booking.id.in_(select(BOOKED.c.booking_id).where(BOOKED.c.node_id.in_(ids)))
    mine = mine if len(ids) == len(nodes) else or_(mine, _HAS_FEWER)
    found = session.scalars(select(Booking).where(~Booking.is_over, mine).order_by(Booking.starts_at).limit(_FEW)).all()
    return [each.id for each in found if each.short_told or _lacks(session, settings, each)]


def _lacks(session: Session, settings: Settings, booking: Booking) -> bool:
    try:
        machines = lost_machines.look(session, settings, booking)
        return machines.lacking(booking) > 0 or lost_machines.will_lose(session, settings, booking, machines)
    except SchedulerError as error:
        log.info("a booking cannot be looked at now", booking=booking.uuid, reason=str(error))
        return False


# -- what is freed -----------------------------------------------------------------------------------------------------


def short_now(connection: Connection, classes: Iterable[str]) -> list[tuple[int, str]]:
    """Return the running bookings (ids) of these classes that lack machines, and their classes, the oldest start first:
    freed machines are theirs before they are given to requests that wait.

    SELECT id, resource_class FROM bookings WHERE NOT is_over AND due_at <= now AND short_told > 0 AND <it is running> …
    """
    now = statement_epoch()
    # One that is short is due: few rows of the index are read.
    is_due = ~Booking.is_over, Booking.due_at <= now, Booking.short_told > 0
    runs = Booking.starts_at <= now, Booking.ends_at > now, Booking.resource_class.in_([*classes])
    query = select(Booking.id, Booking.resource_class).where(*is_due, *runs)
    return [(row[0], row[1]) for row in connection.execute(query.order_by(Booking.starts_at, Booking.id))]


def bookings_first(connection: Connection, machines: Mapping[int, str]) -> dict[int, str]:
    """Return those of freed machines (their classes, by ids of providers) whose class no running booking lacks: the
    others are offered to these bookings first, after the commit (``serve_first``)."""
    short = {name for _, name in short_now(connection, machines.values())} if machines else set()
    return {provider: name for provider, name in machines.items() if name not in short}


def serve_first(
    database: Database, settings: Settings, freed: FreedMachines, changed: Collection[str], deadline: float | None
) -> bool:
    """Look at the bookings of machines that a transaction has ``changed`` (UUIDs of nodes), and give machines that it
    has freed, and for which requests wait, to running bookings that are short of them; return whether there are any of
    either. Raises the errors of the database."""
    if changed:
        look_after(database, settings, changed, deadline)
    classes = {*freed.wanted.values(), *freed.gathered.values()}
    find = partial(short_now, classes=classes)
    short = database.select(find, deadline=deadline) if classes else ()
    for booking, _ in short:
        _keep(database, settings, booking, deadline)
    return bool(changed or short)
