"""Makes the rows that an import of Ironic would write, and reports what the API of this service would not take."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Integer, String, Table
from sqlalchemy.sql.elements import ColumnElement

from baremetal_sched.baremetal.identifiers import is_conductor_group, is_logical_name
from baremetal_sched.baremetal.schemas.traits import is_trait
from baremetal_sched.db.documents import text_fault
from baremetal_sched.db.sealing import SealedText
from baremetal_sched.db.types import LARGEST_MESSAGE, Json, Message
from baremetal_sched.documents.schema import canonical_mac
from baremetal_sched.machines.states import PROVISION_STATES
from baremetal_sched.moving.findings import FindingKind, ImportFinding
from baremetal_sched.moving.ironic_rows import Unfit, name_in_ironic
from baremetal_sched.moving.row_sync import Row, RowWriter
from baremetal_sched.moving.run import ImportRun
from baremetal_sched.moving.source_databases import SourceRow

#: Tables of rows that belong to others, with their names in Ironic.
_PARTS: Mapping[str, str] = {
    "node_traits": "node_traits",
    "bios_settings": "bios_settings",
    "firmware_components": "firmware_information",
    "node_inventories": "node_inventory",
    "runbook_traits": "runbook_traits",
}
#: The tables of the steps in one document of ours.
_STEPS: Mapping[str, str] = {"deploy_templates": "deploy_template_steps", "runbooks": "runbook_steps"}
#: Documents that are lists; the others are objects.
_LISTS = frozenset({"traits", "candidate_nodes", "steps", "conditions", "actions", "allowable_values"})


def _is_mac(text: str) -> bool:
    return canonical_mac(text) is not None


#: Values that the API refuses, and that can be stored and corrected later: by table and column.
_USUAL: Mapping[tuple[str, str], tuple[Callable[[str], bool], str]] = {
    **dict.fromkeys(
        (("nodes", "name"), ("portgroups", "name"), ("node_allocations", "name")),
        (is_logical_name, "no name: the API finds nothing by it"),
    ),
    ("nodes", "conductor_group"): (is_conductor_group, "no conductor group: no conductor can serve the node"),
    **dict.fromkeys((("ports", "address"), ("portgroups", "address")), (_is_mac, "no MAC address")),
    **dict.fromkeys(
        (("node_traits", "trait"), ("runbook_traits", "trait"), ("deploy_templates", "name"), ("runbooks", "name")),
        (is_trait, "no trait: no request can ask for it"),
    ),
}


class Rehearsal(ImportRun):
    """An import that reports instead of writing. It reads all rows of Ironic, and nothing of this database."""

    def release(self, table: Table, name: str, columns: Sequence[str]) -> None:
        """Do nothing: nothing is in the way of rows that are not written."""

    def mirror(
        self,
        table: Table,
        name: str,
        row_of: Callable[[SourceRow], Row],
        more: Callable[[RowWriter, Sequence[SourceRow]], None] | None = None,
    ) -> None:
        """Report the rows of table ``name`` of Ironic, and of those that belong to them, that are not taken."""
        for batch in self.ironic.batches(name):
            check = _Check(self, {row["id"]: subject_of(name, row) for row in batch})
            for source in batch:
                check.row(table, name, row_of(source), check.subjects[source["id"]])
            if more is not None:
                more(check, batch)


def subject_of(name: str, row: SourceRow) -> str:
    """Return what a row of table ``name`` is called in the report."""
    if row.get("uuid"):
        return str(row["uuid"])
    return f"{name} {row['id'] if 'id' in row else ' '.join(map(repr, row.values()))}"


@dataclass
class _Check:
    """Takes the place of a ``RowSync``, and looks at the rows. ``subjects``: UUIDs of what the rows belong to."""

    run: Rehearsal
    subjects: Mapping[Any, str]

    def sync(
        self,
        table: Table,
        key: Sequence[str],
        rows: Sequence[Row],
        scope: ColumnElement[bool],
        *,
        derived: Collection[str] = (),
    ) -> None:
        """Look at rows that belong to others."""
        if table.name in _PARTS:
            for row in rows:
                self.row(table, _PARTS[table.name], row, self.subjects[row[key[0]]])

    def row(self, table: Table, name: str, row: Row, subject: str) -> None:
        """Report the columns of a row that cannot be stored, and those that are odd."""
        quick = _quick(table)
        for each, value in row.items():
            nullable, kind, most = quick[each]
            if value is None and nullable:
                continue
            odd = isinstance(value, str) and (len(value) > most or not value.isascii() or "\0" in value)
            if type(value) is kind and not odd:
                continue
            where = f"{name}.{name_in_ironic(table.name, each)}"
            if each == "steps" and table.name in _STEPS:
                for member, part in (item for step in value for item in step.items()):
                    self._report(subject, f"{_STEPS[table.name]}.{member}", _fault_of_step(part))
            elif fault := _fault(table.c[each], value):
                self._report(subject, where, fault)
            elif value is not None and (usual := _USUAL.get((table.name, each))) and not usual[0](value):
                text = f"{where} is {usual[1]} ({value!r}); it is taken as it is"
                self.run.report.add(ImportFinding(FindingKind.NOTE, subject, text, "Correct it in Ironic, or later."))

    def _report(self, subject: str, where: str, fault: str | None) -> None:
        if fault is not None:
            remedy = f"Correct {where} of it in Ironic, or in Ironic's database, and run it again."
            self.run.report.add(ImportFinding(FindingKind.UNFIT, subject, f"{where} {fault}", remedy))


@cache
def _quick(table: Table) -> Mapping[str, tuple[bool, type, int]]:
    """Return, by column, whether it may be empty, and the class of values that need no closer look, in most rows: of
    texts, those in ASCII with so many characters at most."""
    found: dict[str, tuple[bool, type, int]] = {}
    for name, column in table.c.items():
        kind, most = column.type, LARGEST_MESSAGE
        if isinstance(kind, Json):
            plain: type = list if name in _LISTS else dict
        elif isinstance(kind, String | Message):
            plain, most = str, getattr(kind, "length", None) or most
        else:
            plain = kind.python_type if isinstance(kind, Boolean | DateTime) else object
        looked_at = name in ("steps", "provision_state") or (table.name, name) in _USUAL
        found[name] = bool(column.nullable), object if looked_at else plain, most
    return found


def _fault_of_step(value: Any) -> str | None:
    """Return what is wrong with a member of a step: a document, a text or a number."""
    if isinstance(value, str) and (fault := text_fault(value)):
        return f"has {fault}"
    if isinstance(value, Unfit):
        return value.fault
    return "is no object" if isinstance(value, list) else None


def _fault(column: Column[Any], value: Any) -> str | None:
    """Return what is wrong with a value of ours; None if it can be stored and used."""
    kind = column.type
    if value is None:
        return None if column.nullable else "is missing"
    if isinstance(value, Unfit):
        return value.fault
    if isinstance(kind, Json):
        return _fault_of_document(column.name, value)
    if isinstance(value, str):
        return _fault_of_text(kind, value, column.name)
    if isinstance(kind, Integer) and isinstance(value, int):
        most = 2**63 if isinstance(kind, BigInteger) else 2**31
        return None if -most <= value < most else f"is out of range ({value})"
    return None


def _fault_of_document(name: str, value: Any) -> str | None:
    if name not in _LISTS:
        return None if isinstance(value, dict) else "is no object"
    return None if isinstance(value, list) else "is no list"


def _fault_of_text(kind: Any, value: str, name: str) -> str | None:
    if fault := text_fault(value):
        return f"has {fault}"
    if name == "provision_state" and value not in PROVISION_STATES:
        return f"is no provision state ({value!r})"
    if isinstance(kind, String) and kind.length is not None:
        most, size = kind.length, len(value)
    elif isinstance(kind, Message):  # it is cut
        return None
    elif isinstance(kind, String | SealedText):
        most, size = LARGEST_MESSAGE, len(value.encode())
    else:
        return "is a text"
    return None if size <= most else f"is too long: it has {size} characters, and {most} can be stored"
