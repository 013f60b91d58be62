"""Inventories of nodes: what the last inspection of each found."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, NodeInventory
from baremetal_sched.db.types import as_text
from baremetal_sched.errors.baremetal import InventoryNotFound

#: The parts of an inventory.
PARTS = ("inventory", "plugin_data")


def store(session: Session, node: Node, inventory: dict[str, Any], plugin_data: dict[str, Any]) -> None:
    """Replace the stored inventory of ``node`` (its row locked)."""
    session.merge(
        NodeInventory(node_id=node.id, inventory=inventory, plugin_data=plugin_data, created_at=utcnow()),
    )


def last(session: Session, node_uuid: str) -> dict[str, Any] | None:
    """Return the inventory that the last inspection of a node found, or None."""
    found: dict[str, Any] | None = session.scalar(
        select(NodeInventory.inventory).join(Node).where(Node.uuid == node_uuid)
    )
    return found


def find(session: Session, node: Node) -> dict[str, str]:
    """What the last inspection of ``node`` found: each of PARTS as it is stored. Raises InventoryNotFound."""
    columns = [as_text(getattr(NodeInventory, name).expression) for name in PARTS]
    found = session.execute(select(*columns).where(NodeInventory.node_id == node.id)).first()
    if found is None:
        raise InventoryNotFound(node=node.uuid)
    return dict(zip(PARTS, found, strict=True))
