"""What a node carries for the instance on it."""

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import allocations
from baremetal_sched.db.models import Node

_RESCUE_PASSWORDS = ("rescue_password", "hashed_rescue_password")


def remove(session: Session, node: Node) -> None:
    """The node has no instance any more: what belonged to that goes, and the lessee if deploying set him.

    Its allocation goes. Traits, resource class and name stay, and so does what others claimed in placement.
    """
    internal = dict(node.driver_internal_info or {})
    if internal.pop("automatic_lessee", False):
        node.lessee = None
    node.driver_internal_info = internal
    allocations.release(session, node)
    node.instance_info = {}
    node.instance_uuid = node.instance_name = None


def forget_rescue_password(node: Node) -> None:
    """Nobody is to log in to a rescue system any more."""
    node.instance_info = {
        name: value for name, value in (node.instance_info or {}).items() if name not in _RESCUE_PASSWORDS
    }
