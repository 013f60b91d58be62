"""Claims of the scheduling API: a machine is chosen and claimed in one transaction, now or when one is free."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.bookings import use
from baremetal_sched.baremetal.bookings.times import NOBODY
from baremetal_sched.baremetal.matching.request import Amounts, Host, MachineContext
from baremetal_sched.baremetal.matching.spreading import SEVERAL, Several
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Allocation, Consumer, GroupMember, Node, WaitingRequest
from baremetal_sched.db.types import AnyRow
from baremetal_sched.errors.placement import TAKEN_MEANWHILE, ConsumerConflict, ConsumerWaits, NoAllocations
from baremetal_sched.errors.scheduling import (
    ClaimDiffers,
    ClaimElsewhere,
    ClaimNotFound,
    ConsumerInUse,
    UuidTaken,
)
from baremetal_sched.placement import allocations, ending, ends, waiting_requests
from baremetal_sched.placement.consumers import RESERVED, ConsumerWrite, amounts_held_by, belongs_to_kind
from baremetal_sched.placement.ending import STATE_NOW
from baremetal_sched.placement.events import RELEASED
from baremetal_sched.placement.names import resource_class_of
from baremetal_sched.placement.waiting_requests import (
    CLAIM,
    CLAIMED,
    FAILED,
    TIMED_OUT,
    UNDECIDED,
    WAITING,
    NewWaitingRequest,
)
from baremetal_sched.scheduling import machine_groups
from baremetal_sched.scheduling.machine_groups import ClaimedMachine, GroupClaim
from baremetal_sched.scheduling.queue import place_of, places_of, request_of
from baremetal_sched.scheduling.schemas.answers import document
from baremetal_sched.scheduling.schemas.claims import CLAIM_MEMBERS
from baremetal_sched.scheduling.schemas.claims import STATES as STATES
from baremetal_sched.settings import Settings


@dataclass(frozen=True)
class NewClaim(GroupClaim):
    """The requested claim and its consumer. ``digest`` identifies the whole body."""

    digest: str
    priority: int = 0

    def waiting_request(
        self,
        resource_class: str,
        seconds: float = 0,
        reason: str | None = None,
        group_id: int | None = None,
    ) -> NewWaitingRequest:
        """Return the claim as a row of the queue of the class (empty if it does not wait)."""
        return NewWaitingRequest(
            uuid=self.uuid,
            kind=CLAIM,
            resource_class=resource_class,
            request=self.request.document(),
            project=self.project,
            user=self.user,
            seconds=seconds,
            consumer_type=self.consumer_type,
            body_digest=self.digest,
            reason=reason,
            needed_trait=self.request.needed_trait(),
            priority=self.priority,
            gathers=self.request.several is not None,
            group_id=group_id,
            end=self.end,
        )


def existing(session: Session, uuid: str, digest: str, project: str) -> WaitingRequest | None:
    """Return the claim that the same body has made, or None. Raises ClaimDiffers; UuidTaken if another project has the
    UUID."""
    found = waiting_requests.find(session, uuid)
    if found is not None and found.body_digest != digest:
        raise ClaimDiffers(claim=uuid) if found.consumer_project == project else UuidTaken(uuid=uuid)
    return found


def claim_now(session: Session, new: NewClaim, settings: Settings) -> "ClaimStatus | None":
    """Claim a machine that is free now, or several, and return the claim; None if nothing fits.

    Raises ConsumerInUse, the errors of ``choose`` of the request, and StaleDataError if it loses a race.
    """
    context = MachineContext(session, settings, end=new.end)
    if new.request.several is not None:
        return _claim_several(context, new, new.request.several)
    host = new.request.choose(context)
    if host is not None:
        chosen: Amounts | None = host.claim
    else:  # a booking has machines only
        chosen = new.request.other_providers(context) if context.own == NOBODY else None
    if chosen is None:
        return None
    try:
        write = ConsumerWrite(new.uuid, chosen, new.project, new.user, None, end=new.end)
        write.calendars = {} if host is None else host.calendars
        _write(session, write, new.consumer_type)
    except (ConsumerConflict, ConsumerWaits) as error:
        raise ConsumerInUse(consumer=new.uuid) from error
    resource_class = "" if host is None else resource_class_of(host.node.resource_class or "")
    claimed = waiting_requests.enter_claimed(session, new.waiting_request(resource_class))
    given = ending.given(session, new.uuid, new.end)
    booking = use.uuids(session, [claimed.booking_id]).get(claimed.booking_id)
    return ClaimStatus(claimed, CLAIMED, chosen, None, _only(claimed, chosen), given, booking)


def _claim_several(context: MachineContext, new: NewClaim, several: Several) -> "ClaimStatus | None":
    chosen = machine_groups.choose(context, new.request, several, new.project)
    if chosen is None:
        return None
    machine_groups.write(context.session, new, chosen)
    row = new.waiting_request(new.request.machine_class())
    claimed = waiting_requests.enter_claimed(context.session, row)
    (status,) = statuses_of(context.session, [claimed], may_end=new.end is not None)
    return status


def wait(session: Session, new: NewClaim, seconds: float, reason: str, settings: Settings) -> WaitingRequest:
    """Enter the claim into the queue. Raises CannotWait, ConsumerInUse, and the errors of
    ``waiting_requests.enter``."""
    group_id, several = None, new.request.several
    if several is not None:
        group = machine_groups.find(session, new.project, several, lock=True)
        group_id = machine_groups.join(session, new.project, machine_groups.now(session, several, group), group)
    row = new.waiting_request(new.request.machine_class(), seconds, reason, group_id)
    try:
        return waiting_requests.enter(session, row, most=settings.scheduling.most_waiting)
    except UuidTaken as error:
        raise ConsumerInUse(consumer=new.uuid) from error


def give(context: MachineContext, claim: WaitingRequest, node: Node) -> bool:
    """Claim the node (its row locked), which may fit, for a waiting claim (its row locked); return whether it fits."""
    request = request_of(claim.request)
    host: Host | None = Host(node, {node.uuid: {claim.resource_class: 1}})
    if node.closes_at is not None or not request.is_decided():
        alone = request.on(node.uuid)
        host = None if alone is None else alone.choose(context)
    if host is None:
        return False
    write = ConsumerWrite(
        claim.uuid, host.claim, claim.consumer_project, claim.consumer_user, RESERVED, end=context.end
    )
    write.calendars = host.calendars
    _write(context.session, write, claim.consumer_type)
    waiting_requests.decide(context.session, claim, CLAIMED)
    return True


def leave_out(context: MachineContext, claim: WaitingRequest, node: str, reason: str) -> None:
    """End a claim (its row locked) that cannot be served. Claims wait for no other node."""
    end(context, claim, FAILED, reason)


def end(context: MachineContext, claim: WaitingRequest, state: str, reason: str) -> None:
    """End a claim that waited in vain (its row locked): TIMED_OUT or FAILED."""
    waiting_requests.decide(context.session, claim, state, reason)


def _write(session: Session, request: ConsumerWrite, consumer_type: str | None) -> None:
    request.kind = CLAIM
    if consumer_type is not None:
        request.consumer_type = consumer_type
    try:
        allocations.write(session, [request], "Unable to allocate:")
    except TAKEN_MEANWHILE as error:
        raise StaleDataError("a part of the claim has just been taken") from error


# -- what clients see --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClaimStatus:
    """A claim as it is now: ``state`` is derived from its deadline and from the consumer's allocations.

    ``allocations`` are amounts by class by provider; ``position`` is None unless it waits. ``machines``: those of a
    claim of several that it has now. ``ends``: their ends (with ``STATE_NOW``), the earliest first. ``booking``: the
    booking (a UUID) under which it claims; None: under none, or it is gone. ``planned_start`` and ``planned_reason``:
    see ``planning.seen``.
    """

    claim: WaitingRequest
    state: str
    allocations: Mapping[str, Mapping[str, int]]
    position: int | None
    machines: Sequence[ClaimedMachine] = ()
    ends: Sequence[AnyRow] = ()
    booking: str | None = None
    planned_start: float | None = None
    planned_reason: str | None = None

    def end_members(self) -> dict[str, Any]:
        """Return the members of the document that say how it ends: of several machines, those of the earliest end."""
        late = next((each for each in self.ends if each.state_now == ends.LATE), None)
        until, lasts = (self.claim.ends_at, self.claim.lasts) if self.state == WAITING else (None, None)
        states = [each.state_now for each in self.ends] or ([] if (until, lasts) == (None, None) else [ends.SET])
        return {
            "until": self.ends[0].ends_at if self.ends else until,
            "for": lasts,
            "end": max(states, key=ends.STATES.index, default=None),
            "late_since": late and late.late_since,
            "late_reason": late and late.reason,
            "booking": self.booking,
        }


def show(session: Session, uuid: str) -> ClaimStatus:
    """Return the claim with this UUID, also if an allocation or a server waits under it. Raises ClaimNotFound."""
    claim = waiting_requests.find(session, uuid)
    if claim is None:
        raise ClaimNotFound(claim=uuid)
    (status,) = statuses_of(session, [claim])
    return status


def statuses_of(session: Session, requests: Sequence[WaitingRequest], *, may_end: bool = True) -> list[ClaimStatus]:
    """Return claims as they are now. ``may_end``: whether one may have an end."""
    several = [claim.uuid for claim in requests if claim.state == CLAIMED and SEVERAL in claim.request]
    single = [claim.uuid for claim in requests if claim.state == CLAIMED and SEVERAL not in claim.request]
    held = amounts_held_by(session, single, CLAIM) if single else {}
    machines = machine_groups.machines_of(session, several)
    held |= {uuid: _merged(found) for uuid, found in machines.items()}
    waiting = [claim for claim in requests if claim.state in UNDECIDED]
    now = session.scalar(select(epoch())) or 0.0 if waiting else 0.0
    booked = use.uuids(session, [claim.booking_id for claim in requests])
    if len(waiting) == 1:
        places = {waiting[0].id: place_of(session, waiting[0])}
    else:
        places = places_of(session, waiting) if waiting else {}
    machines = {claim.uuid: machines.get(claim.uuid) or _only(claim, held.get(claim.uuid)) for claim in requests}
    found: dict[str, AnyRow] = {}
    if may_end and held:
        found |= ends.of_consumers(session, [uuid for uuid in single if uuid in held], STATE_NOW) if single else {}
        found |= ends.of_consumers(session, machine_groups.consumers_of(several), STATE_NOW) if several else {}
    return [
        ClaimStatus(
            claim,
            state,
            held.get(claim.uuid, {}),
            places.get(claim.id) if state == WAITING else None,
            machines[claim.uuid],
            _earliest_first(found, machines[claim.uuid]),
            booked.get(claim.booking_id),
        )
        for claim in requests
        for state in [state_of(claim, now, is_held=claim.uuid in held)]
    ]


def _earliest_first(found: Mapping[str, AnyRow], machines: Iterable[ClaimedMachine]) -> list[AnyRow]:
    """Return the ends, by their consumers' UUIDs, of machines."""
    own = (found[each.consumer] for each in machines if each.consumer in found)
    return sorted(own, key=lambda end: (end.ends_at, end.consumer_id))


