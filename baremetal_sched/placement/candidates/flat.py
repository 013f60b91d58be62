"""The search where every provider stands alone: one that has everything, found by one statement."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, exists, false, literal, select
from sqlalchemy.orm import Session, aliased

from baremetal_sched.db.models import Inventory, ProviderTrait, ResourceProvider
from baremetal_sched.db.types import Query
from baremetal_sched.errors import BadQuery, TraitNotFound
from baremetal_sched.placement import names
from baremetal_sched.placement.candidates.query import RequestGroup
from baremetal_sched.placement.query_values import TraitConditions
from baremetal_sched.placement.schemas.common import INT32


def class_ids(session: Session, resources: dict[str, int]) -> dict[str, int]:
    """Ids of the classes of a request. Raises BadQuery, naming those that do not exist."""
    ids = names.ids_of_classes(session, resources)
    unknown = [name for name in resources if name not in ids]
    if unknown:
        raise BadQuery(message=f"Invalid resource class in resources parameter: No such resource class {unknown[0]}.")
    return ids


def trait_ids(session: Session, conditions: TraitConditions) -> dict[str, int]:
    """Ids of the traits of a request. Raises TraitNotFound, naming those that do not exist."""
    mentioned = conditions.names()
    ids = names.ids_of_traits(session, mentioned)
    unknown = sorted(mentioned - ids.keys())
    if unknown:
        raise TraitNotFound(traits=", ".join(unknown))
    return ids


def search(session: Session, group: RequestGroup, limit: int | None) -> Sequence[tuple[int, str]]:
    """Id and UUID of the providers that can give all that the group asks for, oldest first, at most ``limit``.

    SELECT p.id, p.uuid FROM resource_providers p
    JOIN inventories i ON i.provider_id = p.id AND i.resource_class_id = :c AND i.free >= :n
         AND :n BETWEEN i.min_unit AND i.max_unit AND :n % i.step_size = 0   -- one such join a class
    WHERE EXISTS (… a trait of each required set …) AND NOT EXISTS (… a forbidden trait …)
    ORDER BY p.id LIMIT :limit
    """
    classes = class_ids(session, group.resources)
    traits = trait_ids(session, group.traits)
    if group.aggregates.member_of:
        # No provider is in an aggregate.
        return []
    query = select(ResourceProvider.id, ResourceProvider.uuid)
    for name, amount in group.resources.items():
        query = with_inventory(query, classes[name], amount)
    query = query.where(*trait_clauses(group.traits, traits)).order_by(ResourceProvider.id)
    if group.in_tree is not None:
        query = query.where(in_tree_of(group.in_tree))
    rows = session.execute(query.limit(limit) if limit is not None else query)
    return [(row_id, uuid) for row_id, uuid in rows]


def with_inventory(query: Query, class_id: int, amount: int) -> Query:
    """The query, only for providers that can give ``amount`` of the class."""
    if amount > INT32:
        return query.where(false())  # nothing is that large, and no column could be compared
    inventory = aliased(Inventory)
    return query.join(
        inventory,
        and_(
            inventory.provider_id == ResourceProvider.id,
            inventory.resource_class_id == class_id,
            inventory.free >= amount,
            inventory.min_unit <= amount,
            inventory.max_unit >= amount,
            literal(amount) % inventory.step_size == 0,
        ),
    )


def trait_clauses(conditions: TraitConditions, ids: dict[str, int]) -> list[ColumnElement[bool]]:
    """SQL conditions on ``resource_providers`` for required and forbidden traits."""
    clauses: list[ColumnElement[bool]] = [_has({ids[name] for name in wanted}) for wanted in conditions.required]
    if conditions.forbidden:
        clauses.append(~_has({ids[name] for name in conditions.forbidden}))
    return clauses


def _has(trait_ids: set[int]) -> ColumnElement[bool]:
    return exists().where(
        ProviderTrait.provider_id == ResourceProvider.id, ProviderTrait.trait_id.in_(sorted(trait_ids))
    )


def in_tree_of(uuid: str) -> ColumnElement[bool]:
    """SQL condition: the provider is in the tree of provider ``uuid``."""
    member = aliased(ResourceProvider)
    return ResourceProvider.root_id.in_(select(member.root_id).where(member.uuid == uuid))
