"""Machine groups, and the claims of several machines that fill them.

A machine group is a name in a project, how its machines are spread, and where they are now.

A group is gone with its last machine and its last waiting request; its row is swept later. Its machines are those that
the consumers of its claims have now, until the claim is deleted: then what a consumer has got elsewhere is its own. A
claim for a group locks the row before all else, so claims of one group follow each other.

A claim of several gets all of its machines or none: each machine has a consumer of its own, and all are claimed in one
transaction. Order of locks: the machine group, nodes in the order of their ids, their inventories, the waiting request,
consumers.
"""

import uuid as uuid_module
from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, and_, delete, exists, insert, or_, select, update
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.baremetal.matching.request import Amounts, Host, MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.several import choose_many, count_places
from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.provider import booked_machines
from baremetal_sched.db import schema_state
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.compiled import insert_if_missing
from baremetal_sched.db.models import Allocation, Consumer, GroupMember, MachineGroup, Node, WaitingRequest, table_of
from baremetal_sched.db.types import Query
from baremetal_sched.errors.placement import TAKEN_MEANWHILE, ConsumerConflict, ConsumerWaits, NoAllocations
from baremetal_sched.errors.scheduling import ConsumerInUse, GroupDiffers, GroupsNotServed
from baremetal_sched.placement import allocations, ends, gate, waiting_requests
from baremetal_sched.placement.consumers import ConsumerWrite, amounts_held_by
from baremetal_sched.placement.ends import End
from baremetal_sched.placement.tables import GROUP_MEMBERS, PROVIDERS
from baremetal_sched.placement.waiting_requests import CLAIM, IS_GATHERING
from baremetal_sched.scheduling import plans
from baremetal_sched.settings import Settings

#: The schema of the first release that knows groups of machines.
FIRST_REVISION = "0028"

Request = TypeVar("Request", bound=MachineRequest)

#: How many groups that are gone are deleted at once.
_AT_ONCE = 100


def require_served(session: Session) -> None:
    """Raise GroupsNotServed while a release that knows no machine groups may serve the database."""
    if not schema_state.has_finished(session.connection(), FIRST_REVISION):
        raise GroupsNotServed


def find(session: Session, project: str, several: Several, *, lock: bool) -> MachineGroup | None:
    """Return the group that the request names, None if it names none or there is no row; with ``lock`` its row is
    locked until the transaction ends. Raises GroupDiffers if it has other rules than the request."""
    if several.group is None:
        return None
    named = MachineGroup.project == project, MachineGroup.name == several.group
    if lock:  # by a write, since on a cluster locks are not seen elsewhere
        grown = update(MachineGroup).where(*named).values(revision=MachineGroup.revision + 1)
        session.execute(grown.execution_options(synchronize_session=False))
    group = session.scalars(select(MachineGroup).where(*named).execution_options(populate_existing=lock)).first()
    asks = several.spread_by or several.pack_by
    if group is not None and asks and several.rules != _rules(group) and not _is_gone(session, group):
        raise GroupDiffers(group=group.name, rules=_described(group))
    return group


def now(session: Session, several: Several, group: MachineGroup | None, *, names_nodes: bool = False) -> Several:
    """Return what a request asks for by the rules of its machine group, unless that is gone, and where the group's
    machines are now, with ``names_nodes`` also which nodes they are.

    Where they are: SELECT … FROM group_members m JOIN pending_claims c ON c.uuid = m.claim JOIN allocations a ON
    a.consumer_id = m.consumer_id JOIN resource_providers p ON p.id = a.provider_id AND p.mirrored_class_id =
    a.resource_class_id JOIN nodes n ON n.uuid = p.uuid … WHERE m.group_id = … (as ``count_places`` counts)
    """
    if group is None or _is_gone(session, group):
        return several
    spread_by, at_most, pack_by = _rules(group)
    several = replace(several, spread_by=spread_by, at_most=at_most, pack_by=pack_by)
    nodes = _nodes(GroupMember.group_id == group.id)
    own = session.scalars(nodes).all() if names_nodes else ()
    return replace(several, held=count_places(session, nodes, several), own=own)


def asked(session: Session, project: str, request: Request, *, names_nodes: bool = False) -> Request:
    """Return a request of the project with its group as it is now. Nothing is locked. Raises GroupDiffers."""
    several = request.several
    if several is None:
        return request
    group = find(session, project, several, lock=False)
    return replace(request, several=now(session, several, group, names_nodes=names_nodes))


def join(session: Session, project: str, several: Several, group: MachineGroup | None) -> int | None:
    """Return the id of the group (its row locked, None if there is no row) that the request joins: it is made, or made
    again, if it is missing or gone. None if the request names no group."""
    if several.group is None:
        return None
    values = {"spread_by": several.spread_by, "at_most": several.at_most, "pack_by": several.pack_by}
    if group is None:
        row = {"project": project, "name": several.group, "revision": 1, "created_at": utcnow(), **values}
        made = insert_if_missing(session.connection(), table_of(MachineGroup), row)
        if made is None:
            raise StaleDataError("the group was made")
        return made
    if several.rules != _rules(group):
        group.spread_by, group.at_most, group.pack_by = several.rules
    return group.id


def _nodes(*conditions: ColumnElement[bool]) -> Query:
    """Return the query of the nodes that the consumers have whose rows of ``group_members`` meet the conditions."""
    of_class = PROVIDERS.c.mirrored_class_id == Allocation.resource_class_id
    provider = and_(PROVIDERS.c.id == Allocation.provider_id, of_class)
    return (
        select(Node.id)
        .select_from(GroupMember)
        .join(WaitingRequest, WaitingRequest.uuid == GroupMember.claim)
        .join(Allocation, Allocation.consumer_id == GroupMember.consumer_id)
        .join(PROVIDERS, provider)
        .join(Node, Node.uuid == PROVIDERS.c.uuid)
        .where(*conditions)
    )


