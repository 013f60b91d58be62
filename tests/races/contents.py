"""The contents of a database on a server: read, kept, put back, and compared except ids, times and generations."""

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Table, create_engine, text

from baremetal_sched.db.engine import database_url
from baremetal_sched.db.models import Base

#: Rows by table, as the driver returns them.
Rows = Mapping[str, list[dict[str, Any]]]

#: What is compared: each row as a text, by table, sorted.
Compared = Mapping[str, list[str]]

_TABLES = [table for table in Base.metadata.sorted_tables if table.name != "schema_state"]
#: Of these only a few of many rows change.
_NAMES = ("traits", "resource_classes")
_CUSTOM = "name LIKE 'CUSTOM!_%%' ESCAPE '!'"
#: What a conductor says of itself.
_UNCOMPARED = ("conductor_hardware_types", "conductor_interfaces", "driver_calls")

#: Columns that say when, in what version and by which request.
_APART = re.compile(
    r"id|at|.*_at|.*_since|generation|revision|token|request_id|deadline|not_before|duration_seconds|work_id|reservation_id|wait_until|secret|group_id"
    r"|previous_secret|previous_until|leased_until|fence|stream|waiting_since_of|clock_difference"
)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?|\b\d+ seconds")
#: Sentences about what was to be had a moment later.
_REASONS = {
    ("node_allocations", "last_error"),
    ("servers", "fault"),
    ("server_actions", "events"),
    ("server_actions", "message"),
    ("pending_claims", "reason"),
}
_HASH = re.compile(r"\$scrypt\$[0-9a-f$]+")
_LABELS = ("uuid", "name", "flavorid", "hostname")

_FILLED = text(
    " UNION ALL ".join(
        f"SELECT '{table.name}' FROM (SELECT 1 AS one) AS row_{place} WHERE EXISTS (SELECT 1 FROM {table.name})"
        for place, table in enumerate(_TABLES)
    )
)


