"""Rows that an Ironic and a Placement may hold, and the API refuses: each is named, or taken in its usual form."""

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest
from sqlalchemy import Column, Connection, Integer, MetaData, String, Table, select, text

from baremetal_sched.db.models import Consumer, Node, Port, ResourceProvider
from baremetal_sched.errors import UnavailableError
from baremetal_sched.moving.run import ImportRun
from baremetal_sched.moving.source_databases import SourceDatabase
from tests.moving.moving_nodes import instance_of, name_of
from tests.moving.sources import Cloud
from tests.moving.test_import import Target, columns_of, target
from tests.service import Service

__all__ = ["target"]

FREE, USED, OTHER = name_of("node", 70), name_of("node", 63), name_of("node", 74)
ALLOCATION, INSTANCE = name_of("allocation", 0), instance_of(63) or ""
Spelling = Callable[[str], str]
SPELLINGS: list[Spelling] = [str.upper, lambda uuid: uuid.replace("-", ""), lambda uuid: uuid.upper().replace("-", "")]

NODE = "UPDATE nodes SET {} = ? WHERE id = 1"
INVENTORY = "UPDATE node_inventory SET inventory_data = ?"
DEEP = '{"a":' * 300 + "1" + "}" * 300
#: Statement, its value, the subject of the line, and what the line says.
UNFIT = [
    (NODE.format("extra"), '{"speed": NaN}', FREE, "nodes.extra has a number that is not finite"),
    (NODE.format("properties"), '{"n": 1e400}', FREE, "nodes.properties has a number that is not finite"),
    (NODE.format("extra"), r'{"a": "\ud83d"}', FREE, "nodes.extra has unpaired surrogates in a text"),
    (NODE.format("driver_info"), r'{"a": {"b\u0000": 1}}', FREE, "nodes.driver_info has the character NUL in a text"),
    (NODE.format("extra"), DEEP, FREE, "nodes.extra is nested deeper than 100 levels"),
    (NODE.format("extra"), "[" * 100_000, FREE, "nodes.extra is nested deeper than 100 levels"),
    (NODE.format("instance_info"), "{", FREE, "nodes.instance_info is no JSON"),
    (NODE.format("properties"), "[1]", FREE, "nodes.properties is no object"),
    (NODE.format("description"), "a\0b", FREE, "nodes.description has the character NUL"),
    (NODE.format("last_error"), "a\0b", FREE, "nodes.last_error has the character NUL"),
    (NODE.format("retired_reason"), "ж" * 40_000, FREE, "nodes.retired_reason is too long"),
    (NODE.format("fault"), "f" * 65, FREE, "nodes.fault is too long: it has 65 characters, and 64 can be stored"),
    (NODE.format("provision_state"), "dreaming", FREE, "nodes.provision_state is no provision state ('dreaming')"),
    (NODE.format("uuid"), None, "nodes 1", "nodes.uuid is missing"),
    (NODE.format("parent_node"), "rack-7", FREE, "nodes.parent_node is no UUID ('rack-7')"),
    (NODE.format("chassis_id"), 99, FREE, "nodes.chassis_id is 99, and there is no such row in chassis"),
    ("UPDATE nodes SET last_error = CAST(x'ff41' AS TEXT) WHERE id = ?", 1, FREE, "nodes.last_error has unpaired"),
    (INVENTORY, '{"x": -Infinity}', FREE, "node_inventory.inventory_data has a number that is not finite"),
    (INVENTORY, '{"x": "%s"}' % ("y" * 20 * 2**20), FREE, "node_inventory.inventory_data is too large"),
    ("UPDATE bios_settings SET value = ?", "a\0b", FREE, "bios_settings.value has the character NUL"),
    ("UPDATE runbook_steps SET args = ?", '{"a": NaN}', name_of("runbook", 0), "runbook_steps.args has a number"),
    ("UPDATE allocations SET uuid = ?", "my-allocation", "my-allocation", "allocations.uuid is no UUID"),
    ("UPDATE node_history SET node_id = ?", None, name_of("event", 0), "node_history.node_id is missing"),
    ("UPDATE volume_targets SET boot_index = ?", 2**31, name_of("target", 0), "volume_targets.boot_index is out of"),
    (
        "INSERT INTO node_inventory (node_id, inventory_data, version) VALUES (1, '{}', ?)",
        "1.1",
        "node_inventory 1",
        "have the same node_id",
    ),
]
OF_PLACEMENT = [
    ("UPDATE resource_providers SET name = ? WHERE name = 'vm-host'", "a\0b", name_of("other", 1), "name has the char"),
    ("UPDATE resource_providers SET uuid = ? WHERE name = 'vm-host'", "vm-host", "vm-host", "uuid is no UUID"),
    ("UPDATE projects SET external_id = ?", "p" * 256, "projects 1", "projects.external_id has 256 characters"),
    (
        "UPDATE consumers SET user_id = ? WHERE id = 1",
        99,
        INSTANCE,
        "consumers.user_id is 99, and there is no such row in users",
    ),
    (
        "UPDATE inventories SET allocation_ratio = ? WHERE total = 16",
        "1e999",
        "inventories",
        "allocation_ratio is not finite (inf)",
    ),
]


