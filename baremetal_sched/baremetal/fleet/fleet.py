"""The fleet in numbers, for people who look at it: nodes by state, conductor groups and who serves them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Integer, cast, func, select

from baremetal_sched.baremetal.conductors.ownership import Membership, alive
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.models import Conductor, Node
from baremetal_sched.db.transaction import Reader


class StateCount(NamedTuple):
    """How many nodes are in a provision state, and how many of these are in maintenance."""

    provision_state: str
    nodes: int
    in_maintenance: int


def count_states(reader: Reader, visible: Visibility) -> list[StateCount]:
    """Return the states that visible nodes are in, the most frequent first.

    SELECT provision_state, count(*), sum(maintenance) FROM nodes GROUP BY provision_state
    """
    counts = (func.count(), func.sum(cast(Node.maintenance, Integer)))
    query = select(Node.provision_state, *counts).where(*visible.conditions()).group_by(Node.provision_state)
    found = [StateCount(state, nodes, int(resting)) for state, nodes, resting in reader.execute(query)]
    return sorted(found, key=lambda each: (-each.nodes, each.provision_state))


@dataclass
class GroupCount:
    """A conductor group: its nodes, those of them that no live conductor serves, and the drivers of these."""

    name: str
    nodes: int = 0
    unserved: int = 0
    unserved_drivers: tuple[str, ...] = ()


def count_groups(reader: Reader, membership: Membership, visible: Visibility) -> list[GroupCount]:
    """Return the conductor groups of visible nodes, those with most nodes that nothing serves first.

    SELECT conductor_group, driver, count(*) FROM nodes GROUP BY conductor_group, driver
    """
    columns = (Node.conductor_group, Node.driver)
    query = select(*columns, func.count()).where(*visible.conditions()).group_by(*columns).order_by(*columns)
    found: dict[str, GroupCount] = {}
    for name, driver, nodes in reader.execute(query):
        group = found.setdefault(name, GroupCount(name))
        group.nodes += nodes
        if not membership.is_served(name, driver):
            group.unserved += nodes
            group.unserved_drivers = (*group.unserved_drivers, driver)
    return sorted(found.values(), key=lambda each: (-each.unserved, each.name))


class ConductorCount(NamedTuple):
    """How many conductors are registered, and how many of them are alive."""

    registered: int
    alive: int


def count_conductors(reader: Reader, timeout: float) -> ConductorCount:
    """Return the numbers of conductors; one is alive that has sent a heartbeat within ``timeout`` seconds."""
    row = reader.execute(select(func.count(), func.sum(cast(alive(timeout), Integer))).select_from(Conductor)).one()
    return ConductorCount(row[0], int(row[1] or 0))


def total(counts: Iterable[StateCount]) -> int:
    """Return how many nodes were counted."""
    return sum(each.nodes for each in counts)
