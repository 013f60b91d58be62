"""Questions about the holds of a node: the operations that they allow and refuse. Nothing is changed or locked."""

from collections.abc import Sequence

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.holds import rules
from baremetal_sched.baremetal.holds.rules import LEGACY, LOCKOUT
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Hold, Node
from baremetal_sched.errors.holds import NodeLockedOut
from baremetal_sched.placement import projected

#: States in which a conductor or an agent is at work, or is going to be.
BUSY_STATES = frozenset({*state_machine.TRANSIENT, *state_machine.WAITING, *state_machine.HELD})


def rows_of(session: Session, node: Node) -> list[tuple[Hold, str, str | None, str | None, str | None]]:
    """Return the holds of ``node`` for reading, as lists of holds have them."""
    found = sorted(of_node(session, node), key=lambda hold: (hold.asserted_at, hold.id))
    return [(hold, node.uuid, node.name, node.owner, node.lessee) for hold in found]


def loosens_guards(session: Session, node: Node) -> bool:
    """Return whether guards are off for ``node`` because it is in maintenance: see ``rules.loosens``."""
    return node.maintenance and rules.loosens(rules.active(of_node(session, node)) or [_PLAIN])


#: The meaning of the flag to a release without holds.
_PLAIN = Hold(type=LEGACY, scope=rules.SYSTEM, asserted_at=0.0, begun_at=0.0)


#: SQL condition on Node: it is locked out.
IS_LOCKED_OUT = exists().where(Hold.node_id == Node.id, Hold.type == LOCKOUT, Hold.begun_at.is_not(None))


def require_no_lockout(session: Session, node: Node) -> None:
    """Raise NodeLockedOut if ``node`` is locked out: nothing may touch the machine."""
    lockout = rules.lockout_among(of_node(session, node)) if node.maintenance else None
    if lockout is not None:
        raise NodeLockedOut(node=node.uuid, uuid=lockout.uuid)


def of_node(session: Session, node: Node) -> Sequence[Hold]:
    """Return the holds of ``node`` for reading."""
    return session.scalars(select(Hold).where(Hold.node_id == node.id)).all()


def is_kept_free(session: Session, node: Node) -> bool:
    """Return whether ``node`` is closed for a planned hold and free: it has no instance, and no consumer has
    claimed it. Then it is not given out, although no conductor has set its flag yet."""
    if node.closes_at is None or node.instance_uuid is not None:
        return False
    if node.closes_at > (session.scalar(select(epoch())) or 0.0):
        return False
    return not projected.consumers_of(session, node.uuid)


def rests(session: Session, node: Node) -> bool:
    """Return whether ``node`` rests: no conductor and no agent works on it, it has no instance, and no consumer has
    claimed it. From then on no claim succeeds before the transaction ends."""
    if node.reservation is not None or node.provision_state in BUSY_STATES or node.instance_uuid is not None:
        return False
    projected.lock(session, node.uuid)
    return not projected.consumers_of(session, node.uuid)