@pytest.mark.parametrize(("database", "rows"), [("ironic", UNFIT), ("placement", OF_PLACEMENT)])
def test_what_cannot_be_stored_is_named_with_its_row(
    target: Target, subtests: pytest.Subtests, database: str, rows: list[tuple[str, object, str, str]]
) -> None:
    """Also by the dry run, and nothing is written."""
    before = target.rows()
    for statement, value, subject, said in rows:
        source = getattr(target.cloud, database)
        whole = source.path.read_bytes()
        with subtests.test(statement=statement, said=said):
            source.execute(statement, float(value) if value == "1e999" else value)  # type: ignore[arg-type]
            lines = [line for line in target.run(dry_run=True).lines() if "refused: unfit" in line]
            (line,) = (line for line in lines if said in line)
            assert line.startswith(f"refused: unfit {subject}")
            assert "and run it again" in line
        if (statement, value) != rows[-1][:2]:
            source.path.write_bytes(whole)
    assert "unfit" in {finding.kind.word for finding in target.run().blocking}
    assert target.rows() == before


def respell(cloud: Cloud, spelling: Spelling) -> dict[str, str]:
    """Write all UUIDs of both originals in another spelling; return those of before by it."""
    written: dict[str, str] = {}
    columns = {
        cloud.ironic: [
            *((name, "uuid") for name in ("nodes", "ports", "portgroups", "chassis", "allocations", "node_history")),
            *((name, "uuid") for name in ("volume_connectors", "volume_targets", "runbooks", "inspection_rules")),
            *(("nodes", name) for name in ("instance_uuid", "parent_node")),
        ],
        cloud.placement: [
            *((name, "uuid") for name in ("resource_providers", "consumers", "placement_aggregates")),
            ("resource_providers", "name"),
            ("allocations", "consumer_id"),
        ],
    }
    for source, places in columns.items():
        for table, column in places:
            with closing(sqlite3.connect(source.path)) as connection, connection:
                for (own,) in connection.execute(f"SELECT DISTINCT {column} FROM {table}").fetchall():
                    if own and len(own) == 36:
                        written[spelling(own)] = own
                        values = (spelling(own), own)
                        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", values)
    return written


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_uuids_are_written_in_their_usual_form(target: Target, spelling: Spelling) -> None:
    """In all tables, and whichever originals have which spelling; the report has a line for each."""
    ironic = target.cloud.ironic
    ironic.execute("UPDATE nodes SET maintenance = 1, parent_node = ? WHERE uuid = ?", FREE, OTHER)
    candidates = [FREE, OTHER]
    ironic.execute("UPDATE allocations SET candidate_nodes = ?", str(candidates).replace("'", '"'))
    assert target.run().blocking == []
    expected = target.rows()
    written = respell(target.cloud, spelling)
    ironic.execute("UPDATE allocations SET candidate_nodes = ?", str([*map(spelling, candidates)]).replace("'", '"'))
    report = target.run()
    assert report.blocking == []
    assert report.written.total() == 0
    assert target.rows() == expected
    assert target.audit() == []
    said = {finding.subject: finding.text for finding in report.remarks if finding.kind.word == "rewritten"}
    assert said.keys() == written.keys()
    assert all(said[old].startswith(f"it is {own} here (") for old, own in written.items())
    assert "(nodes.uuid, nodes.parent_node, resource_providers.uuid, " in said[spelling(FREE)]


