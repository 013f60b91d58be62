"""Trees of resource providers: creating, renaming, moving and deleting providers."""

from enum import Enum

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.orm import Session, aliased
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Allocation, Inventory, ProviderAggregate, ProviderTrait, ResourceProvider
from baremetal_sched.db.results import new_id, rows_changed
from baremetal_sched.errors.placement import (
    DuplicateProvider,
    MirrorsNode,
    ProviderHasChildren,
    ProviderInUse,
    ProviderNotCreated,
    ProviderNotFound,
    ProviderNotFoundForDelete,
    ProviderNotSaved,
    TreeHeld,
)
from baremetal_sched.placement import gate, indivisible
from baremetal_sched.placement.locked import LockedProvider, lock


class Parent(Enum):
    """Marks a parent that the client did not specify."""

    UNCHANGED = "the parent stays as it is"


def create(session: Session, uuid: str, name: str, parent_uuid: str | None = None) -> int:
    """Create a provider, a root or a child; return its id.

    Raises DuplicateProvider, and ProviderNotCreated if it has no name or its parent is not valid.
    """
    if not name:
        raise ProviderNotCreated(name=name, provider=uuid, reason="name is required")
    if parent_uuid is not None and parent_uuid == uuid:
        raise ProviderNotCreated(
            name=name,
            provider=uuid,
            reason="parent provider UUID cannot be same as UUID. Leave it out for a provider without a parent.",
        )
    parent = None
    if parent_uuid is not None:
        parent = session.execute(
            select(
                ResourceProvider.id,
                ResourceProvider.root_id,
                ResourceProvider.mirrored_class_id,
                ResourceProvider.indivisible,
            )
            .where(ResourceProvider.uuid == parent_uuid)
            .with_for_update()
        ).first()
        if parent is None:
            raise ProviderNotCreated(name=name, provider=uuid, reason="parent provider UUID does not exist.")
    _require_free(session, uuid, name)
    values = {"uuid": uuid, "name": name, "generation": 0, "created_at": utcnow(), "updated_at": utcnow()}
    if parent is not None:
        values |= {"parent_id": parent.id, "root_id": parent.root_id}
    provider_id = new_id(session.execute(insert(ResourceProvider).values(**values)))
    if parent is None:
        session.execute(update(ResourceProvider).where(ResourceProvider.id == provider_id).values(root_id=provider_id))
    elif parent.indivisible or parent.mirrored_class_id is not None:
        indivisible.settle(session, parent.root_id)
    return provider_id


def _require_free(session: Session, uuid: str, name: str) -> None:
    taken = session.execute(
        select(ResourceProvider.uuid, ResourceProvider.name).where(
            (ResourceProvider.uuid == uuid) | (ResourceProvider.name == name)
        )
    ).all()
    clashes = []
    if any(row.uuid == uuid for row in taken):
        clashes.append(f"uuid: {uuid}")
    # The database decides which names are equal; some ignore trailing blanks.
    if any(row.name == name or row.uuid != uuid for row in taken):
        clashes.append(f"name: {name}")
    if clashes:
        raise DuplicateProvider(what=", ".join(clashes))


def save(session: Session, uuid: str, name: str, parent_uuid: str | Parent | None, *, may_move: bool) -> None:
    """Rename a provider and, unless it is UNCHANGED, move it below another parent (None: make it a root).

    ``may_move``: whether it may leave an existing parent (clients before 1.37 may only give a root one). Raises
    ProviderNotFound, DuplicateProvider, ProviderNotSaved; MirrorsNode for the provider of a node, TreeHeld if different
    consumers hold what would be one indivisible tree.
    """
    provider = lock(session, uuid)
    if provider.mirrors_node:
        _require_same(session, provider, name, parent_uuid)
        return
    if not isinstance(parent_uuid, Parent):
        moved = _move(session, provider.id, uuid, parent_uuid, may_move)
        if moved is not None:
            gate.moved(session, *moved)
    if session.scalar(
        select(ResourceProvider.id).where(ResourceProvider.name == name, ResourceProvider.id != provider.id)
    ):
        raise DuplicateProvider(what=name)
    session.execute(
        update(ResourceProvider).where(ResourceProvider.id == provider.id).values(name=name, updated_at=utcnow())
    )


def _require_same(session: Session, provider: LockedProvider, name: str, parent_uuid: str | Parent | None) -> None:
    parent = aliased(ResourceProvider)
    found = session.execute(
        select(ResourceProvider.name, parent.uuid)
        .outerjoin(parent, parent.id == ResourceProvider.parent_id)
        .where(ResourceProvider.id == provider.id)
    ).one()
    if name != found.name:
        raise MirrorsNode(provider=provider.uuid, what="name")
    if parent_uuid not in (Parent.UNCHANGED, found.uuid):
        raise MirrorsNode(provider=provider.uuid, what="place in a tree")


