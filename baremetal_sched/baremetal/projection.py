"""A node as a resource provider: the only place where a node's change reaches placement.

Called in the node's own transaction, after the change; so the two views cannot be found apart.
"""

import re
from collections.abc import Collection

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import states
from baremetal_sched.db.models import Node, NodeTrait
from baremetal_sched.errors.baremetal import NodeAllocated
from baremetal_sched.errors.placement import InventoryInUse
from baremetal_sched.placement import projected

#: The columns of a node that ``project`` and the checks before a change look at.
COLUMNS = (
    Node.uuid,
    Node.revision,
    Node.driver,
    Node.conductor_group,
    Node.reservation,
    Node.resource_class,
    Node.provision_state,
    Node.power_state,
    Node.maintenance,
    Node.instance_uuid,
)

_NOT_ALPHANUMERIC = re.compile(r"[^0-9A-Za-z]+")


def resource_class_of(name: str) -> str:
    """The resource class in placement that a node's ``resource_class`` becomes: ``gold.v1`` is ``CUSTOM_GOLD_V1``.

    As Nova has it: each run of characters outside ``0-9 A-Z a-z`` becomes one ``_``; nothing is stripped, and a
    ``CUSTOM_`` in front stays and gets another.
    """
    return "CUSTOM_" + _NOT_ALPHANUMERIC.sub("_", name).upper()


def is_reserved(
    provision_state: str | None, power_state: str | None, maintenance: bool, instance_uuid: str | None
) -> bool:
    """May the node not be given out now? It may if it is available, its power state is known and sound, it is not in
    maintenance and nobody is on it (the rule of Nova's Ironic driver, and of Ironic's allocations)."""
    unavailable = (
        maintenance
        or power_state in (None, states.ERROR)
        or (provision_state is not None and provision_state != states.AVAILABLE)
    )
    return unavailable or instance_uuid is not None


def inventory_of(node: Node) -> projected.Unit | None:
    """What the node's provider has: one of its resource class; nothing if it has no class that placement can take."""
    if not node.resource_class:
        return None
    reserved = is_reserved(node.provision_state, node.power_state, node.maintenance, node.instance_uuid)
    return projected.Unit(resource_class_of(node.resource_class), reserved)


def project(session: Session, node: Node, traits: Collection[str] | None = None) -> list[str]:
    """Make the node's provider what the node says; returns what had to change, in words.

    ``traits`` are the node's, if the caller has just read or written them.

    Raises NodeAllocated if the node changed its resource class while somebody holds the old one.
    """
    session.flush()
    if traits is None:
        traits = session.scalars(select(NodeTrait.trait).where(NodeTrait.node_id == node.id)).all()
    try:
        return projected.conform(session, node.uuid, inventory_of(node), traits)
    except InventoryInUse:
        consumers = projected.consumers_of(session, node.uuid)
        raise NodeAllocated(node=node.uuid, consumer=", ".join(consumers)) from None


def withdraw(session: Session, node: Node, *, force: bool) -> None:
    """Remove the node's provider. Raises NodeAllocated if somebody holds it, unless ``force``."""
    consumers = projected.consumers_of(session, node.uuid)
    if consumers and not force:
        raise NodeAllocated(node=node.uuid, consumer=", ".join(consumers))
    projected.remove(session, node.uuid)
