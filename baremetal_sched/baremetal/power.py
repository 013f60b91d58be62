"""Power: requested here, done by the conductor that owns the node (``conductor.power``)."""

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import nodes, projection, states, work
from baremetal_sched.baremetal.drivers import agent
from baremetal_sched.baremetal.ownership import Membership
from baremetal_sched.db.models import Node
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import InvalidPowerTarget, PowerRefused

#: The kind of work that this is.
KIND = "power"


def request(session: Session, ident: str, target: str, timeout: int | None, membership: Membership) -> Node:
    """Ask the node's conductor to bring its power to ``target``: the node is reserved for it until that is done.

    Raises InvalidPowerTarget, PowerRefused (power off is disabled for the node), InvalidValue (it is being cleaned),
    NodeLocked, NoValidHost, NodeNotFound.
    """
    node = nodes.find_for_change(session, ident)
    if target not in states.POWER_TARGETS:
        raise InvalidPowerTarget(
            target=target, node=node.uuid, state=node.power_state, known=", ".join(states.POWER_TARGETS)
        )
    if node.provision_state in (states.CLEANING, states.CLEANWAIT):
        raise InvalidValue(
            message=f'The requested action "{target}" can not be performed on node "{node.uuid}" '
            f'while it is in state "{node.provision_state}".'
        )
    owner = membership.require_owner(node.uuid, node.conductor_group, node.driver)
    nodes.require_unlocked(node)
    if node.disable_power_off and states.POWER_TARGETS[target] == states.POWER_OFF:
        raise PowerRefused(target="power off")
    node.target_power_state = states.POWER_TARGETS[target]
    node.last_error = None
    work.request(session, node, owner, KIND, {"target": target, "timeout": timeout})
    return node


def finish(session: Session, work_id: int, conductor: str, power_state: str | None, error: str | None) -> bool:
    """Write down how a power action ended and free the node.

    ``power_state`` is the state that the machine is in now; with ``error`` it stays what it was. False, and nothing is
    written, if the work was taken from this conductor meanwhile.
    """
    node = work.finish(session, work_id, conductor)
    if node is None:
        return False
    if error is None:
        node.power_state = power_state
        agent.forget(node)
    node.target_power_state = None
    node.last_error = error
    projection.project(session, node)
    return True
