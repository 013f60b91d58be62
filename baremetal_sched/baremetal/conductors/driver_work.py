"""Driver calls that no request waits for: they are work, and ``last_error`` says how they failed."""

from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import driver_calls, work
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.db.models import Node

#: The kind of work that this is.
KIND = "driver"


def request(
    session: Session, node: Node, membership: Membership, interface: str, method: str, failure: str, **arguments: Any
) -> None:
    """Request a call of ``method``, named with its interface, from the conductor of ``node`` (its row locked, not
    reserved).

    If it fails, ``last_error`` begins with ``failure``; what the interface's ``validate`` refuses is refused at once.
    Raises Unanswered, NoConductors, NoValidHost, and the errors of the driver.
    """
    driver_calls.answer(session, node, membership, "validate", {"interfaces": [interface]})
    owner = membership.require_owner(node.uuid, node.conductor_group, node.driver)
    node.last_error = None
    asked = {"method": f"{interface}.{method}", "arguments": arguments, "failure": failure}
    work.request(session, node, owner, KIND, asked)
