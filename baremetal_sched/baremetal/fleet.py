"""The fleet in numbers: for people who look at it, and for Prometheus."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from sqlalchemy import ColumnElement, Integer, cast, func, not_, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors.ownership import Membership, alive, live_members
from baremetal_sched.baremetal.matching.node_explanation import count_withheld
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.models import Conductor, Hold, Node, NodeWork
from baremetal_sched.db.types import Query, Reader
from baremetal_sched.placement.waiting_requests import IS_WAITING, MACHINE_CLASS
from baremetal_sched.settings import Settings

#: The number of resource classes with a series of their own of claims that wait.
MOST_CLASSES = 500


class StateCount(NamedTuple):
    """How many nodes are in a provision state, and how many of these are in maintenance, and have a fault."""

    provision_state: str
    nodes: int
    in_maintenance: int
    faulty: int


def count_states(reader: Reader, visible: Visibility) -> list[StateCount]:
    """Return the states that visible nodes are in, the most frequent first.

    SELECT provision_state, count(*), sum(maintenance), count(fault) FROM nodes GROUP BY provision_state
    """
    counts = (func.count(), func.sum(cast(Node.maintenance, Integer)), func.count(Node.fault))
    query = select(Node.provision_state, *counts).where(*visible.conditions()).group_by(Node.provision_state)
    found = [StateCount(state, nodes, int(resting), faulty) for state, nodes, resting, faulty in reader.execute(query)]
    return sorted(found, key=lambda each: (-each.nodes, each.provision_state))


@dataclass
class GroupCount:
    """A conductor group: its nodes, its nodes that no live conductor serves, and the drivers of the latter."""

    name: str
    nodes: int = 0
    unserved: int = 0
    unserved_drivers: tuple[str, ...] = ()


def count_groups(reader: Reader, membership: Membership, visible: Visibility) -> list[GroupCount]:
    """Return the conductor groups of visible nodes; groups with most nodes that no conductor serves come first.

    SELECT conductor_group, driver, count(*) FROM nodes GROUP BY conductor_group, driver
    """
    columns = (Node.conductor_group, Node.driver)
    query = select(*columns, func.count()).where(*visible.conditions()).group_by(*columns).order_by(*columns)
    groups: dict[str, GroupCount] = {}
    for name, driver, nodes in reader.execute(query):
        group = groups.setdefault(name, GroupCount(name))
        group.nodes += nodes
        if not membership.is_served(name, driver):
            group.unserved += nodes
            group.unserved_drivers = (*group.unserved_drivers, driver)
    return sorted(groups.values(), key=lambda each: (-each.unserved, each.name))


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


def figures(session: Session, settings: Settings) -> list[Metric]:
    """Nodes, conductors, work, and what was undone on providers, as they are now."""
    return [*_of_nodes(session, settings), *_of_conductors(session, settings), *_of_work(session)]


def _of_nodes(session: Session, settings: Settings) -> list[Metric]:
    nodes = GaugeMetricFamily("baremetal_sched_nodes", "Nodes.", labels=["provision_state"])
    for state, count in session.execute(select(Node.provision_state, func.count()).group_by(Node.provision_state)):
        nodes.add_metric([state], count)

    not_offered = GaugeMetricFamily(
        "baremetal_sched_available_nodes_not_offered",
        "Available nodes without an instance that placement does not offer, by the first reason.",
        labels=["reason"],
    )
    for reason, count in count_withheld(session).items():
        not_offered.add_metric([reason], count)

    unowned = select(func.count()).select_from(Node).where(not_(live_members(session, settings).served()))
    without = GaugeMetricFamily(
        "baremetal_sched_nodes_without_conductor",
        "Nodes whose group and driver no live conductor serves.",
        value=session.scalars(unowned).one(),
    )
    return [nodes, not_offered, without]


def _of_conductors(session: Session, settings: Settings) -> list[Metric]:
    living = GaugeMetricFamily(
        "baremetal_sched_conductors_alive", "Conductors that are alive.", labels=["conductor_group"]
    )
    undone = CounterMetricFamily(
        "baremetal_sched_undone_provider_changes",
        "Changes of nodes' resource providers that a conductor undid.",
        labels=["conductor"],
    )
    given_up = CounterMetricFamily(
        "baremetal_sched_given_up_driver_calls",
        "Calls of drivers that a conductor gave up, since the machine did not answer.",
        labels=["conductor"],
    )
    swept = CounterMetricFamily(
        "baremetal_sched_swept_machines",
        "Machines that a conductor's sweep gave to claims which waited beside them.",
        labels=["conductor"],
    )
    differs = GaugeMetricFamily(
        "baremetal_sched_conductor_clock_difference_seconds",
        "By how much the clock of the conductor's host was ahead of the database's at its last heartbeat.",
        labels=["conductor"],
    )
    alive_by_group: dict[str, int] = {}
    is_alive = alive(settings.conductor.heartbeat_timeout)
    columns = (Conductor.hostname, Conductor.conductor_group)
    counters = (Conductor.undone_changes, Conductor.given_up_calls, Conductor.swept_machines)
    rows: Any = session.execute(select(*columns, *counters, is_alive, Conductor.clock_difference))
    for hostname, group, changes, calls, machines, lives, ahead in rows:
        undone.add_metric([hostname], changes)
        given_up.add_metric([hostname], calls)
        swept.add_metric([hostname], machines)
        if ahead is not None:  # it has sent no heartbeat since it started, or is of an earlier release
            differs.add_metric([hostname], ahead)
        alive_by_group[group] = alive_by_group.get(group, 0) + bool(lives)
    for group, count in alive_by_group.items():
        living.add_metric([group], count)
    return [living, undone, given_up, swept, differs]


def _of_work(session: Session) -> list[Metric]:
    pending = GaugeMetricFamily(
        "baremetal_sched_pending_work", "Work on nodes that is requested or being done.", labels=["kind"]
    )
    counted = session.execute(select(NodeWork.kind, func.count()).group_by(NodeWork.kind))
    # Always one series, so that a panel has data and absent() means that there are no figures.
    for kind, count in ({"power": 0} | {kind: count for kind, count in counted}).items():
        pending.add_metric([kind], count)
    holds = GaugeMetricFamily("baremetal_sched_holds", "Holds that have begun.", labels=["type"])
    begun = select(Hold.type, func.count()).where(Hold.begun_at.is_not(None)).group_by(Hold.type)
    for kind, count in session.execute(begun):
        holds.add_metric([kind], count)
    waiting = GaugeMetricFamily(
        "baremetal_sched_waiting_claims", "Claims that wait until a machine is free.", labels=["resource_class"]
    )
    for resource_class, count in session.execute(waiting_by_class(MOST_CLASSES)):
        waiting.add_metric([resource_class], count)
    return [pending, holds, waiting]


def waiting_by_class(most: int, *conditions: ColumnElement[bool]) -> Query:
    """Return the query of the ``most`` classes for which most claims wait, with how many meet the conditions."""
    number = func.count()
    by_class = select(MACHINE_CLASS, number).where(IS_WAITING, *conditions).group_by(MACHINE_CLASS)
    return by_class.order_by(number.desc(), MACHINE_CLASS).limit(most)
