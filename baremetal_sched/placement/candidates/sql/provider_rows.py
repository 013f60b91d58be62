"""Providers as rows: everything that the search and the answer need.

Thousands of providers mostly have the same few inventories and traits. Each of these is one text, which is parsed once.
"""

from collections.abc import Callable, Collection, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cached_property, lru_cache, partial
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, TypeVar

import orjson
from sqlalchemy import Column, ColumnElement, Connection, case, func, literal_column, select

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import statement_epoch
from baremetal_sched.db.json_text import arrays
from baremetal_sched.db.sql_functions import constant
from baremetal_sched.db.types import Query
from baremetal_sched.placement import trait_ids
from baremetal_sched.placement.candidates.request.resolved_request import FrozenDict, ResolvedRequest
from baremetal_sched.placement.candidates.sql.conditions import OBEDIENT, Source, hinted
from baremetal_sched.placement.candidates.trees.providers import (
    Anchor,
    Provider,
    ProviderRow,
    RequestedAmounts,
    TreeInventory,
)
from baremetal_sched.placement.tables import INVENTORIES, PROVIDERS, is_open

T = TypeVar("T")

_STOCK = INVENTORIES.c

#: 1 for an inventory that can be claimed, 0 for one that is withheld or closed.
OFFERED = case(
    (is_open(INVENTORIES, statement_epoch), literal_column("1") - _STOCK.withheld), else_=literal_column("0")
)

#: The numbers of an inventory: class id, capacity, used, min_unit, max_unit and step_size. An inventory that is not
#: offered suits no amount.
_INVENTORY = (
    *(_STOCK.resource_class_id, _STOCK.capacity, _STOCK.used),
    *(_STOCK.min_unit, _STOCK.max_unit * OFFERED, _STOCK.step_size),
)
#: The same, whenever they close.
_OPENED_INVENTORY = (
    *_INVENTORY[:4],
    _STOCK.max_unit * (literal_column("1") - _STOCK.withheld),
    _STOCK.step_size,
)


def columns_of(
    provider: Source, *, traits: bool, inventory: Iterable[ColumnElement[Any]] = _INVENTORY, joined: bool = False
) -> tuple[ColumnElement[Any], ...]:
    """Return the columns of a ProviderRow. ``inventory``: those of each inventory, all numbers.
    ``joined``: inventories are joined, and grouped by provider."""
    row = provider.c
    nothing = constant("")
    stock: ColumnElement[str] = arrays(*inventory)
    if not joined:
        stock = select(stock).where(_STOCK.provider_id == row.id).correlate(provider).scalar_subquery()
    own_traits = row.trait_ids if traits else nothing
    return row.id, row.uuid, row.parent_id, row.root_id, func.coalesce(stock, nothing), own_traits


class ByText(dict[str, T]):
    """Values made of texts, each made once."""

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make

    def __missing__(self, text: str) -> T:
        value = self[text] = self._make(text)
        return value


def inventories(stock: str) -> list[list[Any]]:
    """Return the numbers of each inventory of a row."""
    found: list[list[Any]] = orjson.loads(stock) if stock else []
    return found


#: With and without traits.
_COLUMNS = {traits: columns_of(PROVIDERS, traits=traits) for traits in (False, True)}


def load(connection: Connection, which: ColumnElement[bool]) -> list[ProviderRow]:
    """Return the providers for which the condition ``which`` holds, in the order of their ids, with traits."""
    rows = connection.execute(select(*_COLUMNS[True]).where(which).order_by(PROVIDERS.c.id)).all()
    return [ProviderRow._make(row) for row in rows]


def load_those(connection: Connection, column: Column[int], ids: Iterable[int], *, traits: bool) -> list[ProviderRow]:
    """Return the providers whose ``column`` (``PROVIDERS.c.id`` or ``root_id``) is one of ``ids``, in the order of
    their own ids."""
    return [*map(_MAKE, compiled.run(connection, _select_those(column, traits), {}, ids))]


def load_trees(connection: Connection, roots: Iterable[int], *, opened: bool = False) -> Generator[list[ProviderRow]]:
    """Yield the trees with these roots: all providers of each, in the order of their ids, with traits. ``opened``: they
    count as open, whenever they close.

    The database keeps reading while the first trees are examined. Until this is read to its end or closed, no other
    statement may run on the connection.
    """
    by_dialect = _TREES_BY_JOIN if connection.dialect.name in OBEDIENT else _TREES
    query = _OPENED_TREES if opened else by_dialect
    with closing(compiled.run(connection, query, {}, roots, stream=True)) as result:
        read = chain.from_iterable(result.partitions(_AT_ONCE))
        for _, rows in groupby(map(_MAKE, read), itemgetter(3)):
            yield list(rows)


#: What ``ProviderRow._make`` does, without a call in Python for each row.
_MAKE: Callable[[Any], ProviderRow] = partial(tuple.__new__, ProviderRow)

