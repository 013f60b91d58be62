"""The results of an import, also when it is repeated or interrupted, or the originals change."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db import schema
from baremetal_sched.db.models import Base, Consumer, Node, ResourceProvider
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import ConflictError, InvalidValue
from baremetal_sched.moving import given_files, importing
from baremetal_sched.moving.decisions import Choices, Replacements
from baremetal_sched.moving.findings import Adoptions, ImportReport
from baremetal_sched.moving.importing import Request
from baremetal_sched.moving.row_sync import RowSync
from baremetal_sched.moving.run import ImportRun
from baremetal_sched.placement.names import sync_standard_names
from baremetal_sched.settings import load
from tests.moving.moving_nodes import instance_of, name_of
from tests.moving.sources import Cloud, small_cloud

Import = Callable[..., ImportReport]

_UNMARKED = "UPDATE schema_state SET mirror_of = NULL, mirror_phase = NULL, mirror_until = NULL"


class Target:
    """An empty database, and imports into it."""

    def __init__(self, url: str, cloud: Cloud, **settings: dict[str, Any]) -> None:
        self.settings = load(overrides={"database": {"connection": url, **settings.pop("database", {})}, **settings})
        self.database = Database(self.settings, imports=True)
        self.cloud = cloud

    def run(self, *adopted: str, replaced: tuple[str, ...] = (), failed: bool = False, **options: bool) -> ImportReport:
        """Import, or refuse."""
        choices = Choices(Replacements.of(replaced), failed)
        urls = (self.cloud.ironic.url, self.cloud.placement.url)
        request = Request(*urls, "somewhere", choices, Adoptions.of(adopted), **options)
        return importing.run(self.database, self.settings, request, lambda table, rows: None)

    def rows(self) -> dict[str, list[Any]]:
        """All rows of all tables."""

        def read(session: Session) -> dict[str, list[Any]]:
            return {
                table.name: sorted(map(str, session.execute(select(table)).all()))
                for table in Base.metadata.sorted_tables
                if table.name != "schema_state"
            }

        return self.database.snapshot(read)

    def audit(self) -> list[str]:
        """The findings of ``db check``."""
        return self.database.snapshot(audit)

    def close(self) -> None:
        """Make the database one of its own again."""
        self.database.change(lambda connection: connection.execute(text(_UNMARKED)))
        self.database.dispose()


@pytest.fixture
def target(database_url: str, tmp_path: Path) -> Any:
    """A small cloud, and an empty database."""
    made = Target(database_url, small_cloud(tmp_path))
    yield made
    made.close()


def blocked(report: ImportReport) -> list[tuple[str, str]]:
    """Kinds and subjects of what stopped an import."""
    return [(finding.kind.word, finding.subject) for finding in report.blocking]


def test_everything_is_taken_once(target: Target) -> None:
    report = target.run()
    assert report.blocking == []
    assert target.audit() == []
    rows = target.rows()
    lacking = {name for name, found in rows.items() if not found}
    assert {"nodes", "ports", "runbook_traits", "allocations", "provider_aggregates"}.isdisjoint(lacking)
    again = target.run()
    assert again.written.total() == 0
    assert target.rows() == rows


@pytest.mark.parametrize("release", ["ironic-35"])
def test_the_oldest_ironic_is_taken(database_url: str, tmp_path: Path, release: str) -> None:
    target = Target(database_url, small_cloud(tmp_path, release))
    assert target.run().blocking == []
    assert target.audit() == []
    target.close()


def test_a_dry_run_writes_nothing(target: Target) -> None:
    before = target.rows()
    report = target.run(dry_run=True)
    assert report.would_take["nodes"] == 3
    assert report.written.total() == 0
    assert target.rows() == before


def test_generations_are_copied_and_never_go_back(target: Target) -> None:
    target.run()
    generations = select(ResourceProvider.generation).where(ResourceProvider.uuid == name_of("node", 70))
    # Its allocation of Ironic makes it reserved, which Placement does not know.
    assert target.database.read(lambda session: session.scalar(generations)) == 4
    others = select(ResourceProvider.generation).where(ResourceProvider.name == "vm-host")
    assert target.database.read(lambda session: session.scalar(others)) == 3
    consumer = select(Consumer.generation).where(Consumer.uuid == instance_of(63))
    assert target.database.read(lambda session: session.scalar(consumer)) == 2
    target.cloud.placement.execute("UPDATE resource_providers SET generation = 1")
    assert target.run().written.total() == 0


def test_changes_are_followed_and_what_is_gone_is_removed(target: Target, tmp_path: Path) -> None:
    target.run()
    ironic, placement = target.cloud.ironic, target.cloud.placement
    # Names and addresses change places; so do unique keys on the way.
    ironic.execute("UPDATE nodes SET name = 'x' WHERE id = 2")
    ironic.execute("UPDATE nodes SET name = 'node-63' WHERE id = 3")
    ironic.execute("UPDATE ports SET address = '52:54:00:00:00:09' WHERE id = 1")
    ironic.execute("UPDATE ports SET address = '52:54:00:00:00:00' WHERE id = 2")
    ironic.execute("DELETE FROM ports WHERE id = 4")
    ironic.execute("DELETE FROM volume_targets")
    ironic.execute("DELETE FROM runbook_traits")
    placement.execute("UPDATE resource_providers SET name = 'vm-host', uuid = ? WHERE name = 'device'", name_of("x", 1))
    placement.execute("UPDATE resource_providers SET name = 'device' WHERE uuid = ?", name_of("other", 1))
    target.cloud.node(80, chassis_id=1)
    report = target.run()
    assert report.blocking == []
    assert target.audit() == []
    assert target.run().written.total() == 0
    fresh = Target(f"sqlite:///{tmp_path}/fresh.sqlite", target.cloud)
    from baremetal_sched.cli.db import prepare

    prepare(fresh.database)
    fresh.run()
    assert columns_of(fresh, "name") == columns_of(target, "name")
    assert len(fresh.rows()["ports"]) == len(target.rows()["ports"]) == 3
    fresh.close()


def columns_of(target: Target, name: str) -> list[Any]:
    """A column of all nodes."""
    query = select(getattr(Node, name)).order_by(Node.uuid)
    return target.database.read(lambda session: list(session.scalars(query)))


def test_a_node_that_is_gone_goes_with_its_provider(target: Target) -> None:
    target.run()
    gone = name_of("node", 74)
    provider = target.cloud.provider_of(gone)
    target.cloud.ironic.execute("DELETE FROM nodes WHERE uuid = ?", gone)
    for table in ("inventories", "resource_provider_traits"):
        target.cloud.placement.execute(f"DELETE FROM {table} WHERE resource_provider_id = ?", provider)
    target.cloud.placement.execute("DELETE FROM resource_providers WHERE id = ?", provider)
    assert target.run().blocking == []
    assert target.audit() == []
    assert gone not in columns_of(target, "uuid")
    assert (
        target.database.read(lambda s: s.scalar(select(ResourceProvider.id).where(ResourceProvider.uuid == gone)))
        is None
    )


def test_a_consumer_of_several_things_that_is_gone_is_removed(target: Target) -> None:
    target.run()
    placement = target.cloud.placement
    for table, column in (("allocations", "consumer_id"), ("consumers", "uuid")):
        placement.execute(f"DELETE FROM {table} WHERE {column} = ?", instance_of(63))
    target.cloud.ironic.execute("UPDATE nodes SET instance_uuid = NULL WHERE uuid = ?", name_of("node", 63))
    assert target.run().blocking == []
    gone = select(Consumer.id).where(Consumer.uuid == instance_of(63))
    assert target.database.read(lambda session: session.scalar(gone)) is None
    assert target.audit() == []


@pytest.mark.ci
@pytest.mark.parametrize("place", range(0, 30, 3))
def test_an_import_that_is_killed_goes_on(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    """It ends after some of its transactions, or within one."""
    written = 0
    write = ImportRun.write

    def killed(self: ImportRun, work: Callable[[RowSync], Any]) -> Any:
        nonlocal written
        written += 1
        if written > place:
            raise KeyboardInterrupt
        return write(self, work)

    with monkeypatch.context() as patch:
        patch.setattr(ImportRun, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            target.run()
        with pytest.raises(ConflictError, match="interrupted"):
            importing.finish(target.database)
    assert target.run().blocking == []
    assert target.audit() == []
    assert target.run().written.total() == 0
    assert comparable(target.rows()) == comparable(uninterrupted(target.cloud, tmp_path))


def comparable(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The rows, without the times at which they were written here. Of standard names, which an import finds, it is the
    test before this one that decides about times."""
    today = datetime.now(UTC) - timedelta(days=1)

    def shown(found: re.Match[str]) -> str:
        moment = datetime(*map(int, found[1].split(", ")), tzinfo=UTC)  # type: ignore[misc,arg-type]
        return found[0] if moment < today else "now"

    def without_times(name: str, row: str) -> str:
        if name in ("traits", "resource_classes") and "CUSTOM_" not in row:
            return ", ".join(row.split(", ")[:2])
        return re.sub(r"datetime\.datetime\(([\d, ]+)\)", shown, row)

    # Each database has a stream of events of its own.
    kept = {name: found for name, found in rows.items() if name != "event_stream"}
    return {name: [without_times(name, row) for row in found] for name, found in kept.items()}


