"""Finding and listing resource providers. (``tree`` creates, moves and deletes them.)"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, String, and_, cast, exists, false, func, select
from sqlalchemy.orm import Session, aliased

from baremetal_sched.db.json_text import quoted
from baremetal_sched.db.models import Aggregate, ProviderAggregate, ResourceClass, ResourceProvider, Trait
from baremetal_sched.db.types import Query, Rows
from baremetal_sched.errors.placement import ProviderNotFound, TraitNotFound, UnknownClassInQuery
from baremetal_sched.placement import names
from baremetal_sched.placement.candidates.request.query import RequestGroup
from baremetal_sched.placement.candidates.sql import conditions
from baremetal_sched.placement.candidates.sql.conditions import Conditions
from baremetal_sched.placement.query_values import AggregateConditions, TraitConditions
from baremetal_sched.placement.schemas.common import INT32
from baremetal_sched.placement.tables import INVENTORIES

_Parent = aliased(ResourceProvider)
_Root = aliased(ResourceProvider)

_PROVIDER_ID = ResourceProvider.__table__.c.id
_MODIFIED = func.coalesce(ResourceProvider.updated_at, ResourceProvider.created_at)


@dataclass
class ProviderFilters:
    """Filters of a list; all conditions must hold for the provider itself. ``group`` has resources, traits, aggregates
    and ``in_tree``."""

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
    """Return a provider: id, uuid, name, generation, created_at, updated_at, parent_provider_uuid, root_provider_uuid.

    Raises ProviderNotFound.
    """
    row = session.execute(_query().where(ResourceProvider.uuid == uuid)).mappings().first()
    if row is None:
        raise ProviderNotFound(provider=uuid)
    return row


def list_providers(session: Session, filters: ProviderFilters) -> tuple[Rows, datetime | None]:
    """Return the matching providers as rows of uuid, name (as JSON), generation, and the UUIDs of parent and root (None
    for a root); and the time of their latest change. Lists are long, so they have nothing else.

    Raises UnknownClassInQuery, TraitNotFound; not for names after a filter that no provider matches.
    """
    try:
        query = _fitting(session, filters)
    except (UnknownClassInQuery, TraitNotFound):
        if _nothing_fits(session, filters.group):
            return [], None
        raise
    row = ResourceProvider
    # As text: MySQL's drivers take longer for a time than for all the rest.
    query = query.with_only_columns(
        *(row.uuid, quoted(row.name), row.generation, _Parent.uuid, _Root.uuid, cast(_MODIFIED, String))
    )
    query = query.outerjoin(_Parent, _Parent.id == row.parent_id)
    query = query.outerjoin(_Root, and_(_Root.id == row.root_id, row.parent_id.is_not(None)))
    options = {"compiled_cache": None} if filters.group.is_large else {}
    rows = session.connection().execute(query.order_by(row.id), execution_options=options).all()
    return rows, datetime.fromisoformat(max(modified for *_, modified in rows)) if rows else None


def _fitting(session: Session, filters: ProviderFilters) -> Query:
    group = filters.group
    traits = _traits(session, group.traits)
    classes = _class_ids(session, group.resources)
    fitting: Query = select(ResourceProvider.id).where(*traits, *_aggregates(group.aggregates))
    fitting = _with_inventories(fitting, {classes[name]: amount for name, amount in group.resources.items()})
    if filters.name:
        fitting = fitting.where(ResourceProvider.name == filters.name)
    if filters.uuid is not None:
        fitting = fitting.where(ResourceProvider.uuid == filters.uuid)
    if group.in_tree is not None:
        member = aliased(ResourceProvider)
        fitting = fitting.where(
            ResourceProvider.root_id.in_(select(member.root_id).where(member.uuid == group.in_tree))
        )
    return fitting


def _nothing_fits(session: Session, group: RequestGroup) -> bool:
    """Return whether no provider matches a filter before the one with an unknown name. Filters are evaluated in the
    order tree, required traits, forbidden traits, aggregates, resources. The first one need only exist."""

    def is_empty(*fits: ColumnElement[bool]) -> bool:
        return session.scalar(select(_PROVIDER_ID).where(*fits).limit(1)) is None

    traits = group.traits
    if group.in_tree is not None and is_empty(ResourceProvider.uuid == group.in_tree):
        return True
    ids = names.ids_of(session, Trait, traits.names())
    if not all(any_of <= ids.keys() for any_of in traits.required):
        return False
    required = [frozenset(ids[name] for name in any_of) for any_of in traits.required]
    if required and is_empty(*conditions.has_traits(_PROVIDER_ID, required, frozenset())):
        return True
    member_of = group.aggregates.member_of
    return traits.forbidden <= ids.keys() and bool(member_of) and is_empty(*_aggregates(AggregateConditions(member_of)))


def _class_ids(session: Session, resources: dict[str, int]) -> dict[str, int]:
    ids = names.ids_of(session, ResourceClass, resources)
    for name in resources:
        if name not in ids:
            raise UnknownClassInQuery(resource_class=name)
    return ids


def _with_inventories(query: Query, amounts: dict[int, int]) -> Query:
    """Restrict the query to providers with these amounts of the classes available."""
    if any(amount > INT32 for amount in amounts.values()):
        return query.where(false())  # no inventory is that large, and no column could be compared
    if len(amounts) > conditions.FEW:
        # MariaDB joins at most 61 tables (seen on 10.11), SQLite 64, and PostgreSQL takes long to plan their order.
        return query.where(*conditions.unjoined([conditions.gives(_PROVIDER_ID, *item) for item in amounts.items()]))
    for item in amounts.items():
        inventory = INVENTORIES.alias()
        fits = conditions.fits(inventory, *item)
        query = query.join(inventory, and_(inventory.c.provider_id == ResourceProvider.id, *fits))
    return query


def _traits(session: Session, wanted: TraitConditions) -> Conditions:
    """Return the conditions that the provider has the required traits and none of the forbidden ones."""
    mentioned = wanted.names()
    ids = names.ids_of(session, Trait, mentioned)
    unknown = sorted(mentioned - ids.keys())
    if unknown:
        raise TraitNotFound(traits=", ".join(unknown))
    required = [frozenset(ids[name] for name in traits) for traits in wanted.required]
    return conditions.has_traits(ResourceProvider.id, required, frozenset(ids[name] for name in wanted.forbidden))


def _aggregates(wanted: AggregateConditions) -> Conditions:
    """Return the conditions that the provider itself is in an aggregate of each set and in none of the forbidden
    ones."""

    def member(uuids: set[str] | frozenset[str]) -> ColumnElement[bool]:
        known = select(Aggregate.id).where(Aggregate.uuid.in_(sorted(uuids)))
        return exists().where(
            ProviderAggregate.provider_id == ResourceProvider.id, ProviderAggregate.aggregate_id.in_(known)
        )

    clauses = [member(uuids) for uuids in wanted.member_of]
    if wanted.forbidden:
        clauses.append(~member(wanted.forbidden))
    return conditions.unjoined(clauses)
