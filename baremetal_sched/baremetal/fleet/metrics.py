"""Metrics of the fleet for Prometheus: read from the database, so every process reports the same."""

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from sqlalchemy import func, not_, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors.ownership import alive, live_members
from baremetal_sched.baremetal.matching.explanation import count_withheld
from baremetal_sched.db.models import Conductor, Node, NodeWork
from baremetal_sched.settings import Settings


def figures(session: Session, settings: Settings) -> list[Metric]:
    """Nodes, conductors, work, and what was undone on providers, as they are now."""
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
    alive_by_group: dict[str, int] = {}
    is_alive = alive(settings.conductor.heartbeat_timeout)
    columns = (Conductor.hostname, Conductor.conductor_group, Conductor.undone_changes, Conductor.given_up_calls)
    for hostname, group, changes, calls, lives in session.execute(select(*columns, is_alive)):
        undone.add_metric([hostname], changes)
        given_up.add_metric([hostname], calls)
        alive_by_group[group] = alive_by_group.get(group, 0) + bool(lives)
    for group, count in alive_by_group.items():
        living.add_metric([group], count)

    pending = GaugeMetricFamily(
        "baremetal_sched_pending_work", "Work on nodes that is requested or being done.", labels=["kind"]
    )
    for kind, count in session.execute(select(NodeWork.kind, func.count()).group_by(NodeWork.kind)):
        pending.add_metric([kind], count)
    return [nodes, not_offered, without, living, undone, given_up, pending]
