"""What machines are used for, and will be, as the rows of the database say: what is wrong with it, in plain Python."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from sqlalchemy import Connection, select

from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import BookedMachine, Booking, ClaimEnd, Domain, DomainMember, Hold, Node, NodeTrait
from baremetal_sched.machines import states
from baremetal_sched.placement.ends import SET
from baremetal_sched.placement.tables import ALLOCATIONS, CONSUMERS, PROVIDERS
from tests.functional.scheduling.laboratory import Use

_FOREVER = float("inf")
#: Seconds after a use, by class.
TURNAROUND = {"gold": 0.0, "silver": 1800.0}

#: A condition on where several machines are.
_Placed = Mapping[str, Any]


@dataclass
class Machine:
    """A node. ``claim``: the row of who has it. ``booked``: its rows of bookings. ``held``: when holds keep it."""

    row: Any
    traits: set[str] = field(default_factory=set)
    rack: str | None = None
    claim: Any = None
    booked: list[Any] = field(default_factory=list)
    held: list[tuple[float, float]] = field(default_factory=list)

    @property
    def turnaround(self) -> float:
        """Seconds after a use."""
        return TURNAROUND[self.row.resource_class]

    def fits(self, asked: Mapping[str, Any]) -> bool:
        """Whether it is a machine that was asked for."""
        return self.row.resource_class == asked["resource_class"] and self.traits >= {*asked.get("traits", ())}

    def is_clear(self, starts_at: float, ends_at: float, own: int | None = None) -> bool:
        """Whether a use leaves its bookings, except that of ``own``."""
        return all(
            ends_at + self.turnaround <= each.starts_at or each.ends_at + each.turnaround <= starts_at
            for each in self.booked
            if each.booking_id != own
        )

    def can_be_had(self, now: float, starts_at: float, ends_at: float, own: int | None = None) -> bool:
        """Whether it can be had from one moment until another, by its claim, its holds and its bookings but ``own``."""
        if self.row.provision_state != states.AVAILABLE or not self.is_clear(starts_at, ends_at, own):
            return False
        if any(begin < ends_at and starts_at < end for begin, end in self.held):
            return False
        if self.claim is None:
            return True
        comes = self.claim.state == SET and self.claim.ends_at + self.turnaround <= starts_at
        return comes and starts_at > now


class BookedRows:
    """The rows at one moment. ``asked``: the bodies that asked for bookings and claims, by UUID."""

    def __init__(self, connection: Connection, asked: Mapping[str, Mapping[str, Any]]) -> None:
        self._asked = asked
        self.now: float = connection.execute(select(epoch())).scalar_one()
        columns = Node.id, Node.uuid, Node.resource_class, Node.provision_state, Node.reservation
        self.machines = {row.id: Machine(row) for row in connection.execute(select(*columns))}
        for node, trait in connection.execute(select(NodeTrait.node_id, NodeTrait.trait)):
            self.machines[node].traits.add(trait)
        rack = select(DomainMember.node_id, Domain.name).join(Domain, Domain.id == DomainMember.domain_id)
        for node, name in connection.execute(rack.where(DomainMember.level == "rack")):
            self.machines[node].rack = name
        for row in connection.execute(select(Hold.__table__)):
            begin = row.begun_at or row.starts_at or row.asserted_at
            self.machines[row.node_id].held.append((begin, row.ends_at or _FOREVER))
        for row in connection.execute(select(BookedMachine.__table__).order_by(BookedMachine.starts_at)):
            self.machines[row.node_id].booked.append(row)
        self.bookings = {row.uuid: row for row in connection.execute(select(Booking.__table__))}
        self.claims = self._read_claims(connection)

    def _read_claims(self, connection: Connection) -> dict[str, Any]:
        ends = (ClaimEnd.began_at, ClaimEnd.ends_at, ClaimEnd.state, ClaimEnd.booking_id)
        query = (
            select(Node.id.label("node"), CONSUMERS.c.uuid, *ends, Booking.uuid.label("booking"))
            .join_from(ALLOCATIONS, PROVIDERS, PROVIDERS.c.id == ALLOCATIONS.c.provider_id)
            .join(Node, Node.uuid == PROVIDERS.c.uuid)
            .join(CONSUMERS, CONSUMERS.c.id == ALLOCATIONS.c.consumer_id)
            .outerjoin(ClaimEnd, ClaimEnd.consumer_id == CONSUMERS.c.id)
            .outerjoin(Booking, Booking.id == ClaimEnd.booking_id)
        )
        found = {}
        for row in connection.execute(query):
            self.machines[row.node].claim = found[row.uuid] = row
        return found

    def of_booking(self, uuid: str) -> Sequence[Any]:
        """Return what a booking says, and its machines."""
        row = self.bookings.get(uuid)
        if row is None:
            return ()
        machines = [(node, booked.starts_at, booked.ends_at) for node, booked in self._machines_of(row.id)]
        return row.starts_at, row.ends_at, row.count, machines

    def _machines_of(self, booking: int) -> list[tuple[int, Any]]:
        every = ((node, each) for node, machine in self.machines.items() for each in machine.booked)
        return [(node, each) for node, each in every if each.booking_id == booking]

    # -- what is wrong -------------------------------------------------------------------------------------------------

    def wrong(self) -> Iterator[Any]:
        """Yield two uses of a machine at one moment, and bookings that are short in vain."""
        for machine in self.machines.values():
            yield from self._overlaps(machine)
        for row in self.bookings.values():
            if not row.is_over and self.now < row.ends_at:
                yield from self._short_in_vain(row)

    def _overlaps(self, machine: Machine) -> Iterator[Any]:
        for one, other in combinations(machine.booked, 2):
            if other.starts_at < one.ends_at + one.turnaround:
                yield one, other, "two bookings of a machine at one moment"
        claim = machine.claim
        if claim is None or claim.state not in (None, SET):
            return  # nobody has it, or it is late
        ends_at = _FOREVER if claim.ends_at is None else claim.ends_at + machine.turnaround
        for each in machine.booked:
            if each.booking_id != claim.booking_id and each.starts_at < ends_at and self.now < each.ends_at:
                yield claim, each, "is used by others while it is booked"

    def _short_in_vain(self, row: Any) -> Iterator[Any]:
        """Yield a booking that lacks machines while a machine can be had that it could have with those that stay."""
        asked, placed = self._asked[row.uuid], _placed(self._asked[row.uuid])
        starts_at = max(self.now, row.starts_at)
        own = [node for node, _ in self._machines_of(row.id)]
        stay = [node for node in own if self._stays(self.machines[node], row, asked, starts_at)]
        lacking = row.count - len(stay)
        others = [
            node
            for node, machine in self.machines.items()
            if node not in own and machine.fits(asked) and machine.can_be_had(self.now, starts_at, row.ends_at)
        ]
        if lacking <= 0:
            return
        least = 1 if stay or "pack" not in placed else lacking
        for more in combinations(others, least):
            if self._are_placed([*stay, *more], placed):
                yield row, stay, more, "is short, and could have these"
                return

    def _stays(self, machine: Machine, row: Any, asked: Mapping[str, Any], starts_at: float) -> bool:
        """Whether a booking keeps a machine: it is claimed under it, or can be had for the rest of it."""
        if machine.claim is not None and machine.claim.booking_id == row.id:
            return True
        return machine.fits(asked) and machine.can_be_had(self.now, starts_at, row.ends_at, row.id)

    def _are_placed(self, nodes: Sequence[int], placed: _Placed) -> bool:
        racks = [self.machines[node].rack for node in nodes]
        if not placed:
            return True
        if None in racks:
            return False
        return len({*racks}) == (1 if "pack" in placed else len(racks))

    def free_for(self, asked: Mapping[str, Any], use: Use) -> list[int]:
        """Return the machines that a request which waits for one could have now."""
        lasts = _FOREVER if use.until is None and use.seconds is None else use.seconds
        ends_at = use.until if lasts is None else self.now + lasts
        booking = self.bookings.get(asked.get("booking", ""))
        found = []
        for node, machine in self.machines.items():
            is_free = machine.claim is None and machine.row.reservation is None
            is_held = any(begin <= self.now < end for begin, end in machine.held)
            if not is_free or is_held or not machine.fits(asked) or machine.row.provision_state != states.AVAILABLE:
                continue
            if "booking" not in asked:
                found += [node] * machine.is_clear(self.now, ends_at or 0.0)
            elif booking is not None and booking.starts_at <= self.now < booking.ends_at:
                found += [node] * any(each.booking_id == booking.id for each in machine.booked)
        return found


def _placed(asked: Mapping[str, Any]) -> _Placed:
    return {name: asked[name] for name in ("spread", "pack") if name in asked}
