"""The periodic tasks of a conductor: their intervals, and those without a module of their own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import structlog
from sqlalchemy import ColumnElement, and_, case, delete, false, func, select, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.holds import due
from baremetal_sched.baremetal.holds.due import DueNode
from baremetal_sched.baremetal.provider import reconciliation
from baremetal_sched.baremetal.provisioning import completion, provision
from baremetal_sched.conductor import answering, orphaned_reservations, power_sync, servers
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.db import compiled
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Conductor, DriverCall, Hold, Node, NodeHistory, PageSession, WaitingRequest
from baremetal_sched.db.models.page_sessions import IS_OVER
from baremetal_sched.db.sealing import readable
from baremetal_sched.db.sql_functions import constant
from baremetal_sched.db.types import Query
from baremetal_sched.errors import SchedulerError
from baremetal_sched.errors.baremetal import NodeAllocated
from baremetal_sched.machines import agent_info, states
from baremetal_sched.placement import ending
from baremetal_sched.placement.waiting_requests import UNDECIDED
from baremetal_sched.scheduling import capacity_history, ends, sweep
from baremetal_sched.scheduling.bookings import keeping
from baremetal_sched.scheduling.events import numbering

log = structlog.get_logger(__name__)

#: Number of entries deleted, or nodes taken over, in one transaction.
_CHUNK = 1000

#: State, the option with its time limit, and the operation in progress.
_WAITS = (
    (states.DEPLOYWAIT, "deploy_callback_timeout", "deploying the node"),
    (states.CLEANWAIT, "clean_callback_timeout", "cleaning the node"),
    (states.INSPECTWAIT, "inspect_wait_timeout", "inspecting the node"),
    (states.RESCUEWAIT, "rescue_callback_timeout", "rescuing the node"),
    (states.SERVICEWAIT, "service_callback_timeout", "servicing the node"),
)


def _waits_for(host: ConductorHost, seconds: float) -> ColumnElement[bool]:
    """SQL condition: the node has been waiting for that long.

    A node that an earlier release let wait has the time of a host, and no other one.
    """
    since = host.database.read(lambda session: host.clock.ago(session, seconds))
    by_host = Node.provision_updated_at <= datetime.fromtimestamp(since, UTC).replace(tzinfo=None)
    return case((Node.waiting_since_of == Node.provision_updated_at, Node.waiting_since <= since), else_=by_host)


def fail_late(host: ConductorHost) -> None:
    """Fail the nodes of this conductor that have been waiting for longer than the options allow."""
    for state, option, doing in _WAITS:
        timeout: float = getattr(host.settings.conductor, option)
        if not timeout:
            continue
        late = and_(Node.provision_state == state, Node.reservation.is_(None), _waits_for(host, timeout))
        reason = (
            f"Timeout reached while {doing}: nothing was heard of the agent on the machine for {timeout:g} seconds."
        )
        for node_id in host.own(late):
            failed = host.database.write(
                partial(completion.fail_abandoned, node_id=node_id, condition=late, conductor=host.name, reason=reason)
            )
            if failed:
                log.warning("a node waited too long", conductor=host.name, node_id=node_id, state=state)


def ask_silent_agents(host: ConductorHost) -> None:
    """Have the agents asked that execute a command and have sent no heartbeat for as long as two may be apart."""
    silent = and_(
        Node.provision_state.in_((states.DEPLOYWAIT, states.CLEANWAIT, states.SERVICEWAIT)),
        Node.reservation.is_(None),
        Node.maintenance == false(),
        _waits_for(host, host.settings.api.ramdisk_heartbeat_timeout),
    )
    membership = host.membership()

    def executes(session: Session, node_id: int) -> bool:
        known = session.scalar(select(Node.driver_internal_info).where(Node.id == node_id))
        return bool(readable(known).get(agent_info.COMMAND))

    def resume(session: Session, node_id: int) -> bool:
        node = session.scalars(select(Node).where(Node.id == node_id, silent).with_for_update()).first()
        if node is None or not executes(session, node_id):
            return False
        provision.resume(session, node, membership)
        return True

    for node_id in host.own(silent):
        # Most machines that wait are still booting: nothing is locked for them.
        is_asked = host.database.read(partial(executes, node_id=node_id))
        if is_asked and host.database.write(partial(resume, node_id=node_id)):
            log.info("an agent has sent no heartbeat: it is asked", conductor=host.name, node_id=node_id)


def end_dead(host: ConductorHost) -> None:
    """Let conductors be dead whose heartbeats lie ahead and do not change: they would live until the clock of the
    database has caught up."""
    timeout: float = host.settings.conductor.heartbeat_timeout
    for hostname, at in host.ahead.dead(host.database.read(conductors.heartbeats_ahead)).items():
        if host.database.write(partial(conductors.end, hostname=hostname, at=at, timeout=timeout)):
            log.warning("a conductor is dead, though its last heartbeat lies ahead", conductor=hostname)


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
    """Restore the providers of this conductor's nodes from the nodes, and report the differences."""
    for node_id in host.database.snapshot(lambda session: host.select_own(session, reconciliation.drifted(session))):
        try:
            undone = host.database.write(partial(reconciliation.reconcile, node_id=node_id, conductor=host.name))
        except NodeAllocated as error:
            log.error("cannot undo a change of a provider", conductor=host.name, node_id=node_id, reason=str(error))
            continue
        if undone:
            uuid, changes = undone
            log.warning("undid changes of a provider", conductor=host.name, node=uuid, changes=changes)


