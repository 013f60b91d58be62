"""Rows made from the column types of Ironic 39: what its schema allows is taken and can be read, or is named.

Each round gives a row of each table a value in every column at once. What the report names is put back, and nothing
else: then the import succeeds.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import pytest

from baremetal_sched.moving.findings import ImportFinding
from tests.moving.moving_nodes import INTERFACES, name_of
from tests.moving.sources import HandMade, columns
from tests.moving.test_import import Target, target
from tests.service import Service

__all__ = ["target"]

_SCHEMA = "ironic-39"
#: Values by type; ``None`` is left out where a column must have a value. A text may be a document.
_TEXTS = (
    *("", "null", "[]", "{}", '"x"', "1", "{", '{"n": NaN}', '{"n": 1e400}', '{"n": 123456789012345678901234567890}'),
    *(r'{"a": "\u0000"}', r'{"\udc00": 1}', '{"a": 1, "a": 2}', '{"a":' * 120 + "1" + "}" * 120, "[" * 5000),
    *("ж" * 150_000, "a\0b", "a\ud800", '{"a": "ä€𝄞"}', "[[1, {}]]", '[{"op": "lt"}]', None),
)
_WORDS = ("", " a ", "A", "a\0b", "ж" * 400, "x", "a\nb", "a\ud800", "9D0A9ABEA9B252B7B136CEDEFFB6E27E", "~1", None)
_VALUES: Mapping[str, Sequence[Any]] = {
    "TEXT": _TEXTS,
    "INTEGER": (0, -1, 2**31 - 1, -(2**31), None),
    "BIGINT": (2**63 - 1, -(2**63), 0, None),
    "BOOLEAN": (0, 1, None),
    "DATETIME": ("1970-01-01 00:00:00.000000", "9999-12-31 23:59:59.999999", "2000-02-29 23:59:59.500000", None),
}
_MOST, _IN_CI = len(_TEXTS), 4
#: Columns that say which row it is, and whose release it is of.
_KEPT = frozenset({"id", "version", "deploy_template_id", "runbook_id"})
#: What other kinds of findings are about.
_OF_KIND: Mapping[str, tuple[str, ...]] = {
    "in-flight": ("nodes.provision_state", "nodes.reservation", "nodes.target_power_state", "allocations.state"),
    "driver": ("nodes.driver",),
    "interface": tuple(f"nodes.{kind}_interface" for kind in (*INTERFACES, "network")),
    "several-consumers": ("nodes.instance_uuid", "allocations.uuid"),
    "other-consumer": ("nodes.instance_uuid", "allocations.uuid"),
    "leftover-class": ("nodes.resource_class",),
    "node-without-provider": ("nodes.uuid",),
    "provider-without-node": ("nodes.uuid",),
}
_NAMED = re.compile(r"\b([a-z_]+\.[a-z_]+)\b|have the same (\w+)")


def values_of(kind: str, turn: int) -> Any:
    """A value for a column of this type: another one in each round."""
    required, plain = kind.endswith("!"), kind.removesuffix("!")
    found = _VALUES.get(plain.partition("(")[0], _WORDS)
    if plain.startswith("VARCHAR"):
        length = int(plain.partition("(")[2].rstrip(")"))
        found = [word if word is None else word[:length] for word in (*_WORDS, "y" * length)]
    allowed = [value for value in found if value is not None or not required]
    return allowed[turn % len(allowed)]


def rows_of(source: HandMade) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """The first row of each table, with its rowid."""
    with closing(sqlite3.connect(source.path)) as connection:
        connection.row_factory = sqlite3.Row
        for table in columns(_SCHEMA):
            if table not in ("conductors", "conductor_hardware_interfaces", "node_tags"):
                row = dict(connection.execute(f"SELECT rowid AS row, * FROM {table} ORDER BY rowid").fetchone())
                yield table, row.pop("row"), row


def write(source: HandMade, table: str, row: int, values: Mapping[str, Any]) -> None:
    """Change columns of a row; a text may be one that is no UTF-8."""
    stored = {
        name: value.encode(errors="surrogatepass") if isinstance(value, str) else value
        for name, value in values.items()
    }
    names = ", ".join(
        f'"{name}" = CAST(? AS TEXT)' if isinstance(value, bytes) else f'"{name}" = ?' for name, value in stored.items()
    )
    if names:
        source.execute(f'UPDATE "{table}" SET {names} WHERE rowid = ?', *stored.values(), row)


def named(finding: ImportFinding) -> set[str]:
    """The columns that a finding is about."""
    if finding.kind.word in _OF_KIND:
        return set(_OF_KIND[finding.kind.word])
    column, of_some = _NAMED.search(finding.text).groups()  # type: ignore[union-attr]
    table = finding.subject.partition(" ")[0] if " " in finding.subject else "nodes"
    return {column or f"{table}.{of_some}"}


def tier_of(turn: int) -> Any:
    """A turn of the first tier, of ``.ci/run``, or of ``.ci/extended``."""
    marks = () if turn == 0 else pytest.mark.ci if turn < _IN_CI else pytest.mark.slow
    return pytest.param(turn, marks=marks)


@pytest.mark.parametrize("turn", [*map(tier_of, range(_MOST))])
def test_every_value_that_the_schema_allows_is_taken_or_named(target: Target, database_url: str, turn: int) -> None:
    source = target.cloud.ironic
    before = {(table, row): values for table, row, values in rows_of(source)}
    for table, row in before:
        types = dict(column.split(" ") for column in columns(_SCHEMA)[table])
        planted = {name: values_of(kind, turn + number) for number, (name, kind) in enumerate(types.items())}
        write(source, table, row, {name: value for name, value in planted.items() if name not in _KEPT})
    put_back: set[str] = set()
    for _ in range(12):
        report = target.run()
        if not report.blocking:
            break
        found = set().union(*map(named, report.blocking)) - put_back
        assert found, [str(finding)[:300] for finding in report.blocking]
        put_back |= found
        for (table, row), values in before.items():
            write(source, table, row, {name: value for name, value in values.items() if f"{table}.{name}" in put_back})
    assert report.blocking == []
    assert target.audit() == []
    assert target.run().written.total() == 0
    read_everything(target, database_url)


def read_everything(target: Target, database_url: str) -> None:
    """Everything can be read."""
    target.close()
    parts = ("", "/states", "/traits", "/bios?detail=True", "/firmware", "/history?detail=True", "/inventory")
    with Service(database_url) as service:
        nodes = service.baremetal("GET", "/nodes?fields=uuid&include_children=True").json["nodes"]
        assert len(nodes) == 3
        for part in parts:
            for node in nodes:
                answer = service.baremetal("GET", f"/nodes/{node['uuid']}{part}", status="*")
                assert answer.status_int == 200 or (part == "/inventory" and answer.status_int == 404), answer.body
        lists = ("nodes/detail", "ports?detail=True", "portgroups/detail", "chassis/detail", "allocations")
        volumes = ("volume/connectors?detail=True", "volume/targets?detail=True")
        rules = ("deploy_templates?detail=True", "runbooks?detail=True", "inspection_rules?detail=True")
        for path in (*lists, *volumes, *rules):
            service.baremetal("GET", f"/{path}")
        for path in ("/resource_providers", "/traits", f"/resource_providers/{name_of('node', 63)}/allocations"):
            service.placement("GET", path, status="*")
