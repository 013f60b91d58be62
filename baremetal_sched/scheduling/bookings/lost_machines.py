"""Which machines of bookings can no longer be had, by what is known now.

A machine that is claimed under its booking is never lost. Of the others SQL tells which are out of use, in use past the
start, or held (``is_lost``), for all bookings at once. Whether a machine still satisfies the request, and is in a
domain that ``spread`` and ``pack`` allow, is asked for one booking at a time.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import case, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.baremetal.matching.conditions import Kind
from baremetal_sched.baremetal.matching.earliest import read
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.provider.availability import with_ends, with_provider
from baremetal_sched.baremetal.provider.blocked_times import is_lost
from baremetal_sched.db.models import Booking, Node, table_of
from baremetal_sched.db.types import Query
from baremetal_sched.placement.tables import CLAIM_ENDS
from baremetal_sched.scheduling.bookings import choosing
from baremetal_sched.scheduling.queue import request_of
from baremetal_sched.settings import Settings

#: The machine is claimed under the booking, in a row of ``_machines``.
_IS_USED = case((CLAIM_ENDS.c.booking_id == BOOKED.c.booking_id, 1), else_=0)


@dataclass(frozen=True)
class Machines:
    """The machines of a booking, by ids of nodes: ``used`` are claimed under it, the ``good`` others can be had.
    ``lost`` ones cannot be had now, but satisfy the request; ``unfit`` ones do not, or are in the wrong domain."""

    used: frozenset[int]
    good: frozenset[int]
    lost: frozenset[int]
    unfit: frozenset[int]

    @property
    def stay(self) -> frozenset[int]:
        """Those that can be had."""
        return self.used | self.good

    def lacking(self, booking: Booking) -> int:
        """Return how many machines the booking lacks."""
        return max(booking.count - len(self.stay), 0)


def _machines() -> Any:
    """The machines of bookings, with their providers, inventories, and the ends of their consumers."""
    return with_ends(with_provider(BOOKED.join(table_of(Node), Node.id == BOOKED.c.node_id)))


def bookings_that_lose(settings: Settings) -> Query:
    """Return the query of the bookings (ids) with a machine that SQL knows to be lost.

    SELECT b.booking_id FROM booked_machines b JOIN nodes n ON … <with providers, inventories and ends>
    WHERE b.booking_id IS NOT NULL AND <nobody has claimed it under the booking> AND <it is lost>
    """
    lost = is_lost(settings, BOOKED.c.starts_at, BOOKED.c.ends_at)
    own = BOOKED.c.booking_id.is_not(None), _IS_USED == 0
    query: Query = select(BOOKED.c.booking_id).select_from(_machines()).where(*own, lost)
    return query


def look(session: Session, settings: Settings, booking: Booking) -> Machines:
    """Return what is known of the machines of a booking now. Raises BadQuery if its request cannot be read."""
    lost = case((is_lost(settings, BOOKED.c.starts_at, BOOKED.c.ends_at), 1), else_=0)
    own = select(BOOKED.c.node_id, _IS_USED, lost).select_from(_machines()).where(BOOKED.c.booking_id == booking.id)
    rows = session.execute(own).all()
    used = {node for node, is_used, _ in rows if is_used}
    gone = {node for node, _, is_gone in rows if is_gone} - used
    others = {node for node, *_ in rows} - used
    fitting = _fitting(session, settings, request_of(booking.request), used, others - gone, gone) if others else set()
    return Machines(frozenset(used), frozenset(fitting - gone), frozenset(fitting & gone), frozenset(others - fitting))


def will_lose(session: Session, settings: Settings, booking: Booking, machines: Machines) -> bool:
    """Return whether a machine that is claimed under the booking does not satisfy its request any more: it is lost when
    it is given back, which no commit tells of. Raises BadQuery if the request cannot be read."""
    used = machines.used
    return bool(used) and len(_fitting(session, settings, request_of(booking.request), (), used, ())) < len(used)


def _fitting(
    session: Session,
    settings: Settings,
    request: MachineRequest,
    used: Collection[int],
    good: Collection[int],
    gone: Collection[int],
) -> set[int]:
    """Return those of machines (ids of nodes) that satisfy the request, free or not, where they are beside those that
    are ``used``: first the ``good`` ones, then those that are ``gone``.

    SELECT n.id, pack.domain_id, spread.domain_id FROM <nodes, providers, inventories>
    WHERE n.id IN (…) AND <each condition of the request>
    """
    question, several = choosing.fitting(MachineContext(session, settings), request), request.several or Several(1)
    met = [each.holds for each in question.conditions if each.counts and each.kind is Kind.REQUEST]
    own: Query = select(Node.id).select_from(question.source).where(Node.id.in_([*good, *gone]), *question.where, *met)
    rows = [row[:3] for row in read(session, own, question, several)]
    rows.sort(key=lambda row: (row[0] in gone, row[0]))
    stay = [place for place, number in choosing.places_of(session, several, used).items() for _ in range(number)]
    return _together(several, stay, rows)


def _together(several: Several, stay: Sequence[Any], rows: Sequence[Any]) -> set[int]:
    """Return those of the machines (rows of id, and domains of pack and spread) that can be kept beside the places that
    ``stay``: in the domain of most of them, and the first ones for which there is room."""
    if several.pack_by is not None:
        packs = Counter([place[0] for place in stay] or [row[1] for row in rows if row[1] is not None])
        home = max(packs, key=lambda each: packs[each], default=None)
        rows = [row for row in rows if row[1] is not None and row[1] == home]
    if several.spread_by is None:
        return {row[0] for row in rows}
    taken, kept = Counter(place[1] for place in stay), set[int]()
    for node, _, domain in rows:
        if domain is not None and taken[domain] < (several.at_most or 1):
            taken[domain] += 1
            kept.add(node)
    return kept
