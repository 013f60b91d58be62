"""Reading providers, each as one line (see ``lines``), many of them at once."""

from collections.abc import Generator, Iterable
from contextlib import closing
from functools import lru_cache
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, func, literal_column, select

from baremetal_sched.db import kept, packing
from baremetal_sched.db.packing import concatenated, constant, joined, number
from baremetal_sched.db.types import Query
from baremetal_sched.placement.candidates import lines
from baremetal_sched.placement.candidates.conditions import Source
from baremetal_sched.placement.candidates.lines import Line
from baremetal_sched.placement.tables import INVENTORIES, PROVIDERS

_STOCK = INVENTORIES.c

#: In ``Line.inventories``. What is withheld suits no amount.
_INVENTORY = (
    *(_STOCK.resource_class_id, _STOCK.capacity, _STOCK.used),
    *(_STOCK.min_unit, _STOCK.max_unit * (literal_column("1") - _STOCK.withheld), _STOCK.step_size),
)


def line_of(
    provider: Source, *, traits: bool, inventory: Iterable[ColumnElement[Any]] = _INVENTORY
) -> ColumnElement[str]:
    """A provider's ``Line`` with semicolons between its fields; without ``traits`` these are left empty.
    ``inventory``: what is said of each of its inventories, numbers all.

    (SELECT GROUP_CONCAT(CONCAT(i.resource_class_id, ':', …)) FROM inventories i WHERE i.provider_id = p.id),
    p.trait_ids
    """
    nothing = constant("")
    columns = [part for column in inventory for part in (":", number(column))][1:]
    inventories = select(joined(concatenated(*columns))).where(_STOCK.provider_id == provider.c.id)
    return concatenated(
        *(number(provider.c.id), ';"', provider.c.uuid, '";'),
        *(func.coalesce(number(provider.c.parent_id), nothing), ";", number(provider.c.root_id), ";"),
        *(func.coalesce(inventories.correlate(provider).scalar_subquery(), nothing), ";"),
        provider.c.trait_ids if traits else nothing,
    )


#: With and without traits.
_LINES = {traits: packing.packed(PROVIDERS.c.id, line_of(PROVIDERS, traits=traits)) for traits in (False, True)}


def load(connection: Connection, which: ColumnElement[bool]) -> list[Line]:
    """The providers that are meant, in the order of their ids, with traits."""
    return lines.parsed(packing.lines(connection.scalars(_select(which, traits=True))))


def load_those(connection: Connection, column: Column[int], ids: Iterable[int], *, traits: bool) -> list[Line]:
    """The providers of which ``column`` (``PROVIDERS.c.id`` or ``root_id``) is one of ``ids``, in the order of their
    own ids."""
    return lines.parsed(packing.lines(kept.run(connection, _select_those(column, traits), {}, ids).scalars()))


def load_trees(connection: Connection, roots: Iterable[int]) -> Generator[list[Line]]:
    """The trees with these roots: of each all providers, in the order of their ids, with traits.

    The database goes on reading while the first trees are looked at. Until this is read to its end or closed, there is
    no other statement on the connection.
    """
    with closing(kept.run(connection, _TREES, {}, roots, stream=True)) as result:
        for text in result.scalars():
            trees: dict[str, list[Line]] = {}
            for line in lines.parsed(packing.lines([text])):
                trees.setdefault(line[3], []).append(line)
            yield from trees.values()


_PACKET = packing.packet(PROVIDERS.c.root_id)

#: SELECT (all lines of some trees) FROM resource_providers WHERE root_id IN (…) GROUP BY root_id >> 6 ORDER BY …
_TREES = select(_LINES[True]).where(PROVIDERS.c.root_id.in_([kept.IDS])).group_by(_PACKET).order_by(_PACKET)


@lru_cache
def _select_those(column: Column[int], traits: bool) -> Query:
    return _select(column.in_([kept.IDS]), traits=traits)


def _select(which: ColumnElement[bool], *, traits: bool) -> Query:
    """SELECT (many lines) FROM resource_providers p WHERE … GROUP BY p.id >> 6"""
    return select(_LINES[traits]).where(which).group_by(packing.packet(PROVIDERS.c.id))