def _move(
    session: Session, provider_id: int, uuid: str, parent_uuid: str | None, may_move: bool
) -> tuple[int, int, set[int]] | None:
    """Return the ids of the old root, the new root, and what was moved; None if it is there already."""

    def refused(reason: str) -> ProviderNotSaved:
        return ProviderNotSaved(provider=uuid, action="update", reason=reason)

    own = session.execute(
        select(ResourceProvider.parent_id, ResourceProvider.root_id).where(ResourceProvider.id == provider_id)
    ).one()
    parent = None
    if parent_uuid is not None:
        parent = session.execute(
            select(ResourceProvider.id, ResourceProvider.root_id).where(ResourceProvider.uuid == parent_uuid)
        ).first()
        if parent is None:
            raise refused("parent provider UUID does not exist.")
    new_parent_id = parent.id if parent else None
    if new_parent_id == own.parent_id:
        return None
    if own.parent_id is not None and not may_move:
        raise refused(
            "un-parenting a provider is not currently allowed."
            if parent is None
            else "re-parenting a provider is not currently allowed."
        )
    new_root_id = parent.root_id if parent else provider_id
    # Every other move in these trees must write the same two rows: moves that together would close a loop wait for
    # each other here. After waiting, a move may find changed trees, and starts again.
    _touch(session, {own.root_id, new_root_id})
    if _roots(session, provider_id, new_parent_id) != (own.root_id, parent.root_id if parent else None):
        raise StaleDataError("the trees were changed")
    subtree = _subtree(session, provider_id, own.root_id)
    if new_parent_id in subtree:
        raise refused("creating loop in the provider tree is not allowed.")
    session.execute(update(ResourceProvider).where(ResourceProvider.id == provider_id).values(parent_id=new_parent_id))
    session.execute(update(ResourceProvider).where(ResourceProvider.id.in_(subtree)).values(root_id=new_root_id))
    # A child created below one of them while this waited for its row is not in the list.
    left = ResourceProvider.parent_id.in_(subtree) & (ResourceProvider.root_id != new_root_id)
    if session.scalar(select(ResourceProvider.id).where(left).limit(1)):
        raise StaleDataError("a provider was added to the tree")
    _settle(session, own.root_id, new_root_id)
    return own.root_id, new_root_id, subtree


def make_root(session: Session, provider_id: int, uuid: str) -> None:
    """Make a provider, with all below it, a tree of its own."""
    _move(session, provider_id, uuid, None, may_move=True)


def _settle(session: Session, *root_ids: int) -> None:
    """Update the derived columns of these trees, if one of them mirrors a node. Raises TreeHeld."""
    mirrors = select(ResourceProvider.id).where(
        ResourceProvider.id.in_(root_ids), ResourceProvider.mirrored_class_id.is_not(None)
    )
    mirroring = set(session.scalars(mirrors))
    if not mirroring:
        return
    for root_id in sorted(root_ids):
        indivisible.settle(session, root_id)
        if root_id in mirroring and len(indivisible.consumers_in(session, root_id)) > 1:
            uuid = session.scalar(select(ResourceProvider.uuid).where(ResourceProvider.id == root_id))
            raise TreeHeld(provider=uuid, why=" Different consumers would hold parts of it.")


def _roots(session: Session, provider_id: int, parent_id: int | None) -> tuple[int | None, int | None]:
    """Return the current ids of both roots."""
    rows = session.execute(
        select(ResourceProvider.id, ResourceProvider.root_id).where(ResourceProvider.id.in_([provider_id, parent_id]))
    )
    roots = {row_id: root_id for row_id, root_id in rows}
    return roots.get(provider_id), roots.get(parent_id) if parent_id is not None else None


def _touch(session: Session, provider_ids: set[int]) -> None:
    for provider_id in sorted(provider_ids):
        session.execute(update(ResourceProvider).where(ResourceProvider.id == provider_id).values(updated_at=utcnow()))


def _subtree(session: Session, provider_id: int, root_id: int) -> set[int]:
    """Return the ids of the provider and of all below it."""
    children: dict[int | None, list[int]] = {}
    rows = session.execute(
        select(ResourceProvider.id, ResourceProvider.parent_id).where(ResourceProvider.root_id == root_id)
    )
    for child, parent in rows:
        children.setdefault(parent, []).append(child)
    found, waiting = {provider_id}, [provider_id]
    while waiting:
        below = children.get(waiting.pop(), [])
        found.update(below)
        waiting.extend(below)
    return found


def remove(session: Session, uuid: str) -> None:
    """Delete a provider with its inventories and associations.

    Raises ProviderNotFoundForDelete, MirrorsNode, ProviderHasChildren, ProviderInUse.
    """
    try:
        provider = lock(session, uuid)
    except ProviderNotFound:
        raise ProviderNotFoundForDelete(provider=uuid) from None
    if provider.mirrors_node:
        raise MirrorsNode(provider=uuid, what="existence")
    require_childless(session, provider.id, uuid)
    if session.scalar(select(Allocation.consumer_id).where(Allocation.provider_id == provider.id).limit(1)):
        raise ProviderInUse(provider=uuid)
    erase(session, provider.id)
    if provider.indivisible:
        indivisible.settle(session, provider.root_id)


def require_childless(session: Session, provider_id: int, uuid: str) -> None:
    """Raise ProviderHasChildren if the provider has children."""
    if session.scalar(select(ResourceProvider.id).where(ResourceProvider.parent_id == provider_id).limit(1)):
        raise ProviderHasChildren(provider=uuid)


def erase(session: Session, provider_id: int, *, force: bool = False) -> None:
    """Delete a provider without children (its row locked), its inventories and associations. Raises StaleDataError if
    an inventory is in use, unless ``force``."""
    of_provider = Inventory.provider_id == provider_id
    stocked = session.scalar(select(func.count()).select_from(Inventory).where(of_provider))
    unused = () if force else (Inventory.used == 0,)
    if rows_changed(session.execute(delete(Inventory).where(of_provider, *unused))) != stocked:
        raise StaleDataError("what was to be removed is in use")
    for model in (ProviderTrait, ProviderAggregate):
        session.execute(delete(model).where(model.provider_id == provider_id))
    # The root of a tree points to itself.
    session.execute(update(ResourceProvider).where(ResourceProvider.id == provider_id).values(root_id=None))
    session.execute(delete(ResourceProvider).where(ResourceProvider.id == provider_id))
