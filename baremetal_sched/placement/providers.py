"""Resource providers: finding and listing them. (Creating, moving and deleting: ``tree``.)"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from baremetal_sched.db.models import ResourceProvider
from baremetal_sched.db.types import Query, Rows
from baremetal_sched.errors.placement import ProviderNotFound
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


def list_providers(session: Session, filters: ProviderFilters) -> tuple[Rows, datetime | None]:
    """The providers that fit: rows of uuid, name, generation, parent uuid, root uuid; and when the newest of them was
    changed. Lists are long, so they carry nothing else. Raises UnknownClassInQuery, TraitNotFound."""
    group = filters.group
    traits = flat.trait_ids(session, group.traits)
    classes = flat.class_ids(session, group.resources)
    fitting: Query = select(ResourceProvider.id).where(
        *flat.trait_clauses(group.traits, traits), *flat.aggregate_clauses(group.aggregates)
    )
    for name, amount in group.resources.items():
        fitting = flat.with_inventory(fitting, classes[name], amount)
    if filters.name:
        fitting = fitting.where(ResourceProvider.name == filters.name)
    if filters.uuid is not None:
        fitting = fitting.where(ResourceProvider.uuid == filters.uuid)
    if group.in_tree is not None:
        fitting = fitting.where(flat.in_tree_of(group.in_tree))
    rows = session.execute(
        fitting.with_only_columns(
            ResourceProvider.uuid, ResourceProvider.name, ResourceProvider.generation, _Parent.uuid, _Root.uuid
        )
        .outerjoin(_Parent, _Parent.id == ResourceProvider.parent_id)
        .join(_Root, _Root.id == ResourceProvider.root_id)
        .order_by(ResourceProvider.id)
    ).all()
    modified = func.max(func.coalesce(ResourceProvider.updated_at, ResourceProvider.created_at))
    return rows, session.scalar(fitting.with_only_columns(modified)) if rows else None
