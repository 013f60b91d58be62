"""The audit of the database: does what is kept for speed agree with what it is made from?"""

from collections.abc import Iterator
from itertools import groupby

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session, load_only

from baremetal_sched.baremetal import projection
from baremetal_sched.db.models import (
    Allocation,
    Inventory,
    Node,
    NodeTrait,
    ProviderTrait,
    ResourceClass,
    ResourceProvider,
    Trait,
)
from baremetal_sched.placement import trait_ids


def audit(session: Session) -> list[str]:
    """What is wrong, a line each; empty if all is well. Writes nothing."""
    return [*_usage(session), *_inventories(session), *_traits(session), *_trait_ids(session)]


def _usage(session: Session) -> Iterator[str]:
    """inventories.used against the sum of allocations. More than the capacity may well be used: the reserved unit of a
    node that somebody is on, or an inventory that was made smaller."""
    total = func.coalesce(
        select(func.sum(Allocation.used))
        .where(
            Allocation.provider_id == Inventory.provider_id,
            Allocation.resource_class_id == Inventory.resource_class_id,
        )
        .scalar_subquery(),
        0,
    )
    rows = session.execute(
        select(ResourceProvider.uuid, ResourceClass.name, Inventory.used, total.label("allocated"))
        .join(ResourceProvider, ResourceProvider.id == Inventory.provider_id)
        .join(ResourceClass, ResourceClass.id == Inventory.resource_class_id)
        .where(or_(Inventory.used != total, Inventory.used < 0))
    )
    for uuid, name, used, allocated in rows:
        yield f"provider {uuid}: used {used} of {name}, but {allocated} are allocated"
    orphans = session.execute(
        select(ResourceProvider.uuid, ResourceClass.name)
        .select_from(Allocation)
        .join(ResourceProvider, ResourceProvider.id == Allocation.provider_id)
        .join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
        .outerjoin(
            Inventory,
            (Inventory.provider_id == Allocation.provider_id)
            & (Inventory.resource_class_id == Allocation.resource_class_id),
        )
        .where(Inventory.provider_id.is_(None))
    )
    for uuid, name in orphans:
        yield f"provider {uuid}: {name} is allocated, but there is no inventory of it"


def _inventories(session: Session) -> Iterator[str]:
    """The inventory of each node's provider against the node."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for uuid, name, total, reserved in session.execute(
        select(ResourceProvider.uuid, ResourceClass.name, Inventory.total, Inventory.reserved)
        .join(Inventory, Inventory.provider_id == ResourceProvider.id)
        .join(ResourceClass, ResourceClass.id == Inventory.resource_class_id)
    ):
        found.setdefault(uuid, {})[name] = (total, reserved)
    providers = set(session.scalars(select(ResourceProvider.uuid)))
    # Not in portions: that takes a cursor, which PostgreSQL has in transactions only, and reads have none.
    seen = (
        Node.uuid,
        Node.resource_class,
        Node.provision_state,
        Node.power_state,
        Node.maintenance,
        Node.instance_uuid,
    )
    for node in session.scalars(select(Node).options(load_only(*seen))):
        if node.uuid not in providers:
            yield f"node {node.uuid}: has no resource provider"
            continue
        unit = projection.inventory_of(node)
        wanted = {unit.resource_class: (1, int(unit.reserved))} if unit else {}
        if found.get(node.uuid, {}) != wanted:
            yield f"node {node.uuid}: its provider has {found.get(node.uuid, {})} (total, reserved), not {wanted}"


def _traits(session: Session) -> Iterator[str]:
    """The traits of each node's provider against the node's own."""
    own = {
        (uuid, name)
        for uuid, name in session.execute(
            select(Node.uuid, NodeTrait.trait).join(NodeTrait, NodeTrait.node_id == Node.id)
        )
    }
    shown = {
        (uuid, name)
        for uuid, name in session.execute(
            select(ResourceProvider.uuid, Trait.name)
            .join(ProviderTrait, ProviderTrait.provider_id == ResourceProvider.id)
            .join(Trait, Trait.id == ProviderTrait.trait_id)
            .join(Node, Node.uuid == ResourceProvider.uuid)
        )
    }
    for uuid, name in sorted(own - shown):
        yield f"node {uuid}: its provider lacks the trait {name}"
    for uuid, name in sorted(shown - own):
        yield f"node {uuid}: its provider has the trait {name}, which the node has not"


def _trait_ids(session: Session) -> Iterator[str]:
    """resource_providers.trait_ids against provider_traits."""
    rows = session.execute(
        select(ResourceProvider.uuid, ResourceProvider.trait_ids, ProviderTrait.trait_id)
        .outerjoin(ProviderTrait, ProviderTrait.provider_id == ResourceProvider.id)
        .order_by(ResourceProvider.id)
    )
    for (uuid, text), group in groupby(rows, lambda row: (row[0], row[1])):
        wanted = trait_ids.text_of({row[2] for row in group if row[2] is not None})
        if text != wanted:
            yield f'provider {uuid}: its trait_ids are "{text}", but those of its traits are "{wanted}"'
