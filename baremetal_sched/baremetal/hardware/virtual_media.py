"""Virtual media of a node, inserted and ejected by its management interface."""

from collections.abc import Collection
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import driver_calls, driver_work
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.db.models import Node


def attach(session: Session, node: Node, membership: Membership, device_type: str, image_url: str) -> None:
    """Have an image inserted into a virtual device of the node (its row locked); if that fails, ``last_error`` says
    so."""
    failure = f"Could not attach device {device_type} to node {node.uuid}"
    driver_work.request(
        *(session, node, membership, "management", "attach_virtual_media", failure),
        device_type=device_type,
        image_url=image_url,
    )


def detach(session: Session, node: Node, membership: Membership, device_types: Collection[str]) -> None:
    """Have what is in these devices of the node (its row locked) ejected, or in all of them; if that fails,
    ``last_error`` says so."""
    failure = f"Could not detach device(s) {', '.join(device_types) or 'of any type'} from node {node.uuid}"
    driver_work.request(
        session, node, membership, "management", "detach_virtual_media", failure, device_types=list(device_types)
    )


def show(session: Session, node: Node, membership: Membership) -> list[dict[str, Any]]:
    """Return the virtual devices and their contents. Raises Unanswered."""
    found: list[dict[str, Any]] = driver_calls.answer(session, node, membership, "management.get_virtual_media")
    return found
