"""Resource providers: finding and listing them. (Creating, moving and deleting: ``tree``.)"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, exists, false, func, select
from sqlalchemy.orm import Session, aliased

from baremetal_sched.db.json_text import quoted
from baremetal_sched.db.models import Aggregate, ProviderAggregate, ResourceProvider
from baremetal_sched.db.packing import concatenated, lines, number, packed, packet
from baremetal_sched.db.types import Query
from baremetal_sched.errors.placement import ProviderNotFound, TraitNotFound, UnknownClassInQuery
from baremetal_sched.placement import names
from baremetal_sched.placement.candidates import conditions
from baremetal_sched.placement.candidates.conditions import Conditions
from baremetal_sched.placement.candidates.query import RequestGroup
from baremetal_sched.placement.query_values import AggregateConditions, TraitConditions
from baremetal_sched.placement.schemas.common import INT32
from baremetal_sched.placement.tables import INVENTORIES

_Parent = aliased(ResourceProvider)
_Root = aliased(ResourceProvider)

_MODIFIED = func.coalesce(ResourceProvider.updated_at, ResourceProvider.created_at)

#: A line of a list. The name comes last, as it may have blanks in it.
_LISTED = concatenated(
    *(ResourceProvider.uuid, " ", number(ResourceProvider.generation), " "),
    *(func.coalesce(_Parent.uuid, ""), " ", func.coalesce(_Root.uuid, ""), " "),
    quoted(ResourceProvider.name),
)


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


def list_providers(session: Session, filters: ProviderFilters) -> tuple[list[list[str]], datetime | None]:
    """The providers that fit: rows of uuid, generation, parent's uuid, root's uuid (both empty if it is a root itself)
    and name, which is JSON; and when the newest of them was changed. Lists are long, so they carry nothing else.

    Raises UnknownClassInQuery, TraitNotFound.
    """
    query = _fitting(session, filters).with_only_columns(packed(ResourceProvider.id, _LISTED), func.max(_MODIFIED))
    query = query.outerjoin(_Parent, _Parent.id == ResourceProvider.parent_id)
    query = query.outerjoin(_Root, and_(_Root.id == ResourceProvider.root_id, ResourceProvider.parent_id.is_not(None)))
    packets = session.execute(query.group_by(packet(ResourceProvider.id))).all()
    rows = [line.split(" ", 4) for line in lines(text for text, _ in packets)]
    return rows, max((modified for _, modified in packets), default=None)


def _fitting(session: Session, filters: ProviderFilters) -> Query:
    group = filters.group
    traits = _traits(session, group.traits)
    classes = _class_ids(session, group.resources)
    fitting: Query = select(ResourceProvider.id).where(*traits, *_aggregates(group.aggregates))
    for name, amount in group.resources.items():
        fitting = _with_inventory(fitting, classes[name], amount)
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


def _class_ids(session: Session, resources: dict[str, int]) -> dict[str, int]:
    ids = names.ids_of_classes(session, resources)
    for name in resources:
        if name not in ids:
            raise UnknownClassInQuery(resource_class=name)
    return ids


def _with_inventory(query: Query, class_id: int, amount: int) -> Query:
    """The query, only for providers that can give ``amount`` of the class."""
    if amount > INT32:
        return query.where(false())  # nothing is that large, and no column could be compared
    inventory = INVENTORIES.alias()
    return query.join(
        inventory, and_(inventory.c.provider_id == ResourceProvider.id, *conditions.fits(inventory, class_id, amount))
    )


def _traits(session: Session, wanted: TraitConditions) -> Conditions:
    """The provider has the required traits and none of the forbidden ones."""
    mentioned = wanted.names()
    ids = names.ids_of_traits(session, mentioned)
    unknown = sorted(mentioned - ids.keys())
    if unknown:
        raise TraitNotFound(traits=", ".join(unknown))
    required = [frozenset(ids[name] for name in traits) for traits in wanted.required]
    return conditions.has_traits(ResourceProvider.id, required, frozenset(ids[name] for name in wanted.forbidden))


def _aggregates(wanted: AggregateConditions) -> Conditions:
    """The provider is itself in an aggregate of each set and in none of the forbidden ones."""

    def member(uuids: set[str] | frozenset[str]) -> ColumnElement[bool]:
        known = select(Aggregate.id).where(Aggregate.uuid.in_(sorted(uuids)))
        return exists().where(
            ProviderAggregate.provider_id == ResourceProvider.id, ProviderAggregate.aggregate_id.in_(known)
        )

    clauses = [member(uuids) for uuids in wanted.member_of]
    if wanted.forbidden:
        clauses.append(~member(wanted.forbidden))
    return conditions.unjoined(clauses)