def _only(claim: WaitingRequest, held: Amounts | None) -> list[ClaimedMachine]:
    return [ClaimedMachine(1, claim.uuid, held)] if held else []


def _merged(machines: Iterable[ClaimedMachine]) -> Amounts:
    return {provider: amounts for machine in machines for provider, amounts in machine.amounts.items()}


def state_of(claim: WaitingRequest, now: float, *, is_held: bool) -> str:
    """Return the state of a claim at ``now``: after its deadline it does not wait, even if its row still says so."""
    if claim.state in UNDECIDED:
        return TIMED_OUT if claim.deadline <= now else WAITING
    return RELEASED if claim.state == CLAIMED and not is_held else claim.state


def in_state(state: str) -> ColumnElement[bool]:
    """Return the SQL condition that a claim is in this state now, as ``state_of`` derives it."""
    has_it = select(Consumer.id).join(Allocation, Allocation.consumer_id == Consumer.id)
    of_several = has_it.join(GroupMember, GroupMember.consumer_id == Consumer.id)
    is_held = or_(
        has_it.where(Consumer.uuid == WaitingRequest.uuid, belongs_to_kind(CLAIM)).exists(),
        of_several.where(GroupMember.claim == WaitingRequest.uuid, belongs_to_kind(CLAIM)).exists(),
    )
    if state == WAITING:
        return waiting_requests.IS_WAITING
    if state == TIMED_OUT:
        return or_(WaitingRequest.state == TIMED_OUT, waiting_requests.IS_OVERDUE)
    if state in (CLAIMED, RELEASED):
        return and_(WaitingRequest.state == CLAIMED, is_held if state == CLAIMED else ~is_held)
    return WaitingRequest.state == state


