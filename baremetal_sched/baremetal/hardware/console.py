"""The console of a node."""

from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import driver_calls, driver_work
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.db.models import Node


def show(session: Session, node: Node, membership: Membership) -> dict[str, Any]:
    """Return ``console_enabled`` and ``console_info``: how it is reached, null while it is off. Raises Unanswered."""
    info = driver_calls.answer(session, node, membership, "console.get_console") if node.console_enabled else None
    return {"console_enabled": node.console_enabled, "console_info": info}


def switch(session: Session, node: Node, membership: Membership, *, enabled: bool) -> None:
    """Have the console of the node (its row locked) switched on or off; if that fails, ``last_error`` says so.

    Raises Unanswered, and UnsupportedByDriver if there is no console.
    """
    method, failure = ("start", "Error enabling console") if enabled else ("stop", "Error disabling console")
    driver_work.request(session, node, membership, "console", method, failure)


def stop(session: Session, node: Node, membership: Membership) -> None:
    """Have the console switched off if it is on, before the node is deleted. Raises Unanswered until it is off."""
    if node.console_enabled:
        driver_calls.answer(session, node, membership, "console.stop", reserves=True)
