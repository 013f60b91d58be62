"""The effect of a node's change on the server on it, in the transaction that changes the node.

It follows every flush of a session, for a conductor's write or a request to the bare metal API, so the node and its
server always match. A node gets a server and loses it in these ways only:

- The compute API places a server on it (``moving``).
- The node is undeployed, or deleted: the server goes if its deletion was requested; otherwise it is in error and says
  why. Its claim is given back either way.

The bare metal API can neither take the instance off a node that has a server nor give it to another node.
"""

from contextlib import suppress
from typing import Any

from sqlalchemy import event, select
from sqlalchemy.orm import Session

from baremetal_sched.compute import server_history, server_states
from baremetal_sched.compute.hosts import occupancy
from baremetal_sched.compute.server_history import Reason
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, Server
from baremetal_sched.db.results import history_of
from baremetal_sched.errors.compute import ServerHasMachine
from baremetal_sched.errors.placement import NoAllocations
from baremetal_sched.machines import states
from baremetal_sched.placement import allocations as claims
from baremetal_sched.placement.waiting_requests import SERVER

#: In ``Session.info``: UUIDs of servers that the compute API moves to or from a node in this transaction.
_MOVING = "servers_moving"

#: States in which work on an instance ends, successfully or not.
_ENDS = frozenset({states.ACTIVE, states.RESCUE})
_FAILURES = frozenset(
    {states.DEPLOYFAIL, states.RESCUEFAIL, states.UNRESCUEFAIL, states.SERVICEFAIL, states.ERROR, states.ADOPTFAIL}
)

#: In these states, work in progress removes the rest of an instance.
_UNDEPLOYED = frozenset({states.DELETING, states.CLEANING})


def moving(session: Session, server_uuid: str) -> None:
    """Note that the compute API itself gives the server a node, or takes it away, in this transaction."""
    session.info.setdefault(_MOVING, set()).add(server_uuid)


@event.listens_for(Session, "before_flush")
def _follow(session: Session, *_: Any) -> None:
    for entity in (*session.new, *session.dirty, *session.deleted):
        if isinstance(entity, Node):
            _follow_node(session, entity)


@event.listens_for(Session, "after_transaction_end")
def _forget(session: Session, transaction: Any) -> None:
    if transaction.parent is None:
        session.info.pop(_MOVING, None)


def _follow_node(session: Session, node: Node) -> None:
    if node in session.deleted:
        if node.instance_uuid is not None:
            _lose_machine(session, node, node.instance_uuid, "was deleted.")
        return
    instance = history_of(node, "instance_uuid")
    if instance.has_changes():
        _follow_instance(session, node, next(iter(instance.deleted or ()), None))
    elif node.instance_uuid is not None and _has_ended(node):
        server = _find(session, node.instance_uuid)
        if server is not None:
            _settle(session, server, node)


def _follow_instance(session: Session, node: Node, before: str | None) -> None:
    own = session.info.get(_MOVING, ())
    after = node.instance_uuid
    if after is not None and after not in own and _find(session, after) is not None:
        raise ServerHasMachine(server=after)
    if before is not None and before not in own:
        server = _find(session, before)
        if server is None:
            occupancy.release_adopted(session, before)
            return
        if server.task != server_states.DELETING and node.provision_state not in _UNDEPLOYED:
            raise ServerHasMachine(server=before)
        _lose_machine(session, node, before, "was undeployed in the bare metal API.")


def _lose_machine(session: Session, node: Node, server_uuid: str, how: str) -> None:
    server = _find(session, server_uuid)
    if server is None or server_uuid in session.info.get(_MOVING, ()):
        return
    release_claim(session, server)
    if server.task == server_states.DELETING:
        session.delete(server)
        return
    reason = Reason(f"The server's machine {how}", f"Node {node.uuid}, its machine, {how}")
    server_history.finish(session, server, error=reason.in_full)
    set_fault(server, reason)


def release_claim(session: Session, server: Server) -> None:
    """Give back all that the server holds in placement, unless that was done through the placement API."""
    with suppress(NoAllocations):
        claims.release(session, server.uuid, SERVER)


def set_fault(server: Server, reason: Reason) -> None:
    """Note why the server is in error, and end its task."""
    created = utcnow().isoformat() + "Z"
    server.fault = {"code": 500, "created": created, "message": reason.message, "details": reason.in_full}
    server.task = server.power_after_task = None
    server.updated_at = utcnow()


def _find(session: Session, uuid: str) -> Server | None:
    """Return the server, its row locked. (If this transaction made or read it before, it is the same object.)"""
    server: Server | None = session.scalars(select(Server).where(Server.uuid == uuid).with_for_update()).first()
    return server


def _has_ended(node: Node) -> bool:
    """Return whether work on the instance, or a power action, ends with this change."""
    if history_of(node, "provision_state").has_changes():
        return node.provision_state in _ENDS or node.provision_state in _FAILURES
    return history_of(node, "target_power_state").has_changes() and node.target_power_state is None


def _settle(session: Session, server: Server, node: Node) -> None:
    """End the server's task, which has come to its end with the present state of the node."""
    if node.provision_state in _FAILURES:
        _fail(session, server, node)
    elif server.task in server_states.POWER_TASKS:
        if node.target_power_state is None:
            _end(session, server, error=node.last_error)
    elif server.task in (server_states.SPAWNING, server_states.REBUILDING):
        server.launched_at = utcnow()
        server.fault = None
        _end(session, server)
    elif server.task in (server_states.RESCUING, server_states.UNRESCUING):
        _end(session, server)


def _end(session: Session, server: Server, error: str | None = None) -> None:
    server_history.finish(session, server, error=error)
    server.task = server.power_after_task = None
    server.updated_at = utcnow()


def _fail(session: Session, server: Server, node: Node) -> None:
    waits = server.task in (server_states.SPAWNING, server_states.DELETING)
    if waits and node.provision_state == states.DEPLOYFAIL:
        return  # ``follow_up`` continues: with the next machine, or with removing this server
    reason = server_history.of_state(node.uuid, node.provision_state, node.last_error)
    server_history.finish(session, server, error=reason.in_full)
    set_fault(server, reason)
