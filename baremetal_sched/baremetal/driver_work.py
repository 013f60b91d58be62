"""Calls of drivers that nobody waits for: pieces of work, of which ``last_error`` says how they failed."""

from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import driver_calls, work
from baremetal_sched.baremetal.ownership import Membership
from baremetal_sched.db.models import Node

#: The kind of work that this is.
KIND = "driver"


def request(
    session: Session, node: Node, membership: Membership, interface: str, method: str, failure: str, **arguments: Any
) -> None:
    """Ask the conductor of ``node`` (its row locked, not reserved) for a call of ``method``, named with its interface.

    ``failure`` is what ``last_error`` begins with if it fails; what ``validate`` of the interface refuses is refused
    now. Raises Unanswered, NoConductors, NoValidHost, and what the driver raises.
    """
    driver_calls.answer(session, node, membership, "validate", {"interfaces": [interface]})
    owner = membership.require_owner(node.uuid, node.conductor_group, node.driver)
    node.last_error = None
    asked = {"method": f"{interface}.{method}", "arguments": arguments, "failure": failure}
    work.request(session, node, owner, KIND, asked)