def take_over(host: ConductorHost) -> None:
    """Take over the active nodes that the ring now assigns to this conductor.

    No interface of this release keeps anything on a conductor's own host, so there is nothing to prepare; only the
    node's conductor is recorded. Nodes of others are looked at only after one of them, or the ring, has changed.
    """
    foreign = and_(
        Node.provision_state == states.ACTIVE,
        Node.maintenance == false(),
        Node.reservation.is_(None),
        func.coalesce(Node.conductor_affinity, "") != host.name,
    )
    # SELECT count(*), sum(id), sum(revision) FROM nodes WHERE (they are of others): each change of a node is seen in it
    of_others = select(func.count(), func.sum(Node.id), func.sum(Node.revision)).where(foreign)
    state = (host.membership(), host.database.read(lambda session: tuple(session.execute(of_others).one())))
    if host.of_others == [state]:
        return
    is_steady = host.clock.is_steady()
    node_ids = host.own(foreign)
    for start in range(0, len(node_ids), _CHUNK):
        chunk = node_ids[start : start + _CHUNK]
        # UPDATE nodes SET conductor_affinity = … WHERE id IN (…) AND (still so)
        statement = update(Node).where(Node.id.in_(chunk), foreign).values(conductor_affinity=host.name)
        host.database.write(partial(Session.execute, statement=statement))
    if node_ids:
        log.info("took over active nodes", conductor=host.name, nodes=len(node_ids))
    host.of_others[:] = [state] if is_steady and host.clock.is_steady() else []


def sweep_claims(host: ConductorHost) -> None:
    """Give this conductor's free machines to claims that wait for them, and end claims whose time is over."""
    membership = host.membership()

    def is_own(uuid: str, group: str, driver: str) -> bool:
        # Every conductor looks after machines without a conductor: claims through placement need none.
        return membership.owner(uuid, group, driver) in (host.name, None)

    sweep.sweep(host.database, host.settings, host.name, is_own, host.gathering)


def sweep_holds(host: ConductorHost) -> None:
    """Begin and end the due holds of this conductor's nodes, and of nodes that no conductor serves."""
    for node in _own(host, host.database.read(due.due_nodes)):
        settled = partial(due.settle_due, node_id=node.id, settings=host.settings, conductor=host.name)
        try:
            if host.database.write(settled):
                log.info("holds have begun or ended", conductor=host.name, node=node.uuid)
        except SchedulerError as error:
            log.warning("left to the next sweep", node=node.uuid, reason=str(error))

    for node in _own(host, host.database.read(due.new_lockouts)):
        # What began before the lockout is known to this process; nothing begins after it.
        if not host.questions.is_under_way(node.id):
            host.database.write(partial(due.acknowledge, node_id=node.id))


def end_claims(host: ConductorHost) -> None:
    """Tell of claims of this conductor's nodes that end soon, and give back the machines of those that have ended."""
    ends.sweep(host.database, host.settings, host.name, host.membership())


def keep_bookings(host: ConductorHost) -> None:
    """Do what is due about bookings."""
    keeping.sweep(host.database, host.settings, only_due=True)


def keep_all_bookings(host: ConductorHost) -> None:
    """The same, and replace machines of bookings that nobody has told to be lost."""
    keeping.sweep(host.database, host.settings)


