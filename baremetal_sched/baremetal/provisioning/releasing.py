"""Freeing nodes whose work was abandoned, and failing work that cannot be resumed."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import history, state_machine
from baremetal_sched.baremetal.conductors import work
from baremetal_sched.baremetal.provisioning import outcomes
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Conductor, Node


@dataclass(frozen=True)
class Why:
    """Why work has failed: in the words of ``last_error`` for power actions and for provisioning ("{state}" is that of
    the node), and as a type of events."""

    power: str
    provisioning: str
    event_type: str


def is_orphan(timeout: float) -> ColumnElement[bool]:
    """SQL condition: the node is reserved for a conductor that has sent no heartbeat for ``timeout`` seconds.

    EXISTS (SELECT … FROM conductors WHERE hostname = reservation AND heartbeat_at <= now - timeout)

    It does not matter whether that conductor is online: a conductor that is shutting down sends heartbeats until its
    work is done. A reservation under any other name, made to keep conductors off the node, is kept.
    """
    dead = select(Conductor.id).where(
        Conductor.hostname == Node.reservation, Conductor.heartbeat_at <= epoch() - timeout
    )
    return dead.exists()


def release(session: Session, node_id: int, condition: ColumnElement[bool], conductor: str, why: Why) -> bool:
    """Free the node of its reservation if ``condition`` (still) holds; the work of its conductor has failed.

    ``conductor`` is the host name of the conductor that decided this. Returns False, and changes nothing, if the
    condition does not hold.
    """
    node = work.take_away(session, node_id, condition)
    if node is None:
        return False
    if node.target_power_state is not None:
        node.target_power_state = None
        node.last_error = why.power
        history.record(session, node, why.power, event_type=why.event_type, severity="ERROR", conductor=conductor)
    if node.provision_state in state_machine.TRANSIENT:
        reason = why.provisioning.format(state=node.provision_state)
        outcomes.fail(session, node, reason, conductor, why.event_type)
    return True


def fail(session: Session, node_id: int, condition: ColumnElement[bool], *, conductor: str, reason: str) -> bool:
    """Fail a node that is not worked on, if ``condition`` (still) holds and its state can fail.

    Returns False, and changes nothing, otherwise.
    """
    node = session.scalars(
        select(Node).where(Node.id == node_id, Node.reservation.is_(None), condition).with_for_update()
    ).first()
    if node is None or not state_machine.can_fail(node.provision_state):
        return False
    outcomes.fail(session, node, reason, conductor)
    return True