def test_each_original_may_have_another_spelling(target: Target) -> None:
    """Placement has UUIDs in their usual form when Ironic does not: Nova asks it for them so."""
    target.cloud.ironic.execute("UPDATE nodes SET uuid = upper(uuid), instance_uuid = upper(instance_uuid)")
    target.cloud.placement.execute("UPDATE resource_providers SET name = upper(name) WHERE name = uuid")
    target.cloud.placement.execute("UPDATE consumers SET uuid = upper(uuid)")
    report = target.run()
    assert report.blocking == []
    assert target.audit() == []
    assert not any("is claimed by" in str(finding) for finding in report.remarks)

    def found(model: object, column: str) -> set[str]:
        return set(target.database.read(lambda session: session.scalars(select(getattr(model, column))).all()))

    assert {FREE, USED, OTHER} == found(Node, "uuid") <= found(ResourceProvider, "name")
    assert {INSTANCE, ALLOCATION} <= found(Consumer, "uuid")
    assert target.run().written.total() == 0


def test_a_mirror_in_another_spelling_is_written_anew(target: Target) -> None:
    """Earlier releases copied UUIDs as they were."""
    target.run()

    def respelled(connection: Connection) -> None:
        for table in ("nodes", "resource_providers", "consumers", "ports", "node_allocations"):
            connection.execute(text(f"UPDATE {table} SET uuid = upper(uuid)"))
        connection.execute(text("UPDATE resource_providers SET name = upper(name)"))
        connection.execute(text("UPDATE nodes SET instance_uuid = upper(instance_uuid)"))

    target.database.change(respelled)
    assert target.run().blocking == []
    assert target.audit() == []
    assert set(columns_of(target, "uuid")) == {FREE, USED, OTHER}
    assert target.run().written.total() == 0


def test_addresses_are_written_in_small_letters(target: Target) -> None:
    target.cloud.ironic.execute("UPDATE ports SET address = '52:54:00:AA:BB:CC' WHERE id = 1")
    assert target.run().blocking == []
    query = select(Port.address).where(Port.id == 1)
    assert target.database.read(lambda session: session.scalar(query)) == "52:54:00:aa:bb:cc"


def twin_nodes(cloud: Cloud) -> None:
    cloud.ironic.execute("UPDATE nodes SET uuid = upper(?) WHERE uuid = ?", FREE, OTHER)


def twin_instances(cloud: Cloud) -> None:
    cloud.ironic.execute("UPDATE nodes SET instance_uuid = upper(?) WHERE uuid = ?", INSTANCE, OTHER)


def twin_consumers(cloud: Cloud) -> None:
    cloud.placement.execute("UPDATE consumers SET uuid = upper(?) WHERE uuid <> ?", INSTANCE, INSTANCE)


def twin_ports(cloud: Cloud) -> None:
    cloud.ironic.execute("UPDATE ports SET address = '52:54:00:AA:BB:CC' WHERE id = 1")
    cloud.ironic.execute("UPDATE ports SET address = '52:54:00:aa:bb:cc' WHERE id = 2")


@pytest.mark.parametrize(
    ("plant", "subject", "said"),
    [
        (twin_nodes, FREE, ("nodes.uuid is the same one", f"{FREE.upper()} and {FREE}")),
        (twin_instances, INSTANCE, (f"nodes.instance_uuid of {USED} and {OTHER}", INSTANCE.upper())),
        (twin_consumers, INSTANCE, ("consumers.uuid is the same one", f"{INSTANCE.upper()} and {INSTANCE}")),
        (twin_ports, "52:54:00:aa:bb:cc", (f"of {name_of('port', 0)} and {name_of('port', 1)}", "52:54:00:AA:BB:CC")),
    ],
)
def test_rows_that_would_become_one_are_refused(
    target: Target, plant: Callable[[Cloud], None], subject: str, said: tuple[str, ...]
) -> None:
    """The line names both."""
    plant(target.cloud)
    before = target.rows()
    lines = [line for line in target.run().lines() if line.startswith(f"refused: unfit {subject}: ")]
    assert len(lines) == 1
    assert all(part in lines[0] for part in said)
    assert target.rows() == before


