"""The conditions of a request on one provider, in SQL on the column that holds the provider's id."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import index
from typing import Any

from sqlalchemy import ColumnElement, Integer, Table, and_, bindparam, literal, literal_column, select, true

from baremetal_sched.db.clock import statement_epoch
from baremetal_sched.db.types import Query
from baremetal_sched.placement.candidates.request.resolved_request import Group
from baremetal_sched.placement.tables import INVENTORIES, PROVIDER_AGGREGATES, PROVIDER_TRAITS, is_open

#: A column, or an attribute of an entity; a table, or an alias of one.
Column = Any
Source = Any
Conditions = list[ColumnElement[bool]]

#: A condition is made of immutable parts and says the same each time, but making it takes longer than all the rest; so
#: those about the same class or trait are kept. Sources must be aliases that are kept as well.
_memoized = lru_cache(maxsize=1024)

#: PostgreSQL makes a join of each EXISTS and looks for their best order. That takes no time up to this many, and six
#: minutes for 500.
FEW = 8

#: The index by trait holds the providers of one trait side by side: many questions after one trait read few pages.
_BY_TRAIT = "USE INDEX (ix_provider_traits_trait_id)"

#: Their optimizers do as ``by_index`` says, and look rows up a fifth faster for a join than for an EXISTS.
OBEDIENT = ("mysql", "mariadb")

# Each EXISTS has a scope of its own, so one alias serves them all.
_INVENTORY = INVENTORIES.alias("inventory")
_TRAIT = PROVIDER_TRAITS.alias("trait")
_AGGREGATE = PROVIDER_AGGREGATES.alias("aggregate")
_JOINED = [PROVIDER_TRAITS.alias(f"trait_{place}") for place in range(FEW)]


def hinted(query: Query, source: Source, hint: str) -> Query:
    """Return the query with an index hint for MariaDB and MySQL, whose optimizers do not see what LIMIT saves."""
    return query.with_hint(source, hint, "mysql").with_hint(source, hint, "mariadb")


def by_index(query: Query, inventory: Source) -> Query:
    """The query, which is ordered by ``inventory.free`` and ``inventory.provider_id``, with the index that finds the
    rows in this order."""
    for dialect in OBEDIENT:
        query = query.prefix_with("STRAIGHT_JOIN", dialect=dialect)
    return hinted(query, inventory, "FORCE INDEX (ix_inventories_fit)")


def one_of(column: Column, ids: Iterable[int]) -> ColumnElement[bool]:
    """``column IN (…)`` for many ids, which are integers: they become part of the statement, which is cheaper than as
    many parameters."""
    found: ColumnElement[bool] = column.in_(
        bindparam(None, sorted(map(index, ids)), expanding=True, literal_execute=True)
    )
    return found


@_memoized
def fits(inventory: Source, resource_class: int, amount: int) -> tuple[ColumnElement[bool], ...]:
    """The inventory is of the class and can give the amount, which an INT holds."""
    return (
        inventory.c.resource_class_id == resource_class,
        inventory.c.free >= amount,
        inventory.c.min_unit <= amount,
        inventory.c.max_unit >= amount,
        literal(amount, Integer) % inventory.c.step_size < literal_column("1"),
        is_open(inventory, statement_epoch),
    )


@_memoized
def could_fit(inventory: Source, resource_class: int, amount: int) -> tuple[ColumnElement[bool], ...]:
    """The inventory is of the class and could give the amount if nothing of it were used or kept back."""
    of_class, _, *suits, _ = fits(inventory, resource_class, amount)
    return of_class, inventory.c.total * inventory.c.allocation_ratio >= amount, *suits


@_memoized
def gives(provider_id: Column, resource_class: int, amount: int) -> ColumnElement[bool]:
    """Return the condition that an inventory of the provider fits."""
    row = _INVENTORY
    return _exists(row, row.c.provider_id == provider_id, *fits(row, resource_class, amount))


@_memoized
def could_give(provider_id: Column, resource_class: int, amount: int) -> ColumnElement[bool]:
    """Return the condition that an inventory of the provider would fit if nothing were used or kept back."""
    row = _INVENTORY
    return _exists(row, row.c.provider_id == provider_id, *could_fit(row, resource_class, amount))


@_memoized
def has_class(provider_id: Column, classes: frozenset[int]) -> ColumnElement[bool]:
    """Return the condition that the provider has one of the classes."""
    row = _INVENTORY
    return _exists(row, row.c.provider_id == provider_id, row.c.resource_class_id.in_(sorted(classes)))


@_memoized
def has_trait(provider_id: Column, traits: frozenset[int]) -> ColumnElement[bool]:
    """Return the condition that the provider has one of the traits."""
    row, ids = _TRAIT, sorted(traits)
    if len(ids) > 1:
        return _exists(row, row.c.provider_id == provider_id, row.c.trait_id.in_(ids))
    return _exists(row, row.c.provider_id == provider_id, row.c.trait_id == ids[0], hint=_BY_TRAIT)


@_memoized
def in_aggregate(provider_id: Column, aggregates: frozenset[int]) -> ColumnElement[bool]:
    """Return the condition that the provider is in one of the aggregates."""
    row = _AGGREGATE
    return _exists(row, row.c.provider_id == provider_id, row.c.aggregate_id.in_(sorted(aggregates)))


def _exists(source: Source, *where: ColumnElement[bool], hint: str | None = None) -> ColumnElement[bool]:
    """EXISTS (SELECT 1 FROM …), for the rows at hand: ``engine`` keeps MariaDB from collecting all providers first."""
    query: Query = select(literal_column("1")).select_from(source).where(*where).correlate_except(source)
    found: ColumnElement[bool] = (hinted(query, source, hint) if hint else query).exists()
    return found


def has_traits(provider_id: Column, required: Sequence[frozenset[int]], forbidden: frozenset[int]) -> Conditions:
    """Return the conditions that the provider has a trait of each set, and no forbidden one."""
    return unjoined(
        [
            *(has_trait(provider_id, wanted) for wanted in required),
            *(~has_trait(provider_id, frozenset([trait])) for trait in sorted(forbidden)),
        ]
    )


def with_traits(query: Query, source: Source, group: Group, dialect: str) -> tuple[Query, Source]:
    """A query ``by_index`` on the inventories ``source``, and what it selects from, where providers have the traits of
    the group. For MariaDB and MySQL as joins, as far as they are few:

    JOIN provider_traits t ON t.trait_id = … AND t.provider_id = i.provider_id, for each that is required
    LEFT JOIN provider_traits t ON … WHERE t.trait_id IS NULL, for each that is forbidden
    """
    provider_id = source.c.provider_id
    forbidden = [frozenset([trait]) for trait in sorted(group.forbidden)]
    single = [traits for traits in group.required if len(traits) == 1]
    if dialect not in OBEDIENT or len(single) + len(forbidden) > FEW:
        return query.where(*has_traits(provider_id, group.required, group.forbidden)), source
    for place, (row, (trait,)) in enumerate(zip(_JOINED, [*single, *forbidden], strict=False)):
        outer = place >= len(single)
        source = source.join(row, and_(row.c.trait_id == trait, row.c.provider_id == provider_id), isouter=outer)
        query = hinted(query, row, _BY_TRAIT)
        if outer:
            query = query.where(row.c.trait_id.is_(None))
    any_of = [traits for traits in group.required if len(traits) > 1]
    return query.where(*has_traits(provider_id, any_of, frozenset())), source


def in_aggregates(provider_id: Column, group: Group) -> Conditions:
    """Return the conditions that the provider is in an aggregate of each set, and in no forbidden one."""
    conditions = [in_aggregate(provider_id, wanted) for wanted in group.member_of]
    if group.not_member_of:
        conditions.append(~in_aggregate(provider_id, group.not_member_of))
    return unjoined(conditions)


def unjoined(conditions: Conditions) -> Conditions:
    """The same conditions; if they are more than a few, compared with true: PostgreSQL makes no joins of these."""
    return conditions if len(conditions) <= FEW else [condition.is_(true()) for condition in conditions]


@_memoized
def is_named(table: Table, row_id: int, name: str) -> ColumnElement[bool]:
    """(SELECT name FROM traits WHERE id = …) = …, or of another table: the id still has this name.

    MariaDB looks that up while it plans, and EXISTS once more when it runs.
    """
    return select(table.c.name).where(table.c.id == row_id).scalar_subquery() == name
