"""One import: its sources, its target, and what it has written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from sqlalchemy import ColumnElement, Connection, Table, and_, select, update

from baremetal_sched.db.transaction import Database
from baremetal_sched.db.types import Query, Rows
from baremetal_sched.moving.decisions import Choices, ImportDecisions
from baremetal_sched.moving.findings import ImportReport
from baremetal_sched.moving.row_sync import NewIds, Row, RowSync, RowWriter
from baremetal_sched.moving.source_databases import BATCH, SourceDatabase, SourceRow
from baremetal_sched.settings import Settings

T = TypeVar("T")

#: The report of the progress: the table that is written now, and how much of it.
Progress = Callable[[str, int], None]


@dataclass
class ImportRun:
    """The common part of all imports. Each ``write`` is a transaction, after which an interrupted import continues."""

    database: Database
    settings: Settings
    ironic: SourceDatabase
    placement: SourceDatabase
    choices: Choices
    decisions: ImportDecisions
    report: ImportReport
    progress: Progress
    ids: NewIds = field(default_factory=NewIds)

    def write(self, work: Callable[[RowSync], T]) -> T:
        """Run ``work`` in one transaction, and count what it has written."""

        def run(connection: Connection) -> tuple[T, RowSync]:
            sync = RowSync(connection, self.ids)
            return work(sync), sync

        try:
            result, sync = self.database.change(run)
        except BaseException:
            self.ids.forget()
            raise
        self.report.written.update(sync.written)
        return result

    def fetch(self, query: Query) -> Rows:
        """Return the rows of a SELECT from this database."""
        return self.database.select(lambda connection: connection.execute(query).all())

    def mirror(
        self,
        table: Table,
        name: str,
        row_of: Callable[[SourceRow], Row],
        more: Callable[[RowWriter, Sequence[SourceRow]], None] | None = None,
    ) -> None:
        """Make ``table`` the same as table ``name`` of Ironic, with the same ids. ``more`` writes the rows that belong
        to a batch. Each batch is a range of ids: rows within it that Ironic does not have are deleted.
        """
        last = 0
        for batch in self.ironic.batches(name):
            scope = and_(table.c.id > last, table.c.id <= batch[-1]["id"])
            rows = [row_of(source) | {"id": source["id"]} for source in batch]

            self.write(partial(_mirror_batch, table, rows, scope, more, batch))
            last = batch[-1]["id"]
            self.progress(table.name, len(batch))
        self.write(lambda sync: sync.sync(table, ("id",), [], table.c.id > last))

    def release(self, table: Table, name: str, columns: Sequence[str]) -> None:
        """Delete rows of ``table`` that are gone from table ``name`` of Ironic, so that nothing is in the way later.

        ``columns`` are unique ones and references, called the same there: values that are different now are cleared.
        """
        last = 0
        while True:
            columns_read = (table.c[each] for each in ("id", "uuid", *columns))
            query = select(*columns_read).where(table.c.id > last).order_by(table.c.id).limit(BATCH)
            present = [row._mapping for row in self.fetch(query)]
            if not present:
                return
            sources = {row["id"]: row for row in self.ironic.rows(name, "id", [row["id"] for row in present])}
            self.write(partial(_release, table, present, sources, columns))
            last = present[-1]["id"]


def _mirror_batch(
    table: Table,
    rows: Sequence[Row],
    scope: ColumnElement[bool],
    more: Callable[[RowWriter, Sequence[SourceRow]], None] | None,
    batch: Sequence[SourceRow],
    sync: RowSync,
) -> None:
    sync.sync(table, ("id",), rows, scope)
    if more is not None:
        more(sync, batch)


def _release(
    table: Table,
    present: Sequence[Mapping[str, object]],
    sources: Mapping[object, SourceRow],
    columns: Sequence[str],
    sync: RowSync,
) -> None:
    gone = []
    for row in present:
        source = sources.get(row["id"])
        if source is None or source["uuid"] != row["uuid"]:
            gone.append(row)
            continue
        changed = [name for name in columns if row[name] not in (None, source[name])]
        if changed:
            cleared = {name: _placeholder(table, name, row["id"]) for name in changed}
            sync.connection.execute(update(table).where(table.c.id == row["id"]).values(cleared))
    sync.delete(table, gone)


def _placeholder(table: Table, name: str, row_id: object) -> object:
    """Return what no row of the original has: nothing, where that is possible."""
    column = table.c[name]
    if column.nullable:
        return None
    return f"~{row_id}" if column.type.python_type is str else -int(str(row_id))
