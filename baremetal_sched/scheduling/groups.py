"""Conductor groups: their conductors, alive or not, the rings of each, and how many nodes each conductor owns."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from sqlalchemy import and_, func, select

from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.baremetal.conductors.ownership import NO_MEMBERS, LiveMembers, Membership
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.db.models import Conductor, ConductorInterface, Node
from baremetal_sched.db.types import Reader
from baremetal_sched.hashring import Arc, ring_of
from baremetal_sched.settings import Settings

#: How many rows are held at a time while nodes are counted by their owners.
_CHUNK = 5000


@dataclass
class Ring:
    """The nodes of one conductor group that have one driver, and the conductors that serve them.

    ``nodes`` is how many nodes there are, ``owned`` how many of them each live conductor (host name) owns. ``dead``
    are conductors that would be on the ring if they were alive.
    """

    driver: str
    alive: frozenset[str]
    dead: frozenset[str] = frozenset()
    nodes: int = 0
    owned: dict[str, int] = field(default_factory=dict)
    exponent: int = 5

    def arcs(self) -> list[Arc]:
        """Return the ring of the live conductors, from 0 to 1; empty without any."""
        return ring_of(self.alive, self.exponent).arcs() if self.alive else []

    def arcs_if_all_lived(self) -> list[Arc]:
        """Return the ring as it would be with the dead conductors; empty without conductors."""
        hosts = self.alive | self.dead
        return ring_of(hosts, self.exponent).arcs() if hosts else []

    def shares(self) -> dict[str, float]:
        """Return the fraction of the ring that each conductor has, 0 for a dead one."""
        shares = dict.fromkeys(sorted(self.alive | self.dead), 0.0)
        return {**shares, **(ring_of(self.alive, self.exponent).shares() if self.alive else {})}


@dataclass
class GroupConductor:
    """A conductor, the conductor ``group`` that it is registered in, and the drivers that it serves.

    ``nodes`` is how many nodes it owns of the group that is shown.
    """

    hostname: str
    group: str
    is_alive: bool
    drivers: list[str]
    nodes: int = 0


@dataclass
class ConductorGroup:
    """A conductor group, by name in lower case ("" is that of nodes in no group).

    ``conductors`` are registered in it; while a release without groups is in the fleet, also others that
    own nodes of the group. ``unserved`` is how many nodes have no owner.
    """

    name: str
    nodes: int = 0
    unserved: int = 0
    conductors: list[GroupConductor] = field(default_factory=list)
    rings: list[Ring] = field(default_factory=list)

    @property
    def alive(self) -> int:
        """How many of the conductors are alive."""
        return sum(conductor.is_alive for conductor in self.conductors)


def list_groups(
    reader: Reader,
    settings: Settings,
    visible: Visibility = EVERYTHING,
    *,
    group: str | None = None,
    with_owners: bool = True,
) -> list[ConductorGroup]:
    """Return the conductor groups, sorted by name, or just the one called ``group`` (letter case aside).

    Visible nodes are counted. Groups without any are returned only if everything is ``visible``. Without
    ``with_owners`` the nodes of each conductor are not counted: these figures are 0.

    Three statements, or two if no ring has more than one conductor; the last one reads the UUIDs of the nodes.
    """
    group = None if group is None else group.lower()
    members, registered = _registered(reader, settings)
    counts = _counts(reader, visible, group)
    if visible.everything:
        of_group = [each for each in registered if group in (None, each.group)]
        counts = {(each.group, driver): 0 for each in of_group for driver in each.drivers} | counts
    else:
        of_group = []
    groups = {
        name: ConductorGroup(name) for name in sorted({each.group for each in of_group} | {name for name, _ in counts})
    }
    for name, driver in sorted(counts):
        groups[name].rings.append(_ring(members, registered, name, driver, counts[name, driver]))
    if with_owners:
        _count_owned(reader, groups, visible)
    for conductor_group in groups.values():
        conductor_group.nodes = sum(ring.nodes for ring in conductor_group.rings)
        conductor_group.unserved = sum(ring.nodes for ring in conductor_group.rings if not ring.alive)
        _enter_conductors(conductor_group, registered)
    return list(groups.values())


def _registered(reader: Reader, settings: Settings) -> tuple[Membership, list[GroupConductor]]:
    """Return which conductors are alive, and all conductors, at one moment.

    SELECT c.hostname, c.conductor_group, <alive>, i.hardware_type, (<the live ones>) FROM conductors c LEFT JOIN
    conductor_interfaces i ON i.conductor_id = c.id AND i.interface_type = 'power' AND i.is_default
    """
    live = LiveMembers.of(settings)
    columns = {column.name: column for column in conductors.columns(live.timeout)}
    default_power = and_(
        ConductorInterface.conductor_id == Conductor.id,
        ConductorInterface.interface_type == "power",
        ConductorInterface.is_default,
    )
    rows = reader.execute(
        select(
            columns["hostname"],
            columns["conductor_group"],
            columns["alive"],
            ConductorInterface.hardware_type,
            live.column.label("members"),
        )
        .join_from(Conductor, ConductorInterface, default_power, isouter=True)
        .order_by(Conductor.hostname, ConductorInterface.hardware_type)
    ).all()
    registered: dict[str, GroupConductor] = {}
    for hostname, group, is_alive, driver, _ in rows:
        conductor = registered.setdefault(hostname, GroupConductor(hostname, group.lower(), bool(is_alive), []))
        conductor.drivers += [] if driver is None else [driver]
    return live.read(rows[0].members) if rows else NO_MEMBERS, list(registered.values())


def _counts(reader: Reader, visible: Visibility, group: str | None) -> dict[tuple[str, str], int]:
    """Return how many visible nodes there are, by conductor group and driver.

    SELECT conductor_group, driver, count(*) FROM nodes WHERE … GROUP BY conductor_group, driver
    """
    query = select(Node.conductor_group, Node.driver, func.count()).where(*visible.conditions())
    if group is not None:
        query = query.where(Node.conductor_group == group)
    rows = reader.execute(query.group_by(Node.conductor_group, Node.driver)).all()
    return {(name, driver): count for name, driver, count in rows}


def _ring(members: Membership, registered: Iterable[GroupConductor], group: str, driver: str, nodes: int) -> Ring:
    dead = frozenset(
        each.hostname
        for each in registered
        if not each.is_alive and driver in each.drivers and (each.group == group or not members.grouped)
    )
    return Ring(driver, members.serving(group, driver), dead, nodes, exponent=members.exponent)


def _count_owned(reader: Reader, groups: dict[str, ConductorGroup], visible: Visibility) -> None:
    """Count the nodes by owners, in the rings. A sole conductor owns all; for others the UUIDs are read, once.

    SELECT conductor_group, driver, uuid FROM nodes WHERE conductor_group IN (…) AND driver IN (…) AND …
    """
    shared: dict[tuple[str, str], Ring] = {}
    for name, group in groups.items():
        for ring in group.rings:
            ring.owned = dict.fromkeys(sorted(ring.alive), ring.nodes if len(ring.alive) == 1 else 0)
            if len(ring.alive) > 1 and ring.nodes:
                shared[name, ring.driver] = ring
    if not shared:
        return
    owners = {key: ring_of(ring.alive, ring.exponent).owner for key, ring in shared.items()}
    for ring in shared.values():
        # Nodes may have come or gone since they were counted.
        ring.nodes = 0
    query = select(Node.conductor_group, Node.driver, Node.uuid).where(
        Node.conductor_group.in_(sorted({name for name, _ in shared})),
        Node.driver.in_(sorted({driver for _, driver in shared})),
        *visible.conditions(),
    )
    for rows in reader.execute(query).partitions(_CHUNK):
        for name, driver, uuid in rows:
            if (name, driver) in shared:
                ring = shared[name, driver]
                ring.nodes += 1
                ring.owned[owners[name, driver](uuid)] += 1


def _enter_conductors(group: ConductorGroup, registered: Iterable[GroupConductor]) -> None:
    for each in registered:
        owned = sum(ring.owned.get(each.hostname, 0) for ring in group.rings)
        if each.group == group.name or owned:
            group.conductors.append(replace(each, nodes=owned))
