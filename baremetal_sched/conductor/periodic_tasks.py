"""The periodic tasks of a conductor: their intervals, and those without a module of their own."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import structlog
from sqlalchemy import and_, delete, false, func, select, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.baremetal.provider import reconciliation
from baremetal_sched.baremetal.provisioning import outcomes
from baremetal_sched.conductor import answering, orphaned_reservations, power_sync, servers
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Node, NodeHistory
from baremetal_sched.errors.baremetal import NodeAllocated
from baremetal_sched.machines import states

log = structlog.get_logger(__name__)

#: State, the option with its time limit, and the operation in progress.
_WAITS = (
    (states.DEPLOYWAIT, "deploy_callback_timeout", "deploying the node"),
    (states.CLEANWAIT, "clean_callback_timeout", "cleaning the node"),
    (states.INSPECTWAIT, "inspect_wait_timeout", "inspecting the node"),
    (states.RESCUEWAIT, "rescue_callback_timeout", "rescuing the node"),
    (states.SERVICEWAIT, "service_callback_timeout", "servicing the node"),
)


def fail_late(host: ConductorHost) -> None:
    """Fail the nodes of this conductor that have been waiting for longer than the options allow."""
    now = host.database.read(lambda session: session.scalar(select(epoch())) or 0)
    for state, option, doing in _WAITS:
        timeout: float = getattr(host.settings.conductor, option)
        if not timeout:
            continue
        since = datetime.fromtimestamp(now - timeout, UTC).replace(tzinfo=None)
        late = and_(Node.provision_state == state, Node.reservation.is_(None), Node.provision_updated_at <= since)
        reason = (
            f"Timeout reached while {doing}: nothing was heard of the agent on the machine for {timeout:g} seconds."
        )
        for node_id in host.own(late):
            failed = host.database.write(
                partial(outcomes.fail_abandoned, node_id=node_id, condition=late, conductor=host.name, reason=reason)
            )
            if failed:
                log.warning("a node waited too long", conductor=host.name, node_id=node_id, state=state)


#: Number of entries deleted in one transaction.
_CHUNK = 1000


def forget_conductors(host: ConductorHost) -> None:
    """Delete the conductors that have been gone for longer than ``[conductor] conductor_cleanup_timeout``."""
    after: float = host.settings.conductor.conductor_cleanup_timeout
    for name in host.database.write(lambda session: conductors.forget_gone(session, after)):
        log.info("forgot a conductor", conductor=name)


def trim_history(host: ConductorHost) -> None:
    """Delete the history of nodes beyond the newest entries that each may keep."""
    most: int = host.settings.conductor.node_history_max_entries
    deleted = _CHUNK
    while deleted == _CHUNK:
        deleted = host.database.write(lambda session: _trim(session, most))
        if deleted:
            log.info("deleted history of nodes", entries=deleted)


def _trim(session: Session, most: int) -> int:
    """SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY node_id ORDER BY id DESC) AS age FROM node_history
    WHERE node_id IN (SELECT node_id FROM node_history GROUP BY node_id HAVING count(*) > most)) WHERE age > most"""
    crowded = select(NodeHistory.node_id).group_by(NodeHistory.node_id).having(func.count() > most)
    age = func.row_number().over(partition_by=NodeHistory.node_id, order_by=NodeHistory.id.desc()).label("age")
    ranked = select(NodeHistory.id, age).where(NodeHistory.node_id.in_(crowded)).subquery()
    ids = session.scalars(select(ranked.c.id).where(ranked.c.age > most).limit(_CHUNK)).all()
    session.execute(delete(NodeHistory).where(NodeHistory.id.in_(ids)))
    return len(ids)


def reconcile(host: ConductorHost) -> None:
    """Restore the providers of this conductor's nodes to what the nodes determine, and report what differed."""
    for node_id in host.database.snapshot(lambda session: host.select_own(session, reconciliation.drifted(session))):
        try:
            undone = host.database.write(partial(reconciliation.reconcile, node_id=node_id, conductor=host.name))
        except NodeAllocated as error:
            log.error("cannot undo a change of a provider", conductor=host.name, node_id=node_id, reason=str(error))
            continue
        if undone:
            uuid, changes = undone
            log.warning("undid changes of a provider", conductor=host.name, node=uuid, changes=changes)


#: Number of nodes taken over in one transaction.
_CHUNK = 1000


def take_over(host: ConductorHost) -> None:
    """Take over the active nodes that the ring now assigns to this conductor.

    No interface of this release keeps anything on a conductor's own host, so there is nothing to prepare; only the
    node's conductor is recorded.
    """
    foreign = and_(
        Node.provision_state == states.ACTIVE,
        Node.maintenance == false(),
        Node.reservation.is_(None),
        func.coalesce(Node.conductor_affinity, "") != host.name,
    )
    node_ids = host.own(foreign)
    for start in range(0, len(node_ids), _CHUNK):
        chunk = node_ids[start : start + _CHUNK]
        # UPDATE nodes SET conductor_affinity = … WHERE id IN (…) AND (still so)
        statement = update(Node).where(Node.id.in_(chunk), foreign).values(conductor_affinity=host.name)
        host.database.write(partial(Session.execute, statement=statement))
    if node_ids:
        log.info("took over active nodes", conductor=host.name, nodes=len(node_ids))


@dataclass(frozen=True)
class PeriodicTask:
    """A periodic task; ``interval`` is the name of the option in [conductor].

    A task that ``trusts_heartbeats`` is skipped after an interruption of this conductor's own heartbeats: those of
    other conductors may have been interrupted, too.
    """

    name: str
    interval: str
    do: Callable[[ConductorHost], None]
    trusts_heartbeats: bool = False


PERIODIC_TASKS = (
    PeriodicTask("orphans", "check_provision_state_interval", orphaned_reservations.release, trusts_heartbeats=True),
    PeriodicTask("calls", "check_provision_state_interval", answering.settle_abandoned, trusts_heartbeats=True),
    PeriodicTask("waiting", "check_provision_state_interval", fail_late),
    PeriodicTask("local state", "sync_local_state_interval", take_over),
    PeriodicTask("power", "sync_power_state_interval", power_sync.synchronize),
    PeriodicTask("power failures", "power_failure_recovery_interval", power_sync.recover),
    PeriodicTask("providers", "sync_providers_interval", reconcile),
    PeriodicTask("servers", "check_provision_state_interval", servers.follow_up_all),
    PeriodicTask("conductors", "conductor_cleanup_interval", forget_conductors, trusts_heartbeats=True),
    PeriodicTask("history", "node_history_cleanup_interval", trim_history),
)
