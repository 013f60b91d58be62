"""Makes the rows of a table what they should be, and writes only rows that differ."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlalchemy import Connection, Table, bindparam, delete, func, insert, select, tuple_, update
from sqlalchemy.sql.elements import ColumnElement

#: A row of ours, by column.
Row = dict[str, Any]

#: Values in one statement.
_PORTION = 1000


@dataclass
class NewIds:
    """The ids of new rows, by table: they are given out in the order of the originals, whose lists have that order.

    Nothing else writes while a database is a mirror, so each id is free.
    """

    _next: dict[str, int] = field(default_factory=dict)

    def new(self, connection: Connection, table: Table) -> int:
        """Return the next free id of the table."""
        if table.name not in self._next:
            self._next[table.name] = (connection.scalar(select(func.max(table.c.id))) or 0) + 1
        self._next[table.name] += 1
        return self._next[table.name] - 1

    def forget(self) -> None:
        """Read the largest ids again: a transaction was rolled back."""
        self._next.clear()


class RowWriter(Protocol):
    """What takes the rows of a table that should be there."""

    def sync(
        self,
        table: Table,
        key: Sequence[str],
        rows: Sequence[Row],
        scope: ColumnElement[bool],
        *,
        derived: Collection[str] = (),
    ) -> object: ...


@dataclass
class RowSync:
    """Changes tables within one transaction, and counts what was written.

    ``ids`` gives new rows their ids where a table has them.
    """

    connection: Connection
    ids: NewIds
    written: Counter[str] = field(default_factory=Counter)

    def sync(
        self,
        table: Table,
        key: Sequence[str],
        rows: Sequence[Row],
        scope: ColumnElement[bool],
        *,
        derived: Collection[str] = (),
        only_grows: Collection[str] = (),
        keeps_others: bool = False,
    ) -> dict[tuple[Any, ...], int]:
        """Make the rows within ``scope`` equal to ``rows``; return the ids by ``key``, if there are ids.

        ``derived`` columns are written with new rows only, as others compute them; ``only_grows`` are generations,
        which never go back, and grow with each change of the row. ``keeps_others``: rows that are not wanted stay.
        """
        present: dict[tuple[Any, ...], Mapping[str, Any]] = {
            tuple(row[part] for part in key): dict(row)
            for row in self.connection.execute(select(table).where(scope)).mappings()
        }
        new, changed, ids = [], [], {}
        for row in rows:
            name = tuple(row[part] for part in key)
            old = present.pop(name, None)
            if old is None:
                if "id" in table.c and "id" not in row:
                    row = {"id": self.ids.new(self.connection, table), **row}
                new.append(row)
            elif differing := _differences(table, old, row, derived, only_grows):
                changed.append((old, differing))
            if "id" in table.c:
                ids[name] = row["id"] if old is None else old["id"]
        if not keeps_others:
            self.delete(table, list(present.values()))
        self._update(table, changed)
        self._insert(table, new)
        return ids

    def _insert(self, table: Table, rows: Sequence[Row]) -> None:
        if rows:
            if "revision" in table.c:
                rows = [{"revision": 1, **row} for row in rows]
            self.connection.execute(insert(table), rows)
            self.written[table.name] += len(rows)

    def _update(self, table: Table, changed: Sequence[tuple[Any, Row]]) -> None:
        keys = list(table.primary_key.columns)
        for old, values in changed:
            where = [column == bindparam(f"key_{column.name}") for column in keys]
            if "revision" in table.c:
                values = {**values, "revision": old["revision"] + 1}
            statement = update(table).where(*where).values({name: bindparam(f"new_{name}") for name in values})
            keys_of_row = {f"key_{column.name}": old[column.name] for column in keys}
            self.connection.execute(statement, keys_of_row | {f"new_{name}": value for name, value in values.items()})
            self.written[table.name] += 1

    def delete(self, table: Table, rows: Sequence[Any]) -> None:
        """Delete rows of ``table`` that were selected from it."""
        keys = list(table.primary_key.columns)
        for start in range(0, len(rows), _PORTION):
            part = [tuple(row[column.name] for column in keys) for row in rows[start : start + _PORTION]]
            within = tuple_(*keys).in_(part) if len(keys) > 1 else keys[0].in_([value for (value,) in part])
            self.connection.execute(delete(table).where(within))
            self.written[table.name] += len(part)


def _differences(
    table: Table, old: Mapping[str, Any], new: Row, derived: Collection[str], only_grows: Collection[str]
) -> Row:
    """Return the columns to change, with their values; empty if the row is what it should be."""
    changed = {
        name: value
        for name, value in new.items()
        if name not in derived and name not in only_grows and _differs(table, name, old[name], value)
    }
    for name in only_grows:
        least = old[name] + 1 if changed else old[name]
        if (grown := max(new[name], least)) != old[name]:
            changed[name] = grown
    return changed


def _differs(table: Table, name: str, before: Any, after: Any) -> bool:
    if before is None or after is None:
        return before is not after
    return not table.c[name].type.compare_values(before, after)