def uninterrupted(cloud: Cloud, folder: Path) -> dict[str, list[Any]]:
    """The rows that an import makes in one go."""
    other = Target(f"sqlite:///{folder}/uninterrupted.sqlite", cloud)
    schema.upgrade(other.database.engine)
    other.database.write(sync_standard_names)
    assert other.run().blocking == []
    rows = other.rows()
    other.close()
    return rows


def test_secrets_are_encrypted_as_they_are_read(database_url: str, tmp_path: Path) -> None:
    key = tmp_path / "keys"
    key.write_text("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n")
    key.chmod(0o600)
    target = Target(database_url, small_cloud(tmp_path), database={"secrets_key_file": str(key)})
    report = target.run()
    assert not any(finding.subject == "secrets" for finding in report.remarks)
    statements = (
        "SELECT driver_info FROM nodes",
        "SELECT value FROM bios_settings",
        "SELECT properties FROM volume_targets",
        "SELECT steps FROM runbooks",
    )

    def stored(session: Session) -> list[str]:
        return [value for statement in statements for value in session.scalars(text(statement))]

    for value in target.database.read(stored):
        assert value.startswith("~")
        assert "secret 6" not in value
        assert "of the" not in value
    assert target.run().written.total() == 0
    target.close()


def test_facts_of_agents_stay_where_they_are(target: Target) -> None:
    target.run()
    for internal in columns_of(target, "driver_internal_info"):
        assert internal.keys() == {"last_power_state_change"}


