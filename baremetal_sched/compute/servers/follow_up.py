"""Work on servers that remains when the work on their nodes has ended: conductors call it repeatedly until it is done.

A deployment that failed continues with the next machine; one that waited begins; a server that was deleted while its
node was busy is removed from it.
"""

from typing import Any

import structlog
from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.provisioning import completion, provision
from baremetal_sched.baremetal.provisioning.provision import Order
from baremetal_sched.compute import server_group_places, server_groups, server_history, server_states
from baremetal_sched.compute.hosts import booting
from baremetal_sched.compute.hosts.node_changes import moving, release_claim, set_fault
from baremetal_sched.compute.hosts.own_copies import machine_request
from baremetal_sched.compute.servers import waiting_servers
from baremetal_sched.db.models import Node, Server, ServerGroup
from baremetal_sched.errors import InvalidValue, SchedulerError
from baremetal_sched.errors.baremetal import NoConductors, NodeInMaintenance, NodeLocked, NoValidHost, TooManyAtOnce
from baremetal_sched.machines import states
from baremetal_sched.placement import ending
from baremetal_sched.placement.ends import End
from baremetal_sched.placement.tables import CONSUMERS
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

_SPAWNING_STOPPED = and_(
    Server.task == server_states.SPAWNING, Node.provision_state.in_((states.AVAILABLE, states.DEPLOYFAIL))
)
_DELETION_STOPPED = and_(
    Server.task == server_states.DELETING, Node.provision_state.not_in((states.DELETING, states.ERROR))
)

#: SQL condition on a node: there is something to be done about the server on it.
IS_PENDING: ColumnElement[bool] = and_(
    Node.reservation.is_(None),
    Node.instance_uuid.in_(
        select(Server.uuid).where(Server.uuid == Node.instance_uuid, or_(_SPAWNING_STOPPED, _DELETION_STOPPED))
    ),
)

#: States that end only by request, and how a deletion ends them.
_HELD = (states.DEPLOYHOLD, states.SERVICEHOLD)

#: Errors of work that cannot begin now, but can later.
_LATER = (NodeLocked, NoConductors, NoValidHost, TooManyAtOnce)


def follow_up(session: Session, node_id: int, settings: Settings) -> bool:
    """Do the next thing for the server on a node. Returns False if nothing is to be done, as for a server whose end has
    come: it gets no other machine.

    Raises TooManyAtOnce, NoConductors or NoValidHost if that must wait, and the errors of undeploying.
    """
    group = server_groups.lock_of_node(session, node_id)
    node = session.scalars(select(Node).where(Node.id == node_id, IS_PENDING).with_for_update(of=Node)).first()
    if node is None:
        return False
    server = session.scalars(select(Server).where(Server.uuid == node.instance_uuid).with_for_update()).first()
    if server is None:
        return False
    context = MachineContext(session, settings)
    if server.task == server_states.DELETING:
        _take_off_or_keep(context, server, node)
        return True
    end = _end_of(session, server)
    if end is not None:
        if end.ends_at <= end.now:
            return False  # it is deleted, as its end has come
        context = context.with_end(End.of(settings, end.ends_at, None, end.booking_id))  # also on the next machine
    if node.provision_state == states.AVAILABLE:
        _begin_late(context, server, node, group)
    else:
        _try_next(context, server, node, group, node.last_error or "The deployment failed.")
    return True


def _end_of(session: Session, server: Server) -> Any:
    """Return the end of the claim of the server, as ``ending.find`` does. Nobody changes it until the transaction
    ends."""
    consumer = session.scalar(select(CONSUMERS.c.id).where(CONSUMERS.c.uuid == server.uuid).with_for_update())
    return None if consumer is None else ending.find(session, consumer)


def _take_off_or_keep(context: MachineContext, server: Server, node: Node) -> None:
    """Undeploy the node; if it cannot be, the server stays, and its action says why."""
    try:
        take_off(context, node)
    except _LATER:
        raise
    except SchedulerError as error:
        server.task = None
        server_history.finish(context.session, server, error=str(error))


def begin_deletion(context: MachineContext, server: Server, node: Node) -> None:
    """Take the server, which is to be deleted, off its node (its row locked), now or as soon as that can be.

    Raises NodeProtected, and InvalidValue if the machine cannot be undeployed.
    """
    server.task = server_states.DELETING
    try:
        take_off(context, node)
    except _LATER as error:
        log.info("a deletion waits", server=server.uuid, node=node.uuid, reason=str(error))
        node.touch()


def take_off(context: MachineContext, node: Node) -> None:
    """Undeploy a node whose server is to be deleted; one that was never deployed is freed at once.

    Raises NodeLocked if work is under way on it, and what ``provision.request`` raises.
    """
    state = node.provision_state
    if node.reservation is not None:
        raise NodeLocked(node=node.uuid, host=node.reservation)
    if state_machine.accepts(state, "delete"):
        _request(context, node, "deleted")
    elif state in _HELD:
        _request(context, node, "abort")
    else:
        completion.remove(context.session, node)
        node.touch()


def _request(context: MachineContext, node: Node, verb: str) -> None:
    provision.request(context.session, node, Order(verb, checked=False), context.membership, context.settings)


def _begin_late(context: MachineContext, server: Server, node: Node, group: ServerGroup | None) -> None:
    order = Order("active", project=server.project_id, checked=False)
    try:
        provision.request(context.session, node, order, context.membership, context.settings)
    except (InvalidValue, NodeInMaintenance) as error:
        _try_next(context, server, node, group, str(error))


def _try_next(context: MachineContext, server: Server, failed: Node, group: ServerGroup | None, reason: str) -> None:
    """Give back the node ``failed``, on which the deployment failed, and continue with another machine: one that is
    free now, or later if the server may wait. ``group``: that of the server (its row locked)."""
    session = context.session
    if not server_groups.is_member(session, group, server):
        raise StaleDataError("another server was on the node")
    drive = (failed.instance_info or {}).get("configdrive") or {}
    server_history.try_again(session, server, f"On node {failed.uuid}: {reason}", failed.uuid)
    server.tried_nodes = [*server.tried_nodes, failed.uuid]
    _give_back(context, server, failed)
    failures = [(failed.uuid, reason)]
    request = machine_request(server, context.settings, group)
    places = server_group_places.of_request(context, request)
    why = booting.place(context, server, request, lambda *_: drive, failures, places)
    for node, failure in failures[1:]:
        server_history.try_again(session, server, f"On node {node}: {failure}", node)
    if why is not None and not waiting_servers.wait_again(context, server, request, why, drive):
        server_history.finish(session, server, error=why.in_full)
        set_fault(server, why)


def _give_back(context: MachineContext, server: Server, node: Node) -> None:
    """Free the node of the server, and have it undeployed and cleaned: until then it is not on offer."""
    release_claim(context.session, server)
    moving(context.session, server.uuid)
    node.instance_uuid = None
    completion.remove(context.session, node)
    context.session.flush()
    try:
        if state_machine.accepts(node.provision_state, "delete"):
            _request(context, node, "deleted")
    except SchedulerError as error:
        if isinstance(error, _LATER):
            raise
        log.warning("a node cannot be undeployed", node=node.uuid, reason=str(error))
    context.session.flush()