def test_what_is_odd_and_can_be_stored_is_said(target: Target) -> None:
    """It can be corrected here, too."""
    ironic = target.cloud.ironic
    ironic.execute("UPDATE node_traits SET trait = 'custom_rack' WHERE node_id = 1 AND trait LIKE 'CUSTOM%'")
    ironic.execute("UPDATE nodes SET conductor_group = 'rack 1', name = 'n ' WHERE id = 1")
    ironic.execute("UPDATE allocations SET name = ?", name_of("x", 1))
    ironic.execute("UPDATE ports SET address = 'fe80::1' WHERE uuid = ?", name_of("port", 0))
    report = target.run()
    assert report.blocking == []
    said = {line.partition(" is no ")[0] for line in report.lines() if "it is taken as it is" in line}
    assert said == {
        *(f"note {FREE}: {name}" for name in ("nodes.name", "nodes.conductor_group", "node_traits.trait")),
        f"note {ALLOCATION}: allocations.name",
        f"note {name_of('port', 0)}: ports.address",
    }
    assert target.audit() == []


def test_an_error_of_this_database_is_not_called_that_of_an_original(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: ImportRun, work: object) -> None:
        self.database.change(lambda connection: connection.execute(text("SELECT * FROM no_table_at_all")))

    with monkeypatch.context() as patch:
        patch.setattr(ImportRun, "write", fails)
        with pytest.raises(Exception) as error:
            target.run()
    gone = Table("gone", MetaData(), Column("id", Integer), Column("uuid", String), Column("generation", Integer))
    assert "Placement" not in str(error.value)
    assert "Ironic" not in str(error.value)
    table = SourceDatabase.table
    names = {"resource_providers": lambda self, name: gone}
    monkeypatch.setattr(SourceDatabase, "table", lambda self, name: names.get(name, table)(self, name))
    with pytest.raises(UnavailableError, match="The database of Placement cannot be read"):
        target.run()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_speaks_in_the_old_spelling_finds_its_node(target: Target, database_url: str, spelling: Spelling) -> None:
    """Agents, boot images and Nova have it from before."""
    respell(target.cloud, spelling)
    target.cloud.ironic.execute("UPDATE nodes SET provision_state = 'inspect wait' WHERE id = 1")
    target.run(failed=True)
    target.close()
    old = spelling(FREE)
    with Service(database_url) as service:
        service.add_conductor("c1")
        service.set_columns(FREE, provision_state="inspect wait")
        assert service.baremetal("GET", f"/nodes/{old}").json["uuid"] == FREE
        told = service.baremetal("GET", f"/lookup?node_uuid={old}").json
        assert told["node"]["uuid"] == FREE
        beat = {
            "callback_url": "http://10.0.0.1:9999",
            "agent_token": told["config"]["agent_token"],
            "agent_version": "1",
        }
        service.baremetal("POST", f"/heartbeat/{old}", beat, status=202)
        report = {"inventory": {"interfaces": [{"name": "eth0", "mac_address": "52:54:00:00:00:00"}]}}
        service.baremetal("POST", f"/continue_inspection?node_uuid={old}", report, status=202)
        assert service.baremetal("GET", f"/nodes?instance_uuid={spelling(INSTANCE)}").json["nodes"][0]["uuid"] == USED
        assert service.baremetal("GET", f"/allocations/{spelling(ALLOCATION)}").json["node_uuid"] == FREE
        assert USED in service.placement("GET", f"/allocations/{spelling(INSTANCE)}").json["allocations"]
        assert service.placement("GET", f"/resource_providers/{old}/inventories").json["inventories"]
        if len(spelling(FREE)) == 36:  # a query has no other
            found = service.placement("GET", f"/resource_providers?member_of={spelling(name_of('aggregate', 0))}").json
            assert FREE in {each["uuid"] for each in found["resource_providers"]}
