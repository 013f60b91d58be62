"""Servers from before custom resource classes: their own flavors get the class of their node, and they get their claim.

An old server is on a node, and its own copy of the flavor names no custom class; or it does not hold its node in
placement. So is the instance of a node that was adopted, about which nothing else is known. For each of them, in one
transaction:

- ``resources:CUSTOM_X=1`` is added to its own flavor, X being the class of its node. A key that is there is kept,
  whatever its value; other keys stay as they are, and so does the flavor that others share.
- Of its node it holds 1 of CUSTOM_X afterwards, and nothing else. (Nodes have no VCPU, MEMORY_MB or DISK_GB.)

Each transaction is about one node and is complete, so a migration can be interrupted and repeated at any moment.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched import commands
from baremetal_sched.baremetal.conductors.ownership import live_members
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.provider import projection
from baremetal_sched.compute.flavors.resource_request import groups_of
from baremetal_sched.compute.hosts import occupancy
from baremetal_sched.compute.hosts.booting import CONSUMER_TYPE
from baremetal_sched.compute.hosts.occupancy import Occupancy
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, Server
from baremetal_sched.db.transaction import Database
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import SchedulerError, UnavailableError
from baremetal_sched.errors.baremetal import NodeNotFound
from baremetal_sched.placement import allocations as claims
from baremetal_sched.placement import consumers, projected
from baremetal_sched.placement.consumers import ConsumerWrite, Unset
from baremetal_sched.placement.names import resource_class_of
from baremetal_sched.settings import Settings

#: How many nodes are read at a time.
_PAGE = 500


class MigrationVerdict(Enum):
    """The result of examining an occupied node."""

    DONE = "done"
    OLD = "old"
    MIGRATED = "migrated"
    NO_CLASS = "no class"
    OTHER_CLASS = "other class"
    SEVERAL = "several"
    FAILED = "failed"


@dataclass(frozen=True)
class MigrationFinding:
    """A verdict on a node and the instance on it (UUIDs), in words."""

    verdict: MigrationVerdict
    node: str
    instance: str
    message: str

    def __str__(self) -> str:
        return f"node {self.node}, server {self.instance}: {self.message}"


@dataclass(frozen=True)
class ServerSelection:
    """Which nodes are looked at: those of a conductor (host name), one (UUID or name), both, or all.

    ``resource_class``: the class that they must have, as a node has it or as placement has it.
    """

    host: str | None = None
    node: str | None = None
    resource_class: str | None = None


def survey(database: Database, settings: Settings, selection: ServerSelection) -> Iterator[MigrationFinding]:
    """Yield the finding on each selected occupied node, and change nothing.

    Raises what the database raises.
    """
    for found in _pages(database, settings, selection):
        for occupied in found:
            yield judge(occupied, selection.resource_class)


def migrate(
    database: Database,
    settings: Settings,
    selection: ServerSelection,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Iterator[MigrationFinding]:
    """Migrate the unmigrated instances of the selection, and yield the result of each occupied node, as soon as it is
    known.

    It ends between two nodes when ``is_stopped`` returns true. Raises the errors of the database: then it is to be
    repeated.
    """
    for occupancies in _pages(database, settings, selection):
        for occupied in occupancies:
            if is_stopped():
                return
            finding = judge(occupied, selection.resource_class)
            yield (
                _migrate(database, settings, selection, occupied)
                if finding.verdict is MigrationVerdict.OLD
                else finding
            )


def is_there(database: Database, settings: Settings, selection: ServerSelection) -> bool:
    """Return whether the selection names what exists: a live conductor, a node (of that conductor), any node."""
    return database.read(lambda session: _is_there(session, settings, selection))


def _is_there(session: Session, settings: Settings, selection: ServerSelection) -> bool:
    membership = live_members(session, settings)
    if selection.node is not None:
        try:
            node = nodes.find(session, selection.node)
        except NodeNotFound:
            return False
        return selection.host in (None, membership.owner(node.uuid, node.conductor_group, node.driver))
    if selection.host is not None:
        return any(selection.host in hosts for hosts in membership.members.values())
    return session.scalar(select(Node.id).limit(1)) is not None


def _pages(database: Database, settings: Settings, selection: ServerSelection) -> Iterator[list[Occupancy]]:
    after = 0
    while True:
        last, found = database.read(partial(_page, settings=settings, selection=selection, after=after))
        yield found
        if last is None:
            return
        after = last


def _page(
    session: Session, settings: Settings, selection: ServerSelection, after: int
) -> tuple[int | None, list[Occupancy]]:
    """Return the id of the last node that was read, None if there are no more, and the selected nodes among them."""
    uuid = canonical_uuid(selection.node) if selection.node else None
    by_node = [] if selection.node is None else [Node.uuid == uuid if uuid else Node.name == selection.node]
    found = occupancy.find(session, Node.id > after, *by_node, limit=_PAGE)
    last = found[-1].node_id if len(found) == _PAGE else None
    if selection.host is None:
        return last, found
    membership = live_members(session, settings)
    return last, [occupied for occupied in found if membership.owner(*occupied.place) == selection.host]


def judge(occupied: Occupancy, required_class: str | None = None) -> MigrationFinding:
    """Return the finding about an occupied node; ``required_class`` is the class that it must have."""

    def finding(verdict: MigrationVerdict, message: str) -> MigrationFinding:
        return MigrationFinding(verdict, occupied.node, occupied.instance, message)

    if occupied.others:
        others = ", ".join(occupied.others)
        return finding(MigrationVerdict.SEVERAL, f"there is more than one server on the node: {others} holds it too.")
    if occupied.resource_class is None:
        return finding(
            MigrationVerdict.NO_CLASS,
            "the node has no resource class. Set it, and repeat this: " + commands.SET_CLASS.of(node=occupied.node),
        )
    if required_class is not None and occupied.resource_class not in _spellings(required_class):
        return finding(MigrationVerdict.OTHER_CLASS, f"the class of the node is {occupied.resource_class}.")
    missing = _missing(occupied)
    if not missing:
        return finding(MigrationVerdict.DONE, "there is nothing to do.")
    return finding(MigrationVerdict.OLD, f"{' and '.join(missing)}.")


def _spellings(required_class: str) -> tuple[str, ...]:
    """Names in placement that ``required_class`` may stand for: of a node's class, or as it is."""
    return (resource_class_of(required_class), required_class)