#: How many rows of trees are fetched at once: psycopg takes longer for one after the other.
_AT_ONCE = 200

_TREES = (
    select(*_COLUMNS[True]).where(PROVIDERS.c.root_id.in_([compiled.IDS])).order_by(PROVIDERS.c.root_id, PROVIDERS.c.id)
)

#: The same for MariaDB, which needs a third less time for a join than for a subquery for each row (seen on 10.11).
_TREES_BY_JOIN = hinted(
    _TREES.with_only_columns(*columns_of(PROVIDERS, traits=True, joined=True))
    .select_from(PROVIDERS.outerjoin(INVENTORIES, _STOCK.provider_id == PROVIDERS.c.id))
    .group_by(PROVIDERS.c.root_id, PROVIDERS.c.id),
    PROVIDERS,
    "FORCE INDEX (ix_resource_providers_root_id)",
)


_OPENED_TREES = _TREES.with_only_columns(*columns_of(PROVIDERS, traits=True, inventory=_OPENED_INVENTORY))


@lru_cache
def _select_those(column: Column[int], traits: bool) -> Query:
    return select(*_COLUMNS[traits]).where(column.in_([compiled.IDS])).order_by(PROVIDERS.c.id)


class Parser:
    """Makes providers of rows."""

    def __init__(self, resolved: ResolvedRequest) -> None:
        groups = resolved.groups
        least = min(amount for group in groups for amount in group.resources.values())
        asked_traits = resolved.root_forbidden.union(
            *resolved.root_required, *(group.forbidden.union(*group.required) for group in groups)
        )
        self._all_matter = not all(group.resources for group in groups)
        self._ancestors_matter = bool(resolved.same_subtrees)
        # Nothing here refers to the parser: it would stay in memory until the garbage collector runs.
        inventories = self._inventories = ByText(partial(_inventories, frozenset(resolved.class_names), least))
        self._traits = ByText(lambda text: asked_traits.intersection(trait_ids.ids_in(text)))
        asked = RequestedAmounts(resolved)
        self._given = ByText(lambda text: asked.given_by(inventories[text]))

    def members(self, tree: Sequence[ProviderRow], sharing: Collection[int]) -> list[Provider]:
        """Return the providers of a tree that matter: the ones that may give something, and the root; ancestors if the
        request names subtrees; all if a group requests no resources. ``sharing``: ids of the providers that share."""
        parents = {row.parent_id for row in tree} if self._ancestors_matter else ()
        found = []
        for row_id, _, parent, root, stock, traits in tree:
            inventories = self._inventories[stock]
            if inventories or not parent or row_id in parents or self._all_matter:
                asked = self._traits[traits]
                found.append(Provider(row_id, root, parent, row_id in sharing, asked, set(), inventories))
        return found

    def signature(self, tree: Sequence[ProviderRow]) -> Hashable:
        """``Anchor.signature`` of a tree that is alone, for a request without aggregates."""
        given, asked = self._given, self._traits
        places: dict[int | None, int] = {}
        signature: list[Hashable] = []
        for place, (row_id, _, parent, _, stock, traits) in enumerate(tree):
            places[row_id] = place
            # A parent that comes later, which is rare, stays an id: no other tree looks like this one.
            signature += (places.get(parent, parent), given[stock], asked[traits])
        return tuple(signature)


def _inventories(classes: frozenset[int], least: int, stock: str) -> Mapping[int, TreeInventory]:
    """Return the inventories of ``classes`` that have at least ``least`` left, by class id."""
    return FrozenDict(
        (class_id, TreeInventory(capacity - used, *limits))
        for class_id, capacity, used, *limits in inventories(stock)
        if class_id in classes and capacity - used >= least
    )


def has_root(tree: Sequence[ProviderRow]) -> bool:
    """Return whether the root is among the rows. It may have been moved since."""
    return any(row.parent_id is None for row in tree)


class UnparsedTree(Anchor):
    """A tree as it was read, which is alone.

    Providers are made of it on demand: seldom, as most trees have the signature of another one.
    """

    def __init__(self, rows: Sequence[ProviderRow], parser: Parser) -> None:
        self.sharing, self.above, self.rows = [], {}, rows
        self._parser = parser

    @cached_property
    def local(self) -> list[Provider]:  # type: ignore[override] # mypy does not know that it can be set
        return self._parser.members(self.rows, ())

    @cached_property
    def root(self) -> Provider:  # type: ignore[override]
        return next(provider for provider in self.local if provider.parent_id is None)

    @property
    def root_id(self) -> int:
        return self.rows[0].root_id

    @property
    def ids(self) -> list[int]:
        return [row.id for row in self.rows]

    def id_at(self, place: int) -> int:
        return self.rows[place].id

    def root_at(self, place: int) -> int:
        return self.rows[0].root_id

    def uuid_at(self, place: int) -> str:
        return self.rows[place].uuid

    def signature(self, asked: RequestedAmounts) -> Hashable:
        return self._parser.signature(self.rows)