def withdraw(session: Session, claim: WaitingRequest) -> None:
    """Delete a claim, and give back the allocations that it was given. Others that its consumer has got through the
    placement API stay. Raises ClaimElsewhere if the UUID is that of an allocation or a server."""
    if claim.kind != CLAIM:
        raise ClaimElsewhere(claim=claim.uuid, kind=claim.kind)
    waiting_requests.leave(session, claim.uuid)
    if claim.state != CLAIMED:
        return
    if SEVERAL in claim.request:
        machine_groups.release(session, claim.uuid)
        return
    with suppress(NoAllocations):
        allocations.release_given(session, claim.uuid, CLAIM)


def document_of(status: ClaimStatus) -> dict[str, Any]:
    """Return the claim as JSON."""
    claim = status.claim
    return document(
        CLAIM_MEMBERS,
        claim,
        state=status.state,
        position=status.position,
        allocations={uuid: {"resources": dict(amounts)} for uuid, amounts in status.allocations.items()},
        count=claim.request.get(SEVERAL, {}).get("count", 1),
        **status.end_members(),
        resource_class=claim.machine_class,
        machines=[each.document(claim.machine_class) for each in status.machines],
        planned_start=status.planned_start,
        planned_reason=status.planned_reason,
        consumer={
            "uuid": claim.uuid,
            "project_id": claim.consumer_project,
            "user_id": claim.consumer_user,
            "type": claim.consumer_type,
        },
    )