# -- sources that are not taken ----------------------------------------------------------------------------------------


def test_unknown_schemas_are_refused_with_the_known_ones(target: Target) -> None:
    target.cloud.ironic.execute("UPDATE alembic_version SET version_num = 'abc'")
    with pytest.raises(InvalidValue, match=r"head is abc. Known ones are .*9fb44677ef15 .Ironic 39"):
        target.run()
    target.cloud.placement.execute("DELETE FROM alembic_version")
    with pytest.raises(InvalidValue, match="Placement is not known: its head is missing"):
        target.run()


def test_rows_of_other_releases_are_refused(target: Target) -> None:
    target.cloud.ironic.execute("UPDATE nodes SET version = '1.41' WHERE id = 1")
    target.cloud.ironic.execute("UPDATE ports SET version = NULL WHERE id = 1")
    with pytest.raises(InvalidValue, match=r"1 of nodes are of version 1.41, not 1.44; 1 of ports are of version none"):
        target.run()


def test_a_database_with_contents_is_no_target(target: Target) -> None:
    target.database.write(lambda session: session.execute(text(_A_PROVIDER)))
    with pytest.raises(ConflictError, match="has resource providers of its own"):
        target.run()


_A_PROVIDER = (
    "INSERT INTO resource_providers (uuid, name, generation, created_at) VALUES ('a', 'a', 0, '2026-01-01 00:00:00')"
)


def test_a_mirror_stays_one_of_the_same(target: Target) -> None:
    target.run()
    other = Request(
        target.cloud.ironic.url, target.cloud.placement.url, "elsewhere", Choices(Replacements({})), Adoptions.of(())
    )
    with pytest.raises(ConflictError, match="a mirror of somewhere, not of elsewhere"):
        importing.run(target.database, target.settings, other, lambda table, rows: None)


def test_options_and_access_rules_without_a_place_are_named(tmp_path: Path) -> None:
    file = tmp_path / "ironic.conf"
    file.write_text("[DEFAULT]\nhost = a\n[neutron]\ncleaning_network = x\n[inventory]\ndata_backend = swift\n")
    found = [str(finding) for finding in given_files.options(file)]
    assert len(found) == 2
    assert found[0].startswith("no-place [neutron] cleaning_network: there is no such option here")
    assert "Swift" in found[1]
    file.write_text('"baremetal:node:gte": "role:admin"\n"baremetal:node:get": "role:x"\n')
    (rule,) = given_files.policies(file, {"baremetal:node:get"})
    assert str(rule) == (
        "no-place baremetal:node:gte: there is no such access rule here. The nearest one is baremetal:node:get."
    )
    with pytest.raises(InvalidValue, match="no file"):
        list(given_files.options(tmp_path / "none"))
