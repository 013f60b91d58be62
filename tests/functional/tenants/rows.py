"""Which rows of the database belong to a tenant, and whether they are what they were."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row, Table, select

from baremetal_sched.db.models import Base
from baremetal_sched.db.transaction import Database

#: Rows by table and primary key.
Rows = Mapping[tuple[str, Any], Mapping[str, Any]]


def snapshot(database: Database) -> Rows:
    """Return every row of every table."""
    with database.engine.connect() as connection:
        return {
            (table.name, _key(table, row)): dict(row._mapping)
            for table in Base.metadata.sorted_tables
            for row in connection.execute(select(table))
        }


def _key(table: Table, row: Row[Any]) -> Any:
    return tuple(row._mapping[column.name] for column in table.primary_key)


def of_tenant(rows: Rows, secrets: set[str]) -> set[tuple[str, Any]]:
    """Return the keys of the rows that name one of ``secrets``, and of rows that refer to one of these."""
    found = {key for key, row in rows.items() if _names(row, secrets)}
    while True:
        referring = {key for key, row in rows.items() if key not in found and _refers(key[0], row, found)}
        if not referring:
            return found
        found |= referring


def _names(row: Mapping[str, Any], secrets: set[str]) -> bool:
    return any(secret in str(value) for value in row.values() for secret in secrets)


def _refers(name: str, row: Mapping[str, Any], found: set[tuple[str, Any]]) -> bool:
    """Return whether a row refers to one of ``found`` by its key."""
    return any(
        (key.column.table.name, (row[column.name],)) in found and key.column.table.name not in _SHARED
        for column in Base.metadata.tables[name].columns
        for key in column.foreign_keys
        if key.column.primary_key and len(key.column.table.primary_key) == 1
    )


#: Tables whose rows any tenant may refer to.
_SHARED = {"traits", "resource_classes", "conductors", "chassis"}


def changed(before: Rows, after: Rows, keys: set[tuple[str, Any]]) -> list[str]:
    """Return which of the rows are not what they were."""
    return [
        f"{key}: {before[key]} -> {after.get(key)}" for key in sorted(keys, key=str) if before[key] != after.get(key)
    ]
