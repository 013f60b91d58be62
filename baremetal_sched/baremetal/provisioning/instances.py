"""The fields of a node that belong to its instance."""

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.allocations import allocations
from baremetal_sched.db.models import Node
from baremetal_sched.db.sealing import readable

_RESCUE_PASSWORDS = ("rescue_password", "hashed_rescue_password")


def remove(session: Session, node: Node) -> None:
    """Remove the instance from the node: everything that belonged to it, and the lessee if deploying set it.

    Its allocation is deleted. Traits, resource class and name stay, as do claims of others in placement.
    """
    internal = dict(readable(node.driver_internal_info))
    if internal.pop("automatic_lessee", False):
        node.lessee = None
        node.driver_internal_info = internal
    allocations.release(session, node)
    node.instance_info = {}
    node.instance_uuid = node.instance_name = None


def forget_rescue_password(node: Node) -> None:
    """Delete the rescue password: logins to a rescue system are over."""
    known = readable(node.instance_info)
    if any(name in known for name in _RESCUE_PASSWORDS):
        node.instance_info = {name: value for name, value in known.items() if name not in _RESCUE_PASSWORDS}
