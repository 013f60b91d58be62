"""Looks for what the schema of an original allows and ours does not: identifiers in several spellings, texts that no
database of ours holds, rows that must be unique here, and references to rows that are gone."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from typing import Any

from sqlalchemy import func, select

from baremetal_sched.db.documents import text_fault
from baremetal_sched.moving.findings import FindingKind, ImportFinding
from baremetal_sched.moving.forms import REPEATED, Form, form_of
from baremetal_sched.moving.rehearsal import subject_of
from baremetal_sched.moving.source_databases import SourceDatabase, SourceRow

#: Tables whose identifiers are taken; the original that has the first one has none of the second.
_IDENTIFIED = (
    *("nodes", "ports", "portgroups", "chassis", "volume_connectors", "volume_targets", "node_history"),
    *("deploy_templates", "runbooks", "inspection_rules"),
    *("resource_providers", "consumers", "placement_aggregates", "allocations"),
)
#: Columns whose values must be unique here, although the originals do not ensure that.
_ONCE = (("node_inventory", "node_id"), ("nodes", "allocation_id"))

#: Columns with ids of rows of other tables.
_REFERENCES = (
    ("nodes", "chassis_id", "chassis"),
    *((name, "node_id", "nodes") for name in ("ports", "portgroups", "volume_connectors", "volume_targets")),
    *((name, "node_id", "nodes") for name in ("node_history", "allocations")),
    ("ports", "portgroup_id", "portgroups"),
    ("inventories", "resource_class_id", "resource_classes"),
    ("resource_provider_traits", "trait_id", "traits"),
    ("resource_provider_aggregates", "aggregate_id", "placement_aggregates"),
    ("consumers", "project_id", "projects"),
    ("consumers", "user_id", "users"),
)
#: Texts of Placement, with the number of characters that ours can have.
_TEXTS = (
    ("resource_providers", "name", 200),
    *((name, "external_id", 255) for name in ("projects", "users")),
    *((name, "name", 255) for name in ("consumer_types", "traits", "resource_classes")),
)


def findings(*sources: SourceDatabase) -> Iterator[ImportFinding]:
    """Yield what the originals have that cannot be taken, and a line for each identifier that is written in another
    form."""
    written: dict[tuple[str, str], list[str]] = defaultdict(list)
    for source in sources:
        for name in (each for each in _IDENTIFIED if each in source.tables):
            for column in source.table(name).c:
                if form := form_of(name, column.name):
                    yield from _identifiers(source, name, column.name, form, written)
        for check, places in _CHECKS:
            for place in places:
                if place[0] in source.tables and place[1] in source.table(place[0]).c:
                    yield from check(source, *place)
    for (old, own), columns in written.items():
        yield ImportFinding(FindingKind.REWRITTEN, old, f"it is {own} here ({', '.join(columns)})")


def _unfit(source: SourceDatabase, subject: str, text: str, remedy: str) -> ImportFinding:
    return ImportFinding(
        FindingKind.UNFIT, subject, text, f"{remedy} in the database of {source.name}, and run it again."
    )


def _identifiers(
    source: SourceDatabase, name: str, column: str, form: Form, written: dict[tuple[str, str], list[str]]
) -> Iterator[ImportFinding]:
    where = f"{name}.{column}"
    for own, stored in source.spellings(name, column).items():
        if form(own) is None:
            rows = source.rows(name, column, [own]) or [{column: own}]
            for row in rows if column != "address" else ():  # the rehearsal names these
                yield _unfit(source, subject_of(name, row), f"{where} is no UUID ({own!r})", "Give it a UUID")
            continue
        if (name, column) not in REPEATED:
            yield from _merged(source, name, column, own, stored)
        for old in stored:
            written[old, own].append(where)


def _merged(source: SourceDatabase, name: str, column: str, own: str, stored: Sequence[str]) -> Iterator[ImportFinding]:
    """Yield a finding if rows that differ in spelling become one."""
    table = source.table(name)
    # A comparison of MariaDB may ignore case.
    present = [text for text in source.scalars(select(table.c[column]).where(table.c[column] == own)) if text == own]
    rows = sorted({*stored, *present[:1]})
    if len(rows) > 1:
        of_rows = ""
        if column != "uuid":
            of_rows = f" of {' and '.join(subject_of(name, row) for row in source.rows(name, column, [own]))}"
        text = f"{name}.{column}{of_rows} is the same one in several spellings: {' and '.join(rows)}"
        yield _unfit(source, own, text, "Delete or correct all rows but one")


def _repeated(source: SourceDatabase, name: str, column: str) -> Iterator[ImportFinding]:
    """SELECT column FROM name WHERE column IS NOT NULL GROUP BY column HAVING count(*) > 1"""
    own = source.table(name).c[column]
    values = source.scalars(select(own).where(own.is_not(None)).group_by(own).having(func.count() > 1))
    for value in values:
        rows = source.rows(name, column, [value], order=("id",))
        names = " and ".join(subject_of(name, row) for row in rows)
        yield _unfit(
            source, names.split(" and ")[0], f"{names} have the same {column}", "Delete or correct all but one"
        )


def _dangling(source: SourceDatabase, name: str, column: str, other: str) -> Iterator[ImportFinding]:
    """SELECT name.* FROM name LEFT JOIN other ON other.id = name.column WHERE name.column IS NOT NULL AND other.id IS
    NULL"""
    table, target = source.table(name), source.table(other)
    joined = table.outerjoin(target, target.c.id == table.c[column])
    query = select(table).select_from(joined).where(table.c[column].is_not(None), target.c.id.is_(None))
    for row in source.select(query):
        found: SourceRow = dict(zip(table.c.keys(), row, strict=True))
        text = f"{name}.{column} is {found[column]}, and there is no such row in {other}"
        yield _unfit(source, subject_of(name, found), text, "Delete the row, or correct it,")


def _texts(source: SourceDatabase, name: str, column: str, most: int) -> Iterator[ImportFinding]:
    for row in source.all(name, tuple(dict.fromkeys(("id", *_uuid(source, name), column)))):
        text = row[column]
        if text is None:
            fault: str | None = "is missing"
        else:
            too_long = f"has {len(text)} characters, and {most} can be stored" if len(text) > most else None
            fault = f"has {found}" if (found := text_fault(text)) else too_long
        if fault is not None:
            yield _unfit(source, subject_of(name, row), f"{name}.{column} {fault}", "Correct it")


def _uuid(source: SourceDatabase, name: str) -> Sequence[str]:
    return ("uuid",) if "uuid" in source.table(name).c else ()


def _ratios(source: SourceDatabase, name: str, column: str) -> Iterator[ImportFinding]:
    for row in source.all(name, ("id", column)):
        if not isfinite(row[column]):
            yield _unfit(source, subject_of(name, row), f"{name}.{column} is not finite ({row[column]})", "Correct it")


#: Checks of both originals, with their tables and columns.
_CHECKS: tuple[tuple[Callable[..., Iterator[ImportFinding]], Sequence[tuple[Any, ...]]], ...] = (
    (_repeated, _ONCE),
    (_dangling, _REFERENCES),
    (_texts, _TEXTS),
    (_ratios, (("inventories", "allocation_ratio"),)),
)
