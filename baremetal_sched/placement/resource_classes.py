"""Resource classes."""

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Allocation, Inventory, Node, ResourceClass, ResourceProvider
from baremetal_sched.db.results import new_id, require_changed
from baremetal_sched.db.types import Rows
from baremetal_sched.errors.placement import (
    ResourceClassExists,
    ResourceClassInUse,
    ResourceClassNameTaken,
    ResourceClassOfNodes,
    StandardResourceClass,
)
from baremetal_sched.placement import names, usages


def list_classes(session: Session, *, name: str | None = None) -> Rows:
    """Return resource classes (name, created_at, updated_at), ordered by id; or only the one called ``name``."""
    query = select(ResourceClass.name, ResourceClass.created_at, ResourceClass.updated_at).order_by(ResourceClass.id)
    return session.execute(query.where(ResourceClass.name == name) if name is not None else query).all()


def create(session: Session, name: str) -> None:
    """Create a custom class with a valid name. Raises ResourceClassExists."""
    if not ensure(session, name):
        raise ResourceClassExists(resource_class=name)


def ensure(session: Session, name: str) -> bool:
    """Ensure that the custom class ``name`` (a valid name) exists; return whether it is new."""
    if names.ids_of(session, ResourceClass, [name]):
        return False
    session.execute(insert(ResourceClass).values(name=name, created_at=utcnow(), updated_at=utcnow()))
    return True


def rename(session: Session, name: str, new_name: str) -> None:
    """Rename a class, with all its inventories and allocations.

    It gets a new id, so that cached names of ids stay correct. Raises ResourceClassNotFound, StandardResourceClass,
    ResourceClassNameTaken, ResourceClassOfNodes.
    """
    class_id = names.class_id(session, name)
    if name in names.STANDARD_CLASSES:
        raise StandardResourceClass(message=f"Cannot update standard resource class {name}")
    if new_name == name:
        session.execute(update(ResourceClass).where(ResourceClass.id == class_id).values(updated_at=utcnow()))
        return
    if names.ids_of(session, ResourceClass, [new_name]):
        raise ResourceClassNameTaken(resource_class=new_name)
    if session.scalar(
        select(Node.id)
        .join(ResourceProvider, ResourceProvider.uuid == Node.uuid)
        .join(Inventory, Inventory.provider_id == ResourceProvider.id)
        .where(Inventory.resource_class_id == class_id)
        .limit(1)
    ):
        raise ResourceClassOfNodes(resource_class=name)
    created_at = session.scalar(select(ResourceClass.created_at).where(ResourceClass.id == class_id))
    if created_at is None:
        raise StaleDataError("the class was deleted or renamed")
    renamed = insert(ResourceClass).values(name=new_name, created_at=created_at, updated_at=utcnow())
    renamed_id = new_id(session.execute(renamed))
    for model in (Inventory, Allocation):
        session.execute(update(model).where(model.resource_class_id == class_id).values(resource_class_id=renamed_id))
    _delete(session, class_id)
    holders = session.scalars(
        select(Allocation.consumer_id).where(Allocation.resource_class_id == renamed_id).distinct()
    )
    usages.keep(session.connection(), holders.all())


def remove(session: Session, name: str) -> None:
    """Delete a class. Raises ResourceClassNotFound, StandardResourceClass, ResourceClassInUse (a provider has inventory
    of it)."""
    class_id = names.class_id(session, name)
    if name in names.STANDARD_CLASSES:
        raise StandardResourceClass(
            message=f"Error in delete resource class: Cannot delete standard resource class {name}."
        )
    if session.scalar(select(Inventory.provider_id).where(Inventory.resource_class_id == class_id).limit(1)):
        raise ResourceClassInUse(resource_class=name)
    _delete(session, class_id)


def _delete(session: Session, class_id: int) -> None:
    deleted = session.execute(delete(ResourceClass).where(ResourceClass.id == class_id))
    require_changed(deleted, "the class was deleted")
