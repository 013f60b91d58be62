"""Whether a node is fit for what its interfaces must do."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import driver_calls
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.db.models import DeployTemplate, Node, NodeTrait
from baremetal_sched.errors import InvalidValue, SchedulerError
from baremetal_sched.machines.interface_types import INTERFACE_TYPES
from baremetal_sched.masking import mask_text
from baremetal_sched.placement import consumers

#: Vendors' methods validate their own arguments.
VALIDATED = tuple(kind for kind in INTERFACE_TYPES if kind != "vendor")


def report(session: Session, node: Node, membership: Membership) -> dict[str, dict[str, Any]]:
    """By interface type: ``{"result": true}``, or false with the ``reason``. Raises Unanswered."""
    try:
        templates, refused = _templates(session, node), {}
    except InvalidValue as error:
        templates, refused = [], {"deploy": str(error)}
    arguments = {"interfaces": list(VALIDATED), "templates": templates}
    said = driver_calls.answer(session, node, membership, "report", arguments)
    reasons = {**refused, **said}
    return {
        kind: {"result": False, "reason": mask_text(reasons[kind])} if kind in reasons else {"result": True}
        for kind in VALIDATED
    }


def require_deployable(
    session: Session, node: Node, membership: Membership, steps: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The steps of the deploy templates that the node's instance asks for.

    Raises Unanswered; InvalidValue unless the node, with its ``instance_info``, can be deployed by these and ``steps``.
    """
    try:
        templates = _templates(session, node)
        arguments = {"templates": templates, "steps": [dict(step) for step in steps]}
        driver_calls.answer(session, node, membership, "validate_deploy", arguments)
    except SchedulerError as error:
        raise _not_deployable(node, error) from error
    return templates


def require_traits(session: Session, node: Node) -> list[dict[str, Any]]:
    """Like ``require_deployable``, without the driver's validation, which the conductor that deploys the node does."""
    try:
        return _templates(session, node)
    except SchedulerError as error:
        raise _not_deployable(node, error) from error


def _not_deployable(node: Node, error: SchedulerError) -> InvalidValue:
    return InvalidValue(message=f"Failed to validate deploy or power info for node {node.uuid}: {error}")


def _templates(session: Session, node: Node) -> list[dict[str, Any]]:
    """Return the steps of the deploy templates that the node's instance asks for; those of older templates come
    first."""
    traits = _require_traits(session, node)
    if not traits:
        return []
    found = select(DeployTemplate.steps).where(DeployTemplate.name.in_(traits)).order_by(DeployTemplate.id)
    return [step for steps in session.scalars(found) for step in steps]


def _require_traits(session: Session, node: Node) -> list[str]:
    """Return ``instance_info.traits``.

    Raises InvalidValue if it is not a list, or if neither the node nor a device that its instance holds has one.
    """
    required = (node.instance_info or {}).get("traits")
    if not required:
        return []
    if not isinstance(required, list) or not all(isinstance(trait, str) for trait in required):
        raise InvalidValue(
            message=f"Error parsing traits from Node {node.uuid} instance_info field. A list of strings is expected."
        )
    present = set(session.scalars(select(NodeTrait.trait).where(NodeTrait.node_id == node.id)))
    if node.instance_uuid is not None:
        present |= consumers.traits_held_by(session, node.instance_uuid)
    missing = sorted(set(required) - present)
    if missing:
        raise InvalidValue(
            message="Cannot specify instance traits that are not also set on the node. "
            f"Node {node.uuid} is missing traits {', '.join(missing)}"
        )
    return required
