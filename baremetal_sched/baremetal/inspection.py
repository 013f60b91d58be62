"""Inspections of nodes: their times, and what follows from what they find."""

from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import inventory as inventories
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node


def begin(session: Session, node: Node) -> None:
    """The inspection begins now."""
    node.inspection_started_at, node.inspection_finished_at = utcnow(), None


def finish(session: Session, node: Node, inventory: dict[str, Any], plugin_data: dict[str, Any]) -> None:
    """The inspection has ended, with ``inventory`` as Ironic's agent reports it.

    Everything that an inspection leads to begins here, in the transaction that ends it.
    """
    node.inspection_started_at, node.inspection_finished_at = None, utcnow()
    node.last_error = None
    inventories.store(session, node, inventory, plugin_data)