def _missing(occupied: Occupancy) -> list[str]:
    missing = []
    if _lacks_class(occupied):
        missing.append(f"its flavor lacks {key_of(occupied)}")
    if not occupied.is_held:
        missing.append(f"it does not hold {occupied.resource_class}=1 of the node")
    return missing


def key_of(occupied: Occupancy) -> str:
    """Return the extra spec for the class of the node, which has one."""
    return f"resources:{occupied.resource_class}"


def _lacks_class(occupied: Occupancy) -> bool:
    """Return whether the class must be added to the server's own flavor.

    A server that holds its node and names other custom classes was booted here: the machine completed what it asks for.
    """
    if occupied.extra_specs is None or key_of(occupied) in occupied.extra_specs:
        return False
    named = {name for group in groups_of(occupied.extra_specs).values() for name in group.resources}
    if occupied.resource_class in named:
        return False
    return not (occupied.is_held and any(name.startswith("CUSTOM_") for name in named))


# -- one node ----------------------------------------------------------------------------------------------------------


def _migrate(database: Database, settings: Settings, selection: ServerSelection, seen: Occupancy) -> MigrationFinding:
    work = partial(migrate_node, settings=settings, node_id=seen.node_id, required_class=selection.resource_class)
    try:
        finding = database.write(work)
    except UnavailableError:
        raise
    except SchedulerError as error:
        return MigrationFinding(MigrationVerdict.FAILED, seen.node, seen.instance, f"it cannot be migrated: {error}")
    # It may have been deleted since it was seen.
    return finding or MigrationFinding(MigrationVerdict.DONE, seen.node, seen.instance, "the server is gone.")


def migrate_node(
    session: Session, settings: Settings, node_id: int, required_class: str | None
) -> MigrationFinding | None:
    """Migrate the instance on a node if that is necessary; None if it is gone.

    Raises the errors of ``placement.allocations.write`` if its other allocations are no longer possible.
    """
    # The node's row first, then the server's, as everywhere.
    node = session.scalars(select(Node).where(Node.id == node_id).with_for_update()).first()
    if node is None or node.instance_uuid is None:
        return None
    server = session.scalars(select(Server).where(Server.uuid == node.instance_uuid).with_for_update()).first()
    for occupied in occupancy.find(session, Node.id == node_id, limit=1):
        finding = judge(occupied, required_class)
        if finding.verdict is not MigrationVerdict.OLD:
            return finding
        return MigrationFinding(
            MigrationVerdict.MIGRATED, node.uuid, occupied.instance, _apply(session, settings, node, server, occupied)
        )
    return None


def _apply(session: Session, settings: Settings, node: Node, server: Server | None, occupied: Occupancy) -> str:
    done = []
    if server is not None and _lacks_class(occupied):
        key = key_of(occupied)
        server.flavor = {**server.flavor, "extra_specs": {**server.flavor["extra_specs"], key: "1"}}
        server.updated_at = utcnow()
        done.append(f"{key}=1 was added to its flavor")
    if not occupied.is_held:
        _claim(session, node, _claim_of(session, settings, node, server, occupied))
        done.append(f"it holds {occupied.resource_class}=1 of the node")
    return f"{' and '.join(done)}."


def _claim_of(
    session: Session, settings: Settings, node: Node, server: Server | None, occupied: Occupancy
) -> ConsumerWrite:
    """Return the claim that the instance is to have: 1 of the class of its node, and its allocations elsewhere."""
    amounts: dict[str, dict[str, int]] = {}
    held = consumers.held_by(session, occupied.instance)
    for row in held:
        if row.provider != node.uuid:
            amounts.setdefault(row.provider, {})[row.resource_class] = row.used
    amounts[node.uuid] = {occupied.resource_class or "": 1}
    if held:
        owner, generation = (held[0].project_id, held[0].user_id), Unset.ANY_GENERATION
        return ConsumerWrite(occupied.instance, amounts, *owner, generation)
    if server is not None:
        return ConsumerWrite(occupied.instance, amounts, server.project_id, server.user_id, None, CONSUMER_TYPE)
    owner = occupancy.owner_of(node, settings)
    return ConsumerWrite(occupied.instance, amounts, *owner, None, occupancy.CONSUMER_TYPE)


def _claim(session: Session, node: Node, request: ConsumerWrite) -> None:
    unit = projection.inventory_of(node)
    assert unit is not None  # noqa: S101 - it has a class
    # A node in use is not offered; to be booked it must be, within this transaction.
    projected.unreserve(session, node.uuid, unit)
    claims.write(session, [request], "Unable to allocate:")
    projection.project(session, node)
