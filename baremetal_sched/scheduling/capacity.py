"""How many machines there are, told apart by whatever is asked: all, free, allocated, and why others are not."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, literal, select, union_all
from sqlalchemy.sql.expression import FromClause

from baremetal_sched.baremetal.identifiers import is_trait
from baremetal_sched.baremetal.matching.reasons import ALLOCATED, HAS_NO_INSTANCE, reason, with_provider
from baremetal_sched.baremetal.nodes.node_list import NodeFilters
from baremetal_sched.baremetal.nodes.traits import has_any
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.db.models import Node, table_of
from baremetal_sched.errors import InvalidValue
from baremetal_sched.suggestions import did_you_mean

#: What machines may be told apart by, besides traits.
COLUMNS = {
    "resource_class": Node.resource_class,
    "conductor_group": Node.conductor_group,
    "driver": Node.driver,
    "owner": Node.owner,
    "lessee": Node.lessee,
    "shard": Node.shard,
}
TRAIT = "trait:"

#: The most keys that a request may group by, and the most rows that the database may return.
MOST_KEYS = 8
MOST_ROWS = 100_000


@dataclass
class Figures:
    """The machines that have the same ``keys``: how many, and why some of them are not free."""

    keys: dict[str, Any]
    free: int = 0
    allocated: int = 0
    unavailable: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All of them."""
        return self.free + self.allocated + sum(self.unavailable.values())

    def add(self, why: str | None, count: int) -> None:
        """Count machines that are not free for the reason ``why``; None: they are."""
        if why is None:
            self.free += count
        elif why == ALLOCATED:
            self.allocated += count
        else:
            self.unavailable[why] = self.unavailable.get(why, 0) + count


def measure(
    connection: Connection, keys: Sequence[str], filters: NodeFilters, visible: Visibility = EVERYTHING
) -> list[Figures]:
    """Return figures of the visible nodes that the filters let through, by ``keys``: names in COLUMNS, ``trait:X``.

    Without keys there is one row, even without nodes. Raises InvalidValue for an unknown key, and for more groups than
    an answer may hold.

    SELECT n.resource_class, …, 'allocated', count(*) FROM nodes n WHERE n.instance_uuid IS NOT NULL AND … GROUP BY …
    UNION ALL SELECT n.resource_class, …, <why it is not free>, count(*) FROM nodes n LEFT JOIN resource_providers p …
    LEFT JOIN inventories i … WHERE n.instance_uuid IS NULL AND … GROUP BY …

    A node with an instance is allocated, whatever its provider is like: the joins take most of the time.
    """
    columns = [_column(key).label(f"key_{place}") for place, key in enumerate(_checked(keys))]
    where = (*visible.conditions(), *filters.conditions)
    nodes: FromClause = table_of(Node)
    with_instance = _counted(columns, literal(ALLOCATED), nodes, (~HAS_NO_INSTANCE, *where))
    others = _counted(columns, reason(), with_provider(nodes), (HAS_NO_INSTANCE, *where))
    query = union_all(with_instance, others).limit(MOST_ROWS + 1)
    rows = connection.execute(query).all()
    if len(rows) > MOST_ROWS:
        raise InvalidValue(
            message=f"There are more than {MOST_ROWS} groups: group by fewer keys, or narrow the request by filters."
        )
    return _collected(keys, rows)


def _counted(
    columns: Sequence[ColumnElement[Any]],
    why: ColumnElement[Any],
    source: FromClause,
    where: Sequence[ColumnElement[bool]],
) -> Select[Any]:
    machines = select(*columns, why.label("reason")).select_from(source).where(*where).subquery()
    grouped = [machines.c[column.name] for column in columns]
    return select(*grouped, machines.c.reason, func.count()).group_by(*grouped, machines.c.reason)


def _checked(keys: Sequence[str]) -> Sequence[str]:
    if len(keys) > MOST_KEYS:
        raise InvalidValue(message=f"group_by has {len(keys)} keys: at most {MOST_KEYS} are accepted.")
    for key in keys:
        if key in COLUMNS or (key.startswith(TRAIT) and is_trait(key.removeprefix(TRAIT))):
            continue
        known = ", ".join([*COLUMNS, f"{TRAIT}NAME"])
        raise InvalidValue(message=f"Cannot group by '{key}', only by {known}.{did_you_mean(key, COLUMNS)}")
    return keys


def _column(key: str) -> ColumnElement[Any]:
    return has_any([key.removeprefix(TRAIT)]) if key.startswith(TRAIT) else COLUMNS[key].expression


def _collected(keys: Sequence[str], rows: Sequence[Any]) -> list[Figures]:
    found: dict[tuple[Any, ...], Figures] = {}
    if not keys:
        found[()] = Figures({})
    for *values, why, count in rows:
        # MariaDB and SQLite have no booleans.
        values = [bool(value) if key.startswith(TRAIT) else value for key, value in zip(keys, values, strict=True)]
        place = tuple(values)
        if place not in found:
            found[place] = Figures(dict(zip(keys, values, strict=True)))
        found[place].add(why, count)
    return sorted(found.values(), key=lambda each: [str(value or "") for value in each.keys.values()])