def delete_events(host: ConductorHost) -> None:
    """Delete events that are older than ``[events] keep``."""
    keep: float = host.settings.events.keep
    is_left = host.database.select(partial(numbering.has_old, keep=keep))
    while is_left:
        deleted = host.database.change(partial(numbering.delete_old, keep=keep))
        is_left = deleted == numbering.MOST
        if deleted:
            log.info("deleted old events", events=deleted)


def forget_counts(host: ConductorHost) -> None:
    """Delete counts of machines that are older than two days."""
    host.database.change(capacity_history.delete_old)


def forget_sessions(host: ConductorHost) -> None:
    """Delete sessions of the pages that are over."""
    # DELETE FROM page_sessions WHERE (it is over)
    host.database.change(lambda connection: connection.execute(delete(PageSession).where(IS_OVER)))


def _own(host: ConductorHost, found: Sequence[DueNode]) -> list[DueNode]:
    membership = host.membership() if found else Membership({}, 0)
    owners = ((node, membership.owner(node.uuid, node.conductor_group, node.driver)) for node in found)
    return [node for node, owner in owners if owner in (host.name, None)]


@dataclass(frozen=True)
class PeriodicTask:
    """A periodic task; ``interval`` is the name of the option in the ``group`` of the settings.

    A task that ``trusts_heartbeats`` is skipped after an interruption of this conductor's own heartbeats: those of
    other conductors may have been interrupted, too. If ``concerns`` finds nothing, there is nothing to do.
    """

    name: str
    interval: str
    do: Callable[[ConductorHost], None]
    trusts_heartbeats: bool = False
    group: str = "conductor"
    concerns: Query | None = None

    def run(self, host: ConductorHost) -> None:
        """Do what there is to do."""
        query = self.concerns
        if query is None or host.database.select(lambda connection: compiled.run(connection, query, {}).first()):
            self.do(host)


# Mostly there is nothing to do. These are created once: that is most of what they cost.
_IN_QUEUE: Query = select(WaitingRequest.id).where(WaitingRequest.state.in_(map(constant, UNDECIDED))).limit(1)
_RESERVED: Query = select(Node.id).where(Node.reservation.is_not(None)).limit(1)
_IN_WAIT: Query = select(Node.id).where(Node.provision_state.in_([constant(state) for state, *_ in _WAITS])).limit(1)

_AHEAD: Query = select(Conductor.id).where(Conductor.heartbeat_at > epoch()).limit(1)

_CHECK = "check_provision_state_interval"
PERIODIC_TASKS = (
    PeriodicTask("orphans", _CHECK, orphaned_reservations.release, trusts_heartbeats=True, concerns=_RESERVED),
    PeriodicTask(
        "calls", _CHECK, answering.settle_abandoned, trusts_heartbeats=True, concerns=select(DriverCall.id).limit(1)
    ),
    PeriodicTask("heartbeats ahead", "heartbeat_interval", end_dead, concerns=_AHEAD),
    PeriodicTask("waiting", _CHECK, fail_late, concerns=_IN_WAIT),
    PeriodicTask("agents", _CHECK, ask_silent_agents, concerns=_IN_WAIT),
    PeriodicTask("local state", "sync_local_state_interval", take_over),
    PeriodicTask("power", "sync_power_state_interval", power_sync.synchronize),
    PeriodicTask("power failures", "power_failure_recovery_interval", power_sync.recover),
    PeriodicTask("providers", "sync_providers_interval", reconcile),
    PeriodicTask("servers", _CHECK, servers.follow_up_all),
    PeriodicTask("holds", "sweep_holds_interval", sweep_holds, group="scheduling", concerns=select(Hold.id).limit(1)),
    PeriodicTask("claims", "sweep_interval", sweep_claims, group="scheduling", concerns=_IN_QUEUE),
    PeriodicTask("ends", "sweep_interval", end_claims, group="scheduling", concerns=ending.DUE),
    PeriodicTask("bookings", "sweep_interval", keep_bookings, group="scheduling", concerns=keeping.DUE),
    PeriodicTask("booked machines", "sync_providers_interval", keep_all_bookings, concerns=keeping.ANY),
    PeriodicTask("sessions", _CHECK, forget_sessions, concerns=select(PageSession.id).limit(1)),
    PeriodicTask("events", _CHECK, delete_events),
    PeriodicTask("counts", _CHECK, forget_counts, concerns=capacity_history.OLD),
    PeriodicTask("conductors", "conductor_cleanup_interval", forget_conductors, trusts_heartbeats=True),
    PeriodicTask("history", "node_history_cleanup_interval", trim_history),
)
