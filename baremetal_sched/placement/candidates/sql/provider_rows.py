"""Providers as rows: all that the search and the answer want to know of them.

Thousands of providers mostly have the same few inventories and traits. Each of these is one text, which is parsed once.
"""

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

import orjson
from sqlalchemy import Column, ColumnElement, Connection, func, literal_column, select

from baremetal_sched.db import compiled
from baremetal_sched.db.json_text import arrays
from baremetal_sched.db.sql_functions import constant
from baremetal_sched.db.types import Query
from baremetal_sched.placement.candidates.sql.conditions import Source
from baremetal_sched.placement.candidates.trees.providers import ProviderRow
from baremetal_sched.placement.tables import INVENTORIES, PROVIDERS

T = TypeVar("T")

_STOCK = INVENTORIES.c

#: The numbers of an inventory: class id, capacity, used, min_unit, max_unit and step_size. What is withheld suits no
#: amount.
_INVENTORY = (
    *(_STOCK.resource_class_id, _STOCK.capacity, _STOCK.used),
    *(_STOCK.min_unit, _STOCK.max_unit * (literal_column("1") - _STOCK.withheld), _STOCK.step_size),
)


def columns_of(
    provider: Source, *, traits: bool, inventory: Iterable[ColumnElement[Any]] = _INVENTORY
) -> tuple[ColumnElement[Any], ...]:
    """Return the columns of a ProviderRow. ``inventory``: those of each inventory, all numbers."""
    row = provider.c
    nothing = constant("")
    stock = select(arrays(*inventory)).where(_STOCK.provider_id == row.id).correlate(provider).scalar_subquery()
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
    rows = connection.execute(select(*_COLUMNS[True]).where(which).order_by(PROVIDERS.c.id))
    return [ProviderRow._make(row) for row in rows]


def load_those(connection: Connection, column: Column[int], ids: Iterable[int], *, traits: bool) -> list[ProviderRow]:
    """Return the providers of which ``column`` (``PROVIDERS.c.id`` or ``root_id``) is one of ``ids``, in the order of
    their own ids."""
    return [ProviderRow._make(row) for row in compiled.run(connection, _select_those(column, traits), {}, ids)]


def load_trees(connection: Connection, roots: Iterable[int]) -> Generator[list[ProviderRow]]:
    """Yield the trees with these roots: all providers of each, in the order of their ids, with traits.

    The database goes on reading while the first trees are looked at. Until this is read to its end or closed, no other
    statement may run on the connection.
    """
    with closing(compiled.run(connection, _TREES, {}, roots, stream=True)) as result:
        for _, rows in groupby(map(ProviderRow._make, result), itemgetter(3)):
            yield list(rows)


_TREES = (
    select(*_COLUMNS[True]).where(PROVIDERS.c.root_id.in_([compiled.IDS])).order_by(PROVIDERS.c.root_id, PROVIDERS.c.id)
)


@lru_cache
def _select_those(column: Column[int], traits: bool) -> Query:
    return select(*_COLUMNS[traits]).where(column.in_([compiled.IDS])).order_by(PROVIDERS.c.id)
