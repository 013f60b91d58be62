"""The search where one provider gives all: set-based SQL that reads in proportion to what it returns."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, and_, exists, func, or_, select

from baremetal_sched.db.types import Query
from baremetal_sched.placement.candidates.request.resolved_request import Group, ResolvedRequest
from baremetal_sched.placement.candidates.sql import conditions
from baremetal_sched.placement.candidates.sql.conditions import Conditions
from baremetal_sched.placement.candidates.trees.candidate import Candidate
from baremetal_sched.placement.tables import (
    INVENTORIES,
    PROVIDER_AGGREGATES,
    PROVIDER_TRAITS,
    PROVIDERS,
    SHARING_TRAIT,
    TRAITS,
)

#: How many providers below roots are looked at to find out whether one of them has a class.
_CHILDREN = 1000

#: Sources of ``providers_of``: the provider, and its inventory.
PROVIDER = PROVIDERS.alias("provider")
STOCK = INVENTORIES.alias("stock")


def applies(connection: Connection, resolved: ResolvedRequest) -> bool:
    """Return whether every candidate is one provider, and every provider that fits is a candidate.

    That is so for one group that one provider must serve (it has a suffix, or asks for one class), and for one
    group of several classes if no provider below a root has any of them and no provider shares any. With conditions on
    the anchor's root, a sharing provider may fit through the root of another tree. This takes one statement at most, of
    bounded cost.
    """
    if len(resolved.groups) > 1:
        return False
    group = resolved.groups[0]
    single = bool(group.suffix) or len(group.resources) == 1
    of_anchor = resolved.root_required or resolved.root_forbidden or (group.not_member_of and not group.suffix)
    if single and not of_anchor:
        return True
    shared, nested, children = connection.execute(_who_is_not_alone(list(group.resources))).one()
    # With more children than were looked at, this is not known. The search in trees is always right.
    return not shared and (single or (not nested and children <= _CHILDREN))


def _who_is_not_alone(classes: list[int]) -> Query:
    """SELECT EXISTS (a provider that shares has one of the classes),
    (SELECT COUNT(*) FROM (SELECT id FROM resource_providers WHERE parent_id > 0 LIMIT 1001) c WHERE c has one of them),
    (SELECT COUNT(*) FROM (SELECT id FROM resource_providers WHERE parent_id > 0 LIMIT 1001) c)
    """
    has_class = INVENTORIES.c.resource_class_id.in_(classes)
    shared = exists().where(
        TRAITS.c.name == SHARING_TRAIT,
        PROVIDER_TRAITS.c.trait_id == TRAITS.c.id,
        INVENTORIES.c.provider_id == PROVIDER_TRAITS.c.provider_id,
        has_class,
    )
    child = select(PROVIDERS.c.id).where(PROVIDERS.c.parent_id > 0).limit(_CHILDREN + 1).subquery("child")
    nested = exists().where(INVENTORIES.c.provider_id == child.c.id, has_class)
    return select(
        shared,
        select(func.count()).select_from(child).where(nested).scalar_subquery(),
        select(func.count()).select_from(child).scalar_subquery(),
    )


def search(connection: Connection, resolved: ResolvedRequest, limit: int | None) -> list[Candidate]:
    """Return the candidates of a request to which this search ``applies``, at most ``limit``.

    They are the same for the same data. It is one statement, and so shows one moment on every database.
    """
    (group,) = resolved.groups
    query = providers_of(resolved, (PROVIDER.c.id, PROVIDER.c.root_id), connection.dialect.name)
    resources = {resolved.class_names[resource_class]: amount for resource_class, amount in group.resources.items()}
    suffix = group.suffix
    return [
        Candidate({provider_id: resources}, {suffix: [provider_id]}, {root_id})
        for provider_id, root_id in connection.execute(query if limit is None else query.limit(limit)).all()
    ]


def providers_of(resolved: ResolvedRequest, columns: Sequence[Any], dialect: str) -> Query:
    """SELECT … FROM inventories i (JOIN resource_providers p ON p.id = i.provider_id, if there are conditions on it)
    WHERE i.resource_class_id = :c AND i.free >= :n AND :n BETWEEN i.min_unit AND i.max_unit AND :n % i.step_size = 0
    AND p gives the other classes AND has the traits AND is in the aggregates
    ORDER BY i.free, i.provider_id

    This is the order of the index that finds them, so a LIMIT ends the search as soon as it is reached, however many
    providers there are and however few are free. If few providers have something, the search starts from that instead.
    """
    (group,) = resolved.groups
    provider, inventory = PROVIDER, STOCK
    source: Any = inventory
    first, *others = sorted(group.resources, key=lambda resource_class: resource_class not in resolved.few_classes)
    rest = [(other, group.resources[other]) for other in others]
    of_provider = [
        *in_aggregates(provider, group),
        *conditions.has_traits(provider.c.root_id, resolved.root_required, resolved.root_forbidden),
    ]
    if group.tree is not None:
        of_provider.append(provider.c.root_id == group.tree)
    query: Query = (
        select(*columns)
        .where(*conditions.fits(inventory, first, group.resources[first]))
        .where(*conditions.unjoined([conditions.gives(inventory.c.provider_id, *item) for item in rest]))
        .order_by(inventory.c.free, inventory.c.provider_id)
    )
    few = None if first in resolved.few_classes else _few(resolved, group)
    # Conditions on traits use the inventory's row: most providers that lack them need not be joined with anything
    # first.
    if group.tree is None and few is None:
        query, source = conditions.with_traits(conditions.by_index(query, inventory), inventory, group, dialect)
    else:
        query = query.where(*conditions.has_traits(inventory.c.provider_id, group.required, group.forbidden))
    if group.tree is None and few is not None:
        query = query.where(inventory.c.provider_id.in_(few))
    if of_provider or any(column is not inventory.c.provider_id for column in columns):
        source = source.join(provider, provider.c.id == inventory.c.provider_id)
    return query.where(*of_provider).select_from(source)


def in_aggregates(provider: Any, group: Group) -> Conditions:
    """Without suffix, an aggregate of the root spans the tree; with one, it is the provider alone that counts."""
    if group.suffix:
        return conditions.in_aggregates(provider.c.id, group)
    clauses: Conditions = []
    rows = (provider.c.id, provider.c.root_id)
    if group.member_of:
        clauses.append(or_(*(and_(*(conditions.in_aggregate(row, ids) for ids in group.member_of)) for row in rows)))
    if group.not_member_of:
        clauses += [~conditions.in_aggregate(row, group.not_member_of) for row in rows]
    return clauses


def _few(resolved: ResolvedRequest, group: Group) -> Query | None:
    """Return a query for the few providers with a required trait or in a required aggregate; None if there are many."""
    for traits in group.required:
        if traits <= resolved.few_traits:
            return select(PROVIDER_TRAITS.c.provider_id).where(PROVIDER_TRAITS.c.trait_id.in_(sorted(traits)))
    for aggregates in group.member_of if group.suffix else ():
        if aggregates <= resolved.few_aggregates:
            return select(PROVIDER_AGGREGATES.c.provider_id).where(
                PROVIDER_AGGREGATES.c.aggregate_id.in_(sorted(aggregates))
            )
    return None
