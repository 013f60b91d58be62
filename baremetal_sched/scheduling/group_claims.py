"""Claims of several machines, all or none: each machine has a consumer of its own, and all are claimed in one
transaction.

Order of locks: the machine group, nodes in the order of their ids, their inventories, the waiting request, consumers.
"""

import uuid as uuid_module
from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.matching.request import Amounts, Host, MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.several import choose_many
from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.db.models import Consumer, GroupMember, MachineGroup, WaitingRequest, table_of
from baremetal_sched.errors.placement import TAKEN_MEANWHILE, ConsumerConflict, ConsumerWaits, NoAllocations
from baremetal_sched.errors.scheduling import ConsumerInUse
from baremetal_sched.placement import allocations, gate, waiting_requests
from baremetal_sched.placement.consumers import ConsumerWrite, amounts_held_by
from baremetal_sched.placement.tables import GROUP_MEMBERS
from baremetal_sched.placement.waiting_requests import CLAIM, IS_GATHERING
from baremetal_sched.scheduling import machine_groups
from baremetal_sched.settings import Settings


@dataclass(frozen=True)
class GroupClaim:
    """A claim for a project and a user."""

    uuid: str
    request: MachineRequest
    project: str
    user: str
    consumer_type: str | None

    def consumer(self, number: int) -> str:
        """Return the UUID of the consumer of the machine with this number, from 1: always the same."""
        return str(uuid_module.uuid5(uuid_module.UUID(self.uuid), str(number)))


@dataclass(frozen=True)
class ChosenMachines:
    """The machines of a claim, locked, and the row of its machine group, locked, if there is one."""

    hosts: Sequence[Host]
    several: Several
    group: MachineGroup | None


def choose(context: MachineContext, request: MachineRequest, several: Several, project: str) -> ChosenMachines | None:
    """Lock the machine group, and machines that satisfy the request; None if no choice does.

    Raises GroupsNotServed, GroupDiffers, and the errors of ``choose_many``.
    """
    machine_groups.require_served(context.session)
    group = machine_groups.find(context.session, project, several, lock=True)
    asked = machine_groups.now(context.session, several, group)
    hosts = choose_many(context, replace(request, several=asked))
    return None if hosts is None else ChosenMachines(hosts, asked, group)


def write(session: Session, claim: GroupClaim, chosen: ChosenMachines) -> None:
    """Claim the chosen machines. Raises ConsumerInUse, StaleDataError if it loses a race."""
    writes = [
        ConsumerWrite(claim.consumer(number), host.claim, claim.project, claim.user, None, kind=CLAIM)
        for number, host in enumerate(chosen.hosts, 1)
    ]
    for each in writes:
        if claim.consumer_type is not None:
            each.consumer_type = claim.consumer_type
    try:
        allocations.write(session, writes, "Unable to allocate:")
    except (ConsumerConflict, ConsumerWaits) as error:
        raise ConsumerInUse(consumer=error.details["consumer"]) from error
    except TAKEN_MEANWHILE as error:
        raise StaleDataError("a part of the claim was taken") from error
    group_id = machine_groups.join(session, claim.project, chosen.several, chosen.group)
    named = select(Consumer.uuid, Consumer.id).where(Consumer.uuid.in_([each.uuid for each in writes]))
    ids = {uuid: row_id for uuid, row_id in session.execute(named)}
    common = {"claim": claim.uuid, "group_id": group_id}
    rows = [{"consumer_id": ids[each.uuid], "number": number, **common} for number, each in enumerate(writes, 1)]
    session.connection().execute(insert(table_of(GroupMember)), rows)


def serve(session: Session, settings: Settings, uuid: str, request: MachineRequest) -> bool:
    """Claim machines for a claim that waits, whose ``request`` has a group, if enough are free; return whether they
    were. Raises like ``choose`` and ``write``; StaleDataError if it no longer waits."""
    waiting = session.scalars(select(WaitingRequest).where(WaitingRequest.uuid == uuid, IS_GATHERING)).first()
    if waiting is None or request.several is None:
        return False
    chosen = choose(MachineContext(session, settings), request, request.several, waiting.consumer_project)
    if chosen is None:
        return False
    waiting_requests.decide_gathering(session, waiting)
    owner = (waiting.consumer_project, waiting.consumer_user, waiting.consumer_type)
    write(session, GroupClaim(uuid, request, *owner), chosen)
    return True


# -- what a claim has --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClaimedMachine:
    """A machine of a claim, by its number from 1: its consumer (UUID), and the amounts that this has."""

    number: int
    consumer: str
    amounts: Amounts

    def document(self, resource_class: str) -> dict[str, Any]:
        """Return it as JSON. The node is the provider of the class."""
        nodes = [uuid for uuid, amounts in self.amounts.items() if resource_class in amounts]
        return {"number": self.number, "consumer": self.consumer, "node": next(iter(nodes), None)}


def machines_of(session: Session, claims: Collection[str]) -> dict[str, list[ClaimedMachine]]:
    """Return the machines that claims (UUIDs) have now, in order."""
    if not claims:
        return {}
    own = select(Consumer.uuid).join(GroupMember, GroupMember.consumer_id == Consumer.id)
    own = own.where(GroupMember.claim.in_(claims))
    held = amounts_held_by(session, own, CLAIM)
    members = own.with_only_columns(GroupMember.claim, GroupMember.number, Consumer.uuid)
    machines = defaultdict[str, list[ClaimedMachine]](list)
    for claim, number, consumer in session.execute(members.order_by(GroupMember.claim, GroupMember.number)):
        if consumer in held:
            machines[claim].append(ClaimedMachine(number, consumer, held[consumer]))
    return machines


def release(session: Session, claim: str) -> None:
    """Give back the machines of a claim that it was given, in the order of their numbers, which is that of the nodes'
    ids. What its consumers have got since through the placement API stays."""
    for machine in machines_of(session, [claim])[claim]:
        with suppress(NoAllocations):
            allocations.release_given(session, machine.consumer, CLAIM)
    # These consumers have left the machine group.
    gate.left_groups(session, GROUP_MEMBERS.c.claim == claim)
