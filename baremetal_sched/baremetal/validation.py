"""Is a node fit for what its interfaces have to do?"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import deploy_templates, step_plans
from baremetal_sched.baremetal.drivers.base import INTERFACE_TYPES
from baremetal_sched.baremetal.drivers.interfaces import Driver
from baremetal_sched.baremetal.drivers.machine import Machine
from baremetal_sched.db.models import Node, NodeTrait
from baremetal_sched.errors import InvalidValue, SchedulerError
from baremetal_sched.masking import mask_text
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
                _require_plan(session, node, driver)
        except SchedulerError as error:
            found[kind] = {"result": False, "reason": mask_text(str(error))}
        else:
            found[kind] = {"result": True}
    return found


def require_deployable(
    session: Session, node: Node, settings: Settings, steps: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The steps of the deploy templates that the node's instance asks for.

    Raises InvalidValue unless the node, with its ``instance_info``, can be deployed by these and ``steps``.
    """
    machine = Machine.of(node, settings)
    driver = Driver(machine)
    try:
        driver.power.validate(machine)
        driver.deploy.validate(machine)
        return _require_plan(session, node, driver, steps)
    except SchedulerError as error:
        raise InvalidValue(message=f"Failed to validate deploy or power info for node {node.uuid}: {error}") from error


def _require_plan(
    session: Session, node: Node, driver: Driver, steps: Sequence[Mapping[str, Any]] = ()
) -> list[dict[str, Any]]:
    templates = deploy_templates.steps_for(session, _require_traits(session, node))
    step_plans.deployment(driver, templates, steps)
    return templates


def _require_traits(session: Session, node: Node) -> list[str]:
    """``instance_info.traits``. Raises InvalidValue if it is no list, or the node lacks some of them, naming these."""
    wanted = (node.instance_info or {}).get("traits")
    if not wanted:
        return []
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
    return wanted