class Contents:
    """A connection that reads what a database contains, keeps it in temporary tables, and puts it back."""

    def __init__(self, url: str) -> None:
        self._engine = create_engine(database_url(url), isolation_level="READ COMMITTED", pool_size=1)
        self._connection = self._engine.connect()
        with self._connection.begin():
            found = {name: self._connection.execute(text(f"SELECT id, name FROM {name}")).all() for name in _NAMES}
        self._standard = {table: {row_id: name for row_id, name in rows} for table, rows in found.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        self._engine.dispose()

    def read(self) -> Rows:
        """Return all rows, except standard names."""
        with self._connection.begin():
            filled = set(self._connection.scalars(_FILLED))
            return {table.name: self._rows(table) for table in _TABLES if table.name in filled}

    def compared(self, rows: Rows, known: Iterable[Any]) -> Compared:
        """Return the rows without what differs from run to run: ids (references become names), times, generations,
        reasons of failures, and UUIDs that the service made up, which are all but the ``known`` ones."""
        kept = {str(each) for each in known}
        labels = {table: {row["id"]: _label(row) for row in found if "id" in row} for table, found in rows.items()}
        for table, names in self._standard.items():
            labels[table] = {**names, **labels.get(table, {})}
        result = {}
        for table in _TABLES:
            if table.name not in _UNCOMPARED and rows.get(table.name):
                found = (json.dumps(_row(table, row, labels), sort_keys=True, default=str) for row in rows[table.name])
                result[table.name] = sorted(_plain(each, kept) for each in found)
        return result

    def keep(self, name: str) -> None:
        """Keep everything under this name, until the connection is closed."""
        with self._connection.begin():
            for table in _TABLES:
                self._run(
                    f"CREATE TEMPORARY TABLE {_kept(name, table)} AS SELECT {self._columns(table)} FROM {table.name}"
                )

    def put_back(self, name: str, before: Rows, now: Rows) -> None:
        """Make the contents ``before`` again, which is kept under ``name``; ``now`` is what they are."""
        differing = {table.name for table in _TABLES if before.get(table.name) != now.get(table.name)}
        for table in _TABLES:  # rows that refer to others go with these
            if table.name not in _NAMES and any(key.column.table.name in differing for key in table.foreign_keys):
                differing.add(table.name)
        with self._connection.begin():
            is_mysql = self._connection.dialect.name != "postgresql"
            if is_mysql:
                self._run("SET FOREIGN_KEY_CHECKS = 0")
            for table in reversed(_TABLES):
                if table.name in differing:
                    kept = f" WHERE id NOT IN (SELECT id FROM {_kept(name, table)})" if table.name in _NAMES else ""
                    self._run(f"DELETE FROM {table.name}{kept}")
            for table in _TABLES:
                if table.name in differing:
                    self._insert(name, table, before, now)
            if is_mysql:
                self._run("SET FOREIGN_KEY_CHECKS = 1")

    def _insert(self, name: str, table: Table, before: Rows, now: Rows) -> None:
        columns, kept = self._columns(table), _kept(name, table)
        if table.name not in _NAMES:
            self._run(f"INSERT INTO {table.name} ({columns}) SELECT {columns} FROM {kept}")
            return
        present = {row["id"]: row for row in now.get(table.name, ())}
        for row in before.get(table.name, ()):
            if row["id"] not in present:
                source = f"SELECT {columns} FROM {kept} WHERE id = {row['id']}"
                self._run(f"INSERT INTO {table.name} ({columns}) {source}")
            elif row != present[row["id"]]:
                given = {column: row[column] for column in row if column != "id"}
                places = ", ".join(f"{column} = :{column}" for column in given)
                self._connection.execute(text(f"UPDATE {table.name} SET {places} WHERE id = {row['id']}"), given)

    def _rows(self, table: Table) -> list[dict[str, Any]]:
        custom = f" WHERE {_CUSTOM}" if table.name in _NAMES else ""
        found = self._connection.exec_driver_sql(f"SELECT {self._columns(table)} FROM {table.name}{custom}")
        names = list(found.keys())
        return [dict(zip(names, row, strict=True)) for row in found]

    def _columns(self, table: Table) -> str:
        quote = self._connection.dialect.identifier_preparer.quote
        return ", ".join(quote(column.name) for column in table.columns if column.computed is None)

    def _run(self, statement: str) -> None:
        self._connection.exec_driver_sql(statement)


def _kept(name: str, table: Table) -> str:
    return f"kept_{name.replace('-', '_')}_{table.name}"


def differences(one: Compared, other: Compared) -> list[str]:
    """Return the rows that only ``one`` has ("-"), and that only ``other`` has ("+"); of a pair of rows only what
    differs."""
    found = []
    for table in sorted(one.keys() | other.keys()):
        gone = list((Counter(one.get(table, ())) - Counter(other.get(table, ()))).elements())
        new = list((Counter(other.get(table, ())) - Counter(one.get(table, ()))).elements())
        if len(gone) == len(new) == 1:
            before, after = json.loads(gone[0]), json.loads(new[0])
            differing = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
            found += [f"~ {table} {name}: {before.get(name)!r} -> {after.get(name)!r}" for name in differing]
        else:
            found += [*(f"- {table} {row}" for row in gone), *(f"+ {table} {row}" for row in new)]
    return found


def _label(row: Mapping[str, Any]) -> str:
    return next((str(row[column]) for column in _LABELS if row.get(column)), "one")


def _row(table: Table, row: Mapping[str, Any], labels: Mapping[str, Mapping[int, str]]) -> dict[str, Any]:
    result = {}
    for column in table.columns:
        value = row.get(column.name)
        if value is None or value == "" or column.computed is not None:
            continue
        reference = next(iter(column.foreign_keys), None)
        if reference is not None:
            result[column.name] = labels[reference.column.table.name].get(value, "nothing")
        elif column.name == "mirrored_class_id":
            result[column.name] = labels["resource_classes"].get(value, "none")
        elif column.name == "trait_ids":
            result[column.name] = sorted(labels["traits"].get(int(each), "nothing") for each in value.split(","))
        elif (table.name, column.name) in _REASONS:
            result[column.name] = "a reason"
        elif not _APART.fullmatch(column.name):
            result[column.name] = _content(value)
    return result


def _content(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            value = json.loads(value)
        except ValueError:
            return value
    if isinstance(value, dict):
        return {name: "a drive" if name == "configdrive" else _content(each) for name, each in value.items()}
    return [_content(each) for each in value] if isinstance(value, list) else value


def _plain(text: str, known: Container[str]) -> str:
    text = _HASH.sub("a hash", text)
    return _TIME.sub("a time", _UUID.sub(lambda found: found[0] if found[0] in known else "a uuid", text))
