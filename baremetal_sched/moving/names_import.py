"""Writes the names of Placement: resource classes, traits and aggregates."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from sqlalchemy import Table, select

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, NodeTrait
from baremetal_sched.moving.ironic_rows import BEGIN, time_of
from baremetal_sched.moving.row_sync import Row, RowSync
from baremetal_sched.moving.run import ImportRun
from baremetal_sched.placement import names
from baremetal_sched.placement.names import resource_class_of
from baremetal_sched.placement.tables import (
    AGGREGATES,
    CLASSES,
    INVENTORIES,
    PROVIDER_AGGREGATES,
    PROVIDER_TRAITS,
    TRAITS,
)

#: Tables of names, with that of Placement, and the column of the name.
_NAMES = (
    (CLASSES, "resource_classes", "name"),
    (TRAITS, "traits", "name"),
    (AGGREGATES, "placement_aggregates", "uuid"),
)


class ImportedNames:
    """The ids of names here, by Placement's ids, and by name."""

    def __init__(self, run: ImportRun) -> None:
        self._run = run
        self.classes, self.class_names = self._enter(CLASSES, "resource_classes", "name", self._classes_of_nodes())
        self.traits, self.trait_names = self._enter(TRAITS, "traits", "name", self._traits_of_nodes())
        self.trait_of = {row_id: name for name, row_id in self.trait_names.items()}
        self.aggregates, _ = self._enter(AGGREGATES, "placement_aggregates", "uuid", ())

    def _classes_of_nodes(self) -> Collection[str]:
        query = select(Node.resource_class).where(Node.resource_class != "").distinct()
        return {resource_class_of(name) for (name,) in self._run.fetch(query) if name}

    def _traits_of_nodes(self) -> Collection[str]:
        query = select(NodeTrait.trait).distinct()
        return {name for (name,) in self._run.fetch(query)}

    def _enter(
        self, table: Table, name: str, column: str, others: Collection[str]
    ) -> tuple[Mapping[int, int], Mapping[str, int]]:
        """Add missing names, and Placement's custom names; return the ids by Placement's, and by name."""
        present = {text for (text,) in self._run.fetch(select(table.c[column]))}
        sources = list(self._run.placement.all(name))
        rows = [
            _row(table, column, source)
            for source in sources
            if _is_own(source[column]) or source[column] not in present
        ]
        rows += [
            {column: other, "created_at": utcnow()}
            for other in sorted(set(others) - present - {row[column] for row in rows})
        ]
        scope = table.c[column].in_([row[column] for row in rows])
        self._run.write(lambda sync: sync.sync(table, (column,), rows, scope, keeps_others=True))
        query = select(table.c[column], table.c.id)
        ids = {text: row_id for text, row_id in self._run.fetch(query)}
        return {source["id"]: ids[source[column]] for source in sources}, ids

    def remove_unused(self) -> None:
        """Delete custom names and aggregates that are neither in Placement nor used here."""
        for table, name, column in _NAMES:
            known = {row[column] for row in self._run.placement.all(name, ("id", column))}
            self._run.write(partial(_remove, table, column, known))


def _is_own(name: str) -> bool:
    return name.startswith("CUSTOM_") or name not in _STANDARD


_STANDARD = frozenset({*names.STANDARD_CLASSES, *names.standard_traits()})


def _row(table: Table, column: str, source: Mapping[str, Any]) -> Row:
    row: Row = {column: source[column], "created_at": time_of(source["created_at"]) or BEGIN}
    if "updated_at" in table.c:
        row["updated_at"] = time_of(source["updated_at"])
    return row


def _remove(table: Table, column: str, known: Collection[str], sync: RowSync) -> None:
    uses = {
        CLASSES.name: select(INVENTORIES.c.resource_class_id).where(INVENTORIES.c.resource_class_id == table.c.id),
        TRAITS.name: select(PROVIDER_TRAITS.c.trait_id).where(PROVIDER_TRAITS.c.trait_id == table.c.id),
        AGGREGATES.name: select(PROVIDER_AGGREGATES.c.aggregate_id).where(
            PROVIDER_AGGREGATES.c.aggregate_id == table.c.id
        ),
    }
    unused = sync.connection.execute(select(table).where(~uses[table.name].exists())).mappings().all()
    sync.delete(table, [row for row in unused if _is_own(row[column]) and row[column] not in known])
