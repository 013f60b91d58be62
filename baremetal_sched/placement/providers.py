"""Resource providers: finding and listing them. (Creating, moving and deleting: ``tree``.)"""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from baremetal_sched.db.models import ResourceProvider
from baremetal_sched.db.types import Query, Rows
from baremetal_sched.errors import ProviderNotFound
from baremetal_sched.placement.candidates import flat
from baremetal_sched.placement.candidates.query import RequestGroup

_Parent = aliased(ResourceProvider)
_Root = aliased(ResourceProvider)


@dataclass
class ProviderFilters:
    """What a list is narrowed to; all conditions must hold, each on the provider itself. ``group`` has resources,
    traits, aggregates and ``in_tree``."""

    name: str | None = None
    uuid: str | None = None
    group: RequestGroup = field(default_factory=lambda: RequestGroup(""))


def _query() -> Query:
    return (
        select(
            ResourceProvider.id,
            ResourceProvider.uuid,
            ResourceProvider.name,
            ResourceProvider.generation,
            ResourceProvider.created_at,
            ResourceProvider.updated_at,
            _Parent.uuid.label("parent_provider_uuid"),
            _Root.uuid.label("root_provider_uuid"),
        )
        .outerjoin(_Parent, _Parent.id == ResourceProvider.parent_id)
        .join(_Root, _Root.id == ResourceProvider.root_id)
    )


def find(session: Session, uuid: str) -> Any:
    """One provider: id, uuid, name, generation, created_at, updated_at, parent_provider_uuid, root_provider_uuid.

    Raises ProviderNotFound.
    """
    row = session.execute(_query().where(ResourceProvider.uuid == uuid)).mappings().first()
    if row is None:
        raise ProviderNotFound(provider=uuid)
    return row


def list_providers(session: Session, filters: ProviderFilters) -> Rows:
    """The providers that fit, as ``find`` has each. Raises BadQuery and TraitNotFound for unknown names."""
    group = filters.group
    query = _query().order_by(ResourceProvider.id)
    classes = flat.class_ids(session, group.resources)
    traits = flat.trait_ids(session, group.traits)
    query = query.where(*flat.trait_clauses(group.traits, traits))
    for name, amount in group.resources.items():
        query = flat.with_inventory(query, classes[name], amount)
    if filters.name:
        query = query.where(ResourceProvider.name == filters.name)
    if filters.uuid is not None:
        query = query.where(ResourceProvider.uuid == filters.uuid)
    if group.in_tree is not None:
        query = query.where(flat.in_tree_of(group.in_tree))
    if group.aggregates.member_of:
        # No provider is in an aggregate.
        return []
    return session.execute(query).mappings().all()