def _rules(group: MachineGroup) -> tuple[str | None, int | None, str | None]:
    return group.spread_by, group.at_most, group.pack_by


def _described(group: MachineGroup) -> str:
    rules = [] if group.spread_by is None else [f"spread by {group.spread_by}, at most {group.at_most}"]
    return (
        " and ".join([*rules, *([] if group.pack_by is None else [f"packed by {group.pack_by}"])])
        or "neither spread nor packed"
    )


def _is_gone(session: Session, group: MachineGroup) -> bool:
    return session.scalar(select(_IS_USED).where(MachineGroup.id == group.id)) is not True


_IS_USED = or_(
    _nodes(GroupMember.group_id == MachineGroup.id).correlate(MachineGroup).exists(),
    exists().where(IS_GATHERING, WaitingRequest.group_id == MachineGroup.id),
)


def sweep(session: Session) -> None:
    """Delete the rows of groups that are gone. Rows that others have locked are left to the next sweep."""
    gone = session.scalars(select(MachineGroup.id).where(~_IS_USED).limit(_AT_ONCE)).all()
    if not gone:
        return
    locked = select(MachineGroup.id).where(MachineGroup.id.in_(gone)).order_by(MachineGroup.id)
    free = session.scalars(locked.with_for_update(skip_locked=True)).all()
    # With their rows locked no claim can join them.
    still = session.scalars(select(MachineGroup.id).where(MachineGroup.id.in_(free), ~_IS_USED)).all()
    leave = update(GroupMember).where(GroupMember.group_id.in_(still)).values(group_id=None)
    session.execute(leave.execution_options(synchronize_session=False))
    session.execute(delete(MachineGroup).where(MachineGroup.id.in_(still)))


# -- claims of several -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GroupClaim:
    """A claim for a project and a user, with its end."""

    uuid: str
    request: MachineRequest
    project: str
    user: str
    consumer_type: str | None
    end: End | None

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

    If the context has a plan, that ends: its machines are open. Raises GroupsNotServed, GroupDiffers, and the errors of
    ``choose_many``.
    """
    require_served(context.session)
    group = find(context.session, project, several, lock=True)
    if context.plan is not None:
        booked_machines.drop(context.session, context.settings, BOOKED.c.waiting_id == context.plan)
    asked = now(context.session, several, group)
    hosts = choose_many(context, replace(request, several=asked))
    return None if hosts is None else ChosenMachines(hosts, asked, group)


def write(session: Session, claim: GroupClaim, chosen: ChosenMachines) -> None:
    """Claim the chosen machines, all with the same end. Raises ConsumerInUse, StaleDataError if it loses a race."""
    end = ends.at_once(session, claim.end)
    writes = [
        ConsumerWrite(
            claim.consumer(number),
            host.claim,
            claim.project,
            claim.user,
            None,
            kind=CLAIM,
            end=end,
            calendars=host.calendars,
        )
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
    group_id = join(session, claim.project, chosen.several, chosen.group)
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
    context = MachineContext(session, settings).of_waiting(waiting)
    if plans.are_made(settings) and plans.planned(session, [waiting.id]):
        context = replace(context, plan=waiting.id)
    chosen = _chosen(context, request, request.several, waiting.consumer_project)
    if chosen is None:
        return False
    waiting_requests.decide_gathering(session, waiting)
    if context.plan is not None:
        plans.ended(session, waiting.resource_class, [waiting.id])
    owner = (waiting.consumer_project, waiting.consumer_user, waiting.consumer_type)
    write(session, GroupClaim(uuid, request, *owner, context.end), chosen)
    return True


def _chosen(context: MachineContext, request: MachineRequest, several: Several, project: str) -> ChosenMachines | None:
    """Return what ``choose`` does; if that is nothing, the plan of the context stays."""
    if context.plan is None:
        return choose(context, request, several, project)
    savepoint = context.session.begin_nested()
    chosen = choose(context, request, several, project)
    (savepoint.rollback if chosen is None else savepoint.commit)()
    return chosen


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
    own = consumers_of(claims)
    held = amounts_held_by(session, own, CLAIM)
    members = own.with_only_columns(GroupMember.claim, GroupMember.number, Consumer.uuid)
    machines = defaultdict[str, list[ClaimedMachine]](list)
    for claim, number, consumer in session.execute(members.order_by(GroupMember.claim, GroupMember.number)):
        if consumer in held:
            machines[claim].append(ClaimedMachine(number, consumer, held[consumer]))
    return machines


def consumers_of(claims: Collection[str]) -> Query:
    """Return the query of the consumers (UUIDs) of claims of several machines."""
    own = select(Consumer.uuid).join(GroupMember, GroupMember.consumer_id == Consumer.id)
    return own.where(GroupMember.claim.in_(claims))


def release(session: Session, claim: str) -> None:
    """Give back the machines of a claim that it was given, in the order of their numbers, which is that of the nodes'
    ids. What its consumers have got since through the placement API stays."""
    for machine in machines_of(session, [claim])[claim]:
        with suppress(NoAllocations):
            allocations.release_given(session, machine.consumer, CLAIM)
    # These consumers have left the machine group.
    gate.left_groups(session, GROUP_MEMBERS.c.claim == claim)
