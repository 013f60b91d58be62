"""Repeatable migrations on MariaDB and MySQL, after an interruption at any point.

There each change of the schema is committed by itself (seen on MariaDB 10.11), so an interrupted migration is partly
done. Existing objects are not created again, and missing ones are not dropped. Alembic uses these classes once they are
imported.
"""

from typing import Any

from alembic.ddl.mysql import MySQLImpl
from sqlalchemy import Column, Index, Table, inspect
from sqlalchemy.engine.reflection import Inspector


class _RepeatableDDL(MySQLImpl):
    __dialect__ = "mysql"

    def create_table(self, table: Table, **kw: Any) -> None:
        if not self._has_table(table.name):
            super().create_table(table, **kw)
            return
        found = {column["name"] for column in self._inspector().get_columns(table.name)}
        if found != set(table.columns.keys()):
            raise ValueError(f"There is a table {table.name!r} already, with other columns: it is not of this service.")

    def drop_table(self, table: Table, **kw: Any) -> None:
        if self._has_table(table.name):
            super().drop_table(table, **kw)

    def create_index(self, index: Index, **kw: Any) -> None:
        if not self._has_index(index):
            super().create_index(index, **kw)

    def drop_index(self, index: Index, **kw: Any) -> None:
        if self._has_index(index):
            super().drop_index(index, **kw)

    def add_column(self, table_name: str, column: Column[Any], **kw: Any) -> None:
        if not self._has_column(table_name, column):
            super().add_column(table_name, column, **kw)

    def drop_column(self, table_name: str, column: Column[Any], **kw: Any) -> None:
        if self._has_column(table_name, column):
            super().drop_column(table_name, column, **kw)

    def _inspector(self) -> Inspector:
        # A new one each time, since it caches.
        return inspect(self.connection)

    def _has_table(self, name: str) -> bool:
        return self._inspector().has_table(name)

    def _has_index(self, index: Index) -> bool:
        table = index.table.name if index.table is not None else ""
        return self._has_table(table) and index.name in {
            found["name"] for found in self._inspector().get_indexes(table)
        }

    def _has_column(self, table: str, column: Column[Any]) -> bool:
        return column.name in {found["name"] for found in self._inspector().get_columns(table)}


class _RepeatableMariaDB(_RepeatableDDL):
    __dialect__ = "mariadb"
