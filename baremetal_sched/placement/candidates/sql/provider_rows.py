"""Providers as rows of text: all that the search and the answer want to know of them, many of them read at once.

A driver takes longer to read a column than the database to find it, and thousands of providers are mostly made of the
same few texts. So a provider is selected as one text, and each of its parts is parsed once.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from functools import lru_cache
from typing import Any, TypeVar

from sqlalchemy import Column, ColumnElement, Connection, func, literal_column, select

from baremetal_sched.db import compiled, row_packing
from baremetal_sched.db.sql_functions import as_digits, concat, constant, string_agg
from baremetal_sched.db.types import Query
from baremetal_sched.placement.candidates.sql.conditions import Source
from baremetal_sched.placement.tables import INVENTORIES, PROVIDERS

T = TypeVar("T")

#: A provider: id, uuid (in quotes, as in JSON), id of the parent, id of the root, inventories, traits; an empty text
#: for what it does not have. Traits are as in ``trait_ids``. Inventories are separated by commas. Each is class id,
#: capacity, used, min_unit, max_unit and step_size, separated by colons. Providers with the same inventories mostly
#: have the same text, but the order of inventories is not defined.
ProviderRow = list[str]

_STOCK = INVENTORIES.c

#: The columns of an inventory in ``ProviderRow``. What is withheld suits no amount.
_INVENTORY = (
    *(_STOCK.resource_class_id, _STOCK.capacity, _STOCK.used),
    *(_STOCK.min_unit, _STOCK.max_unit * (literal_column("1") - _STOCK.withheld), _STOCK.step_size),
)


def row_of(
    provider: Source, *, traits: bool, inventory: Iterable[ColumnElement[Any]] = _INVENTORY
) -> ColumnElement[str]:
    """Return the expression that selects a provider's row as one text, with semicolons between its fields.

    Without ``traits`` that field is empty. ``inventory``: the columns of each inventory, all numbers.

    (SELECT GROUP_CONCAT(CONCAT(i.resource_class_id, ':', …)) FROM inventories i WHERE i.provider_id = p.id),
    p.trait_ids
    """
    nothing = constant("")
    columns = [part for column in inventory for part in (":", as_digits(column))][1:]
    inventories = select(string_agg(concat(*columns))).where(_STOCK.provider_id == provider.c.id)
    return concat(
        *(as_digits(provider.c.id), ';"', provider.c.uuid, '";'),
        *(func.coalesce(as_digits(provider.c.parent_id), nothing), ";", as_digits(provider.c.root_id), ";"),
        *(func.coalesce(inventories.correlate(provider).scalar_subquery(), nothing), ";"),
        provider.c.trait_ids if traits else nothing,
    )


def parsed(texts: Iterable[str]) -> list[ProviderRow]:
    """Return the rows of texts that ``row_of`` selected."""
    return [text.split(";") for text in texts]


class ByText(dict[str, T]):
    """Values made of texts, each made once."""

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make

    def __missing__(self, text: str) -> T:
        value = self[text] = self._make(text)
        return value


def inventories(text: str) -> list[Sequence[str]]:
    """Return the parts of each inventory of a row."""
    return [inventory.split(":") for inventory in text.split(",")] if text else []


#: With and without traits.
_ROWS = {traits: row_packing.packed(PROVIDERS.c.id, row_of(PROVIDERS, traits=traits)) for traits in (False, True)}


def load(connection: Connection, which: ColumnElement[bool]) -> list[ProviderRow]:
    """Return the providers for which the condition ``which`` holds, in the order of their ids, with traits."""
    return parsed(row_packing.lines(connection.scalars(_select(which, traits=True))))


def load_those(connection: Connection, column: Column[int], ids: Iterable[int], *, traits: bool) -> list[ProviderRow]:
    """Return the providers of which ``column`` (``PROVIDERS.c.id`` or ``root_id``) is one of ``ids``, in the order of
    their own ids."""
    return parsed(row_packing.lines(compiled.run(connection, _select_those(column, traits), {}, ids).scalars()))


def load_trees(connection: Connection, roots: Iterable[int]) -> Generator[list[ProviderRow]]:
    """Yield the trees with these roots: all providers of each, in the order of their ids, with traits.

    The database goes on reading while the first trees are looked at. Until this is read to its end or closed, no other
    statement may run on the connection.
    """
    with closing(compiled.run(connection, _TREES, {}, roots, stream=True)) as result:
        for text in result.scalars():
            trees: dict[str, list[ProviderRow]] = {}
            for row in parsed(row_packing.lines([text])):
                trees.setdefault(row[3], []).append(row)
            yield from trees.values()


_PACKET = row_packing.packet(PROVIDERS.c.root_id)

#: SELECT (all rows of some trees) FROM resource_providers WHERE root_id IN (…) GROUP BY root_id >> 6 ORDER BY …
_TREES = select(_ROWS[True]).where(PROVIDERS.c.root_id.in_([compiled.IDS])).group_by(_PACKET).order_by(_PACKET)


@lru_cache
def _select_those(column: Column[int], traits: bool) -> Query:
    return _select(column.in_([compiled.IDS]), traits=traits)


def _select(which: ColumnElement[bool], *, traits: bool) -> Query:
    """SELECT (many rows) FROM resource_providers p WHERE … GROUP BY p.id >> 6"""
    return select(_ROWS[traits]).where(which).group_by(row_packing.packet(PROVIDERS.c.id))
