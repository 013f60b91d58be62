"""How a machine is given back at the end of its claim: as its owner would do it.

A server is deleted. The node of an allocation or a claim is undeployed and cleaned, then the claim is released; a node
on which nothing is deployed is released at once.
"""

import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import or_
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import history
from baremetal_sched.baremetal.holds import guards
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.provisioning import completion, provision
from baremetal_sched.baremetal.provisioning.provision import Order
from baremetal_sched.compute import server_states
from baremetal_sched.compute.server_history import ServerRequester
from baremetal_sched.compute.servers import servers
from baremetal_sched.compute.servers.servers import Locked
from baremetal_sched.db.clock import in_words
from baremetal_sched.db.models import Node
from baremetal_sched.errors.baremetal import NodeProtected
from baremetal_sched.errors.compute import ServerNotFound
from baremetal_sched.errors.placement import NoAllocations
from baremetal_sched.machines import states
from baremetal_sched.placement import allocations

#: States in which nothing is deployed on the machine, and nothing is under way.
_AT_REST = frozenset({states.ENROLL, states.MANAGEABLE, states.AVAILABLE, states.INSPECTFAIL})

#: SQL condition on a node: work on it is under way.
IS_UNDER_WAY = or_(Node.reservation.is_not(None), Node.provision_state.in_(sorted(guards.BUSY_STATES)))


@dataclass(frozen=True)
class EndedClaim:
    """The end of a claim that has come, and the nodes that its consumer has (their rows locked). ``conductor`` (a host
    name) gives them back; ``goes_on``: that began before."""

    context: MachineContext
    end: Any
    nodes: Sequence[Node]
    conductor: str
    goes_on: bool

    @property
    def session(self) -> Session:
        """The session of the transaction."""
        return self.context.session

    @property
    def why(self) -> str:
        """The reason of all that is done, in a sentence."""
        return f"The claim {self.end.claim} ended at {in_words(self.end.ends_at)}."


def give_back(claim: EndedClaim) -> str | None:
    """Give the machines of a claim back, or begin to; return why that cannot be done now, None if it can.

    Raises the errors of undeploying and of deleting a server.
    """
    if claim.goes_on and any(_is_under_way(node) for node in claim.nodes):
        return None
    for node in claim.nodes:
        guards.require_no_lockout(claim.session, node)
        _unprotect(claim, node)
    try:
        locked = servers.find_for_change(claim.session, claim.end.uuid, None)
    except ServerNotFound:
        return _undeploy(claim)
    return _delete(claim, locked)


def _is_under_way(node: Node) -> bool:
    return node.reservation is not None or node.provision_state in guards.BUSY_STATES


def _unprotect(claim: EndedClaim, node: Node) -> None:
    """Take the protection off a node: it was that of the claim."""
    if not node.protected:
        return
    if claim.context.settings.scheduling.ends_respect_protected:
        raise NodeProtected(node=node.uuid)
    node.protected, node.protected_reason = False, None
    _record(claim, node, "The node is not protected any more.")


def _record(claim: EndedClaim, node: Node, what: str) -> None:
    said = f"{claim.why} {what}"
    history.record(claim.session, node, said, event_type="provision", conductor=claim.conductor)


# -- servers -----------------------------------------------------------------------------------------------------------


def _delete(claim: EndedClaim, locked: Locked) -> str | None:
    """Delete the server. If its machine is busy, that follows by itself, and the end is late until then."""
    server, node = locked.server, locked.node
    is_requested = server.task == server_states.DELETING
    if claim.goes_on and not is_requested:
        return _failure(claim)
    if not is_requested:
        if node is not None:
            _record(claim, node, "Its server is deleted.")
        requester = ServerRequester("", "", f"req-{uuid.uuid4()}", claim.why)
        servers.delete(claim.context, locked, requester)
    if node is None or node.reservation is None or node.provision_state == states.DELETING:
        return None
    return f"The server is deleted when the work on node {node.uuid}, which is {node.provision_state}, has ended."


# -- allocations and claims --------------------------------------------------------------------------------------------


def _undeploy(claim: EndedClaim) -> str | None:
    """Have the nodes undeployed; release the claim if nothing is deployed on them."""
    deployed = [node for node in claim.nodes if node.provision_state not in _AT_REST]
    if claim.goes_on and deployed:
        return _failure(claim)
    busy = next((node for node in claim.nodes if node.reservation is not None), None)
    if busy is not None:
        return f"Conductor {busy.reservation} is at work on node {busy.uuid}, which is {busy.provision_state}."
    for node in deployed:
        _record(claim, node, "The node is undeployed.")
        order, context = Order("deleted", checked=False), claim.context
        provision.request(claim.session, node, order, context.membership, context.settings)
    if not deployed:
        _release(claim)
    return None


def _release(claim: EndedClaim) -> None:
    """Release the claim, and remove what belongs to it from its nodes."""
    for node in claim.nodes:
        _record(claim, node, "The node is given back.")
        completion.remove(claim.session, node)
        node.touch()
    claim.session.flush()
    with suppress(NoAllocations):
        allocations.release(claim.session, claim.end.uuid)


def _failure(claim: EndedClaim) -> str:
    """Return why giving back has failed that began before."""
    failed = (node for node in claim.nodes if node.provision_state not in _AT_REST)
    said = (f" Node {node.uuid} is {node.provision_state}: {node.last_error or 'no error is known'}" for node in failed)
    return f"Giving it back has failed.{''.join(said)}"
