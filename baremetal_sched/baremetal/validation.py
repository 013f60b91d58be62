"""Is a node fit for what its interfaces have to do?"""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.drivers.base import INTERFACE_TYPES
from baremetal_sched.baremetal.drivers.interfaces import Driver
from baremetal_sched.baremetal.drivers.machine import Machine
from baremetal_sched.db.models import Node, NodeTrait
from baremetal_sched.errors import InvalidValue, SchedulerError
from baremetal_sched.settings import Settings

#: Vendors' methods validate what they are called with, and nothing before.
VALIDATED = tuple(kind for kind in INTERFACE_TYPES if kind != "vendor")


def report(session: Session, node: Node, settings: Settings) -> dict[str, dict[str, Any]]:
    """By interface type: ``{"result": true}``, or false with the ``reason``."""
    machine = Machine.of(node, settings)
    driver = Driver(machine)
    found: dict[str, dict[str, Any]] = {}
    for kind in VALIDATED:
        try:
            getattr(driver, kind).validate(machine)
            if kind == "deploy":
                require_traits(session, node)
        except SchedulerError as error:
            found[kind] = {"result": False, "reason": str(error)}
        else:
            found[kind] = {"result": True}
    return found


def require_deployable(session: Session, node: Node, settings: Settings) -> None:
    """Raise InvalidValue unless the node, with its ``instance_info``, can be deployed."""
    machine = Machine.of(node, settings)
    driver = Driver(machine)
    try:
        driver.power.validate(machine)
        driver.deploy.validate(machine)
        require_traits(session, node)
    except SchedulerError as error:
        raise InvalidValue(message=f"Failed to validate deploy or power info for node {node.uuid}: {error}") from error


def require_traits(session: Session, node: Node) -> None:
    """Raise InvalidValue if ``instance_info.traits`` has traits that the node lacks, naming them, or is no list."""
    wanted = (node.instance_info or {}).get("traits")
    if not wanted:
        return
    if not isinstance(wanted, list) or not all(isinstance(trait, str) for trait in wanted):
        raise InvalidValue(
            message=f"Error parsing traits from Node {node.uuid} instance_info field. A list of strings is expected."
        )
    present = set(session.scalars(select(NodeTrait.trait).where(NodeTrait.node_id == node.id)))
    missing = sorted(set(wanted) - present)
    if missing:
        raise InvalidValue(
            message="Cannot specify instance traits that are not also set on the node. "
            f"Node {node.uuid} is missing traits {', '.join(missing)}"
        )
