"""Methods that only some hardware has."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import driver_calls, work_queue
from baremetal_sched.baremetal.conductors.driver_calls import Then
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db.models import Node

#: The kind of work that an asynchronous call is.
KIND = "vendor"


def call(
    session: Session,
    node: Node,
    method: str,
    http_method: str,
    arguments: Mapping[str, Any],
    membership: Membership,
    then: Then,
) -> None:
    """Call a method of the node (its row locked): later, if it is asynchronous; else ``then`` makes the response.

    Raises Unanswered, NoValidHost, NoConductors, NodeLocked, and the driver's errors: InvalidValue if the method does
    not exist, or does not take these arguments.
    """
    invocation = {"method": method, "arguments": dict(arguments)}
    checked = {**invocation, "http_method": http_method}
    known = driver_calls.answer(session, node, membership, "vendor.validate_call", checked)
    exclusive = known["asynchronous"] or known["require_exclusive_lock"]
    if exclusive:
        nodes.require_unlocked(node)
    if not known["asynchronous"]:
        driver_calls.order(node, membership, "vendor.call", invocation, then, reserves=exclusive)
    owner = membership.require_owner(node.uuid, node.conductor_group, node.driver)
    work_queue.request(session, node, owner, KIND, invocation)
