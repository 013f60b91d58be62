"""What a provider has, how much of it is used, and which traits it has (reading)."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import Inventory, ProviderTrait, ResourceClass, Trait
from baremetal_sched.db.types import Rows

#: The parts of an inventory, as documents have them.
PARTS = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")


def list_inventories(session: Session, provider_id: int) -> Rows:
    """The provider's inventories in the order of their classes: name, the PARTS, used, created_at, updated_at."""
    return session.execute(
        select(
            ResourceClass.name,
            *(getattr(Inventory, part) for part in PARTS),
            Inventory.used,
            Inventory.created_at,
            Inventory.updated_at,
        )
        .join(ResourceClass, ResourceClass.id == Inventory.resource_class_id)
        .where(Inventory.provider_id == provider_id)
        .order_by(Inventory.resource_class_id)
    ).all()


def list_provider_traits(session: Session, provider_id: int) -> Rows:
    """The provider's traits: name and created_at, sorted."""
    return session.execute(
        select(Trait.name, Trait.created_at)
        .join(ProviderTrait, ProviderTrait.trait_id == Trait.id)
        .where(ProviderTrait.provider_id == provider_id)
        .order_by(Trait.name)
    ).all()
