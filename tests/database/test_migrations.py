"""Migrations: up and down, and that models and migrations agree."""

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, event, insert, inspect, text

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db import schema, schema_state
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.engine import make_engine
from baremetal_sched.db.models import Base, Webhook, table_of
from baremetal_sched.db.schema_state import SchemaStatus
from baremetal_sched.errors import InvalidValue, SchemaBusy, SchemaChanging, SchemaTooNew, SchemaTooOld
from baremetal_sched.settings import load
from tests.processes import BAREMETAL_SCHED, program
from tests.service import Service
from tests.waiting import START

_TRAIT = "INSERT INTO traits (id, name, created_at) VALUES (:id, :name, CURRENT_TIMESTAMP)"
_PROVIDER = "INSERT INTO resource_providers (id, uuid, name, created_at) VALUES (:id, :name, :name, CURRENT_TIMESTAMP)"
_PROVIDER_TRAIT = "INSERT INTO provider_traits (provider_id, trait_id) VALUES (:provider, :trait)"

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

# `database_url` has the newest schema; these tests leave it so.


@pytest.fixture(autouse=True)
def nobody_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "DRAIN_SECONDS", 0.0)


@pytest.fixture
def engine(database_url: str) -> Engine:
    made = make_engine(load(overrides={"database": {"connection": database_url}}))
    yield made
    made.dispose()


def test_there_is_one_head_and_the_files_are_numbered() -> None:
    scripts = ScriptDirectory.from_config(schema.alembic_config())
    assert len(scripts.get_heads()) == 1
    revisions = [script.revision for script in scripts.walk_revisions()][::-1]
    assert revisions == [f"{number:04}" for number in range(1, len(revisions) + 1)]
    for script in scripts.walk_revisions():
        assert Path(script.path).name.startswith(script.revision + "_")


def test_models_and_migrations_agree(engine: Engine) -> None:
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_down_and_up_again(engine: Engine) -> None:
    schema.downgrade(engine, "base")
    assert set(inspect(engine).get_table_names()) <= {"alembic_version"}
    assert schema.current(engine) is None
    with pytest.raises(SchemaTooOld, match="db upgrade"):
        schema.require_served(engine)
    schema.upgrade(engine)
    schema.upgrade(engine)
    schema.require_served(engine)
    assert set(Base.metadata.tables) <= set(inspect(engine).get_table_names())


def test_providers_that_are_there_get_the_text_of_their_traits(engine: Engine) -> None:
    schema.downgrade(engine, "0007")
    add_providers(engine)
    schema.upgrade(engine)
    assert take_trait_ids(engine) == TRAIT_IDS


#: As texts these two would be in the other order.
TRAITS = (99_999, 100_000)
TRAIT_IDS = {"a": "99999,100000", "b": "", "c": "99999"}


def add_providers(engine: Engine) -> None:
    """Providers and their traits, as they were at 0007."""
    with engine.begin() as connection:
        for row_id in TRAITS:
            connection.execute(text(_TRAIT), {"id": row_id, "name": f"CUSTOM_{row_id}"})
        for row_id, (name, own) in enumerate({"a": TRAITS[::-1], "b": (), "c": TRAITS[:1]}.items(), 1):
            connection.execute(text(_PROVIDER), {"id": row_id, "name": name})
            for trait in own:
                connection.execute(text(_PROVIDER_TRAIT), {"provider": row_id, "trait": trait})


def take_trait_ids(engine: Engine) -> dict[str, str]:
    """The text of each provider's traits; the providers are deleted."""
    with engine.begin() as connection:
        found = dict(connection.execute(text("SELECT name, trait_ids FROM resource_providers")).all())
        for statement in ("provider_traits", "resource_providers", f"traits WHERE id IN {TRAITS}"):
            connection.execute(text(f"DELETE FROM {statement}"))
    return found


@pytest.mark.ci
def test_a_webhook_of_a_domain_is_parked_before_a_release_would_send_everything(engine: Engine) -> None:
    own = {"types": [], "nodes": [], "maker": {}, "created_at": utcnow(), "parked": False, "url": "u", "secret": "s"}
    zero = dict.fromkeys(("number", "fence", "leased_until", "retry_at", "failures"), 0)
    with engine.begin() as connection:
        for place, domain in enumerate((None, "d" * 36)):
            row = {**own, **zero, "uuid": f"u{place}", "project": "", "place": place, "stream": "s", "domain": domain}
            connection.execute(insert(table_of(Webhook)).values(row))
    schema.downgrade(engine, "0034")
    with engine.begin() as connection:
        found = connection.execute(text("SELECT parked, last_error FROM webhooks ORDER BY place")).all()
        connection.execute(text("DELETE FROM webhooks"))
    assert [bool(parked) for parked, _ in found] == [False, True]
    assert "filter by domain" in found[1].last_error
    schema.upgrade(engine)


def test_a_migrator_that_is_killed_can_be_run_again(engine: Engine, database_url: str) -> None:
    """It is killed after each statement that changes something, in turn; up and down."""
    # With transactions all is undone each time, so it takes longer to get where the next one is killed.
    every = 1 if engine.dialect.name in {"mysql", "mariadb"} else 11
    schema.downgrade(engine, "base")
    kills = kill_again_and_again(engine, lambda own: schema.upgrade(own, "0007"), every)
    add_providers(engine)
    kills += kill_again_and_again(engine, schema.upgrade, every)
    schema.require_served(engine)
    test_models_and_migrations_agree(engine)
    assert take_trait_ids(engine) == TRAIT_IDS
    kills += kill_again_and_again(engine, lambda own: schema.downgrade(own, "base"), every)
    assert set(inspect(engine).get_table_names()) <= {"alembic_version"}
    schema.upgrade(engine)
    assert kills * every > 100


def kill_again_and_again(engine: Engine, action: Callable[[Engine], None], every: int) -> int:
    """Run ``action`` in processes that are killed, each at another statement, until one is through. How many were."""
    seen: set[str] = set()
    kills = 0
    while True:
        engine.dispose()
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _act_and_die(engine, action, seen, every, writer)
        os.close(writer)
        with os.fdopen(reader) as told:
            statements = told.read().split("\0")[:-1]
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == 0:
            return kills
        assert status == -signal.SIGKILL, f"after {kills} kills, the last one at {sorted(seen)[-1:]}"
        assert statements, "it made no progress"
        seen.update(statements)
        kills += 1


def _act_and_die(engine: Engine, action: Callable[[Engine], None], seen: set[str], every: int, writer: int) -> None:
    fresh = 0

    def die(connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        nonlocal fresh
        key = UUID.sub("UUID", f"{statement} {parameters}")  # each attempt makes another one
        if statement.split()[0] not in {"CREATE", "ALTER", "DROP", "INSERT", "UPDATE", "DELETE"} or key in seen:
            return
        os.write(writer, f"{key}\0".encode())
        fresh += 1
        if fresh == every:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        event.listen(engine, "after_cursor_execute", die)
        action(engine)
        os._exit(0)
    finally:
        os._exit(1)


@pytest.mark.ci
def test_who_comes_second_waits(engine: Engine, database_url: str, tmp_path: Path) -> None:
    schema.downgrade(engine, "base")
    engine.dispose()
    command = (*BAREMETAL_SCHED, "db", "upgrade", "--database", database_url)
    running = []
    try:
        for number in range(3):
            started = program(command, tmp_path, f"upgrade{number}")
            running.append((started, started.__enter__()))
        for _, upgrade in running:
            assert upgrade.process.wait(START) == 0, upgrade.log
            assert upgrade.output == f"schema {schema.head()}\n"
            assert "Traceback" not in upgrade.log
    finally:
        for started, _ in running:
            started.__exit__(None, None, None)
    schema.require_served(engine)


def test_a_lock_that_cannot_be_had_is_said_in_words(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine.dialect.name == "sqlite":
        pytest.skip("it waits until the writer is done")
    monkeypatch.setattr("baremetal_sched.db.schema_lock.LOCK_TIMEOUT_SECONDS", 1)
    with engine.connect() as other:
        other.execute(text("SELECT * FROM schema_state"))
        with pytest.raises(SchemaBusy, match="run the same command again"):
            schema.downgrade(engine, "0008")
        other.rollback()
    schema.upgrade(engine)
    schema.require_served(engine)


def test_a_change_that_is_announced_is_served_by_who_can_serve_both(engine: Engine) -> None:
    head, before = schema_state.head(), schema_state.chain()[-2]
    assert schema_state.refusal(SchemaStatus(head, head, head)) is None
    assert schema_state.refusal(SchemaStatus(head)) is None
    assert schema_state.refusal(SchemaStatus("zzzz", "zzzz", head)) is None
    for state, error in (
        (SchemaStatus(None), SchemaTooOld),
        (SchemaStatus(before, before, before), SchemaTooOld),
        (SchemaStatus("zzzz"), SchemaTooNew),
        (SchemaStatus("zzzz", "zzzz", "zzzz"), SchemaTooNew),
        # What it says is of another revision.
        (SchemaStatus("zzzz", head, head), SchemaTooNew),
        (SchemaStatus(head, head, "zzzz", "zzzz"), SchemaChanging),
        (SchemaStatus("zzzz", "zzzz", "none", head), SchemaChanging),
    ):
        assert type(schema_state.refusal(state)) is error, state


def test_an_upgrade_lets_no_release_in_that_was_gone_before(engine: Engine) -> None:
    """Otherwise holds, events and webhooks would stop during every rolling upgrade."""
    before, head = schema_state.chain()[-2:]
    for oldest in (before, schema_state.served_since(before)):
        schema.downgrade(engine, before)
        with engine.begin() as connection:
            schema_state.finish(connection, oldest)
        schema.upgrade(engine)
        with engine.connect() as connection:
            expected = max(oldest, schema_state.served_since(head), key=schema_state.age)
            assert schema_state.oldest(connection) == expected


def test_machines_that_were_booked_are_open_before_bookings_were_known(database_url: str) -> None:
    with Service(database_url) as service:
        service.add_conductor("c1")
        service.add_node("n1")
        booking = {"resource_class": "gold", "project_id": "p", "user_id": "u", "for": 3600}
        service.http.post_json("/scheduling/v1/bookings", booking)
        engine = service.database.engine
        schema.downgrade(engine, "0038")
        with engine.connect() as connection:
            for table in ("nodes", "resource_providers", "inventories"):
                closed = text(f"SELECT count(*) FROM {table} WHERE closes_at IS NOT NULL")
                assert connection.scalar(closed) == 0, table
        schema.upgrade(engine)


def test_a_change_that_was_announced_and_not_made_is_taken_back(engine: Engine) -> None:
    with engine.begin() as connection:
        schema_state.announce(connection, schema_state.head(), "0008")
    with pytest.raises(SchemaChanging, match="baremetal-sched db"):
        schema.require_served(engine)
    schema.upgrade(engine)
    schema.require_served(engine)


def test_revisions_are_known_without_alembic() -> None:
    """By the names of their files, so that no process of the API imports it."""
    script = ScriptDirectory.from_config(schema_state.alembic_config())
    assert schema_state.chain() == tuple(each.revision for each in script.walk_revisions())[::-1]


def test_what_a_migration_says_of_older_releases() -> None:
    for revision in schema_state.chain():
        assert schema_state.age(schema_state.served_since(revision)) <= schema_state.age(revision)
        assert not schema_state.needs_stop(revision, revision)
    # Releases up to 7fe2d29 do not look whether they may go on.
    assert schema_state.needs_stop("0008", schema_state.head())
    assert schema_state.find_revision("head") == schema_state.head()
    with pytest.raises(InvalidValue, match="the revisions of this release are base, 0001"):
        schema_state.find_revision("nonsense")


def test_providers_of_nodes_and_their_trees_are_found(service: Service) -> None:
    """Down and up again, everything is as the service has it: down, what 0009 keeps is lost."""
    service.placement("PUT", "/resource_classes/CUSTOM_FPGA")
    inventories = {"CUSTOM_FPGA": {"total": 4}}
    for number, columns in enumerate(({}, {}, {}, {"maintenance": True}, {"resource_class": None}, {})):
        node = service.add_node(f"n{number}", **columns)
        if number == 5:
            continue
        body = {"name": f"child {number}", "parent_provider_uuid": node}
        child = service.placement("POST", "/resource_providers", body).json["uuid"]
        body = {"resource_provider_generation": 0, "inventories": inventories}
        service.placement("PUT", f"/resource_providers/{child}/inventories", body)
        consumer = f"{number:08}-0000-4000-8000-000000000000"
        if number == 1:
            service.claim(consumer, child, "CUSTOM_FPGA", status=204)
        if number == 2:
            service.claim(consumer, node, status=204)
    service.placement("POST", "/resource_providers", {"name": "of no node"})

    def kept() -> list[Any]:
        with service.database.engine.connect() as connection:
            providers = connection.execute(
                text("SELECT id, mirrored_class_id, indivisible, withheld, holder FROM resource_providers ORDER BY id")
            ).all()
            inventories = connection.execute(
                text(
                    "SELECT provider_id, resource_class_id, withheld, free, used, node_class, node_group, node_state "
                    "FROM inventories ORDER BY 1, 2"
                )
            ).all()
        return [tuple(row) for row in (*providers, *inventories)]

    before = kept()
    service.end_polling()  # it would see an older schema
    schema.downgrade(service.database.engine, "0008")
    schema.upgrade(service.database.engine)
    assert kept() == before
    assert service.database.read(audit) == []


#: In a plan: a query that is run again for each row, unless its result is kept ("hashed").
_SUBPLAN, _HASHED = re.compile(r"^\s*SubPlan (\d+)$", re.MULTILINE), re.compile(r"hashed SubPlan (\d+)")


def test_no_migration_asks_once_for_each_row(service: Service) -> None:
    """Without statistics such a query reads a whole table, so that large fleets would take an hour."""
    if service.database.engine.dialect.name != "postgresql":
        pytest.skip("its plans are read")
    child = {"name": "child", "parent_provider_uuid": service.add_node("n1", traits=("CUSTOM_A",))}
    uuid = service.placement("POST", "/resource_providers", child).json["uuid"]
    service.placement("POST", f"/resource_providers/{uuid}/inventories", {"resource_class": "VCPU", "total": 8})
    service.claim("00000001-0000-4000-8000-000000000000", uuid, "VCPU", status=204)
    service.end_polling()  # it would see an older schema
    schema.downgrade(service.database.engine, "0007")
    plans = plans_of(service.database.engine, schema.upgrade)
    assert len(plans) > 8
    for statement, plan in plans:
        assert set(_SUBPLAN.findall(plan)) <= set(_HASHED.findall(plan)), f"{statement}\n{plan}"


def plans_of(engine: Engine, action: Callable[[Engine], None]) -> list[tuple[str, str]]:
    """The statements of ``action`` that change rows, each with its plan."""
    found = []
    is_explaining = False

    def explain(connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        nonlocal is_explaining
        if not is_explaining and statement.lstrip().startswith(("INSERT", "UPDATE", "DELETE")):
            is_explaining = True
            lines = connection.exec_driver_sql(f"EXPLAIN {statement}", parameters or None).scalars()
            found.append((statement, "\n".join(lines)))
            is_explaining = False

    event.listen(engine, "before_cursor_execute", explain)
    try:
        action(engine)
    finally:
        event.remove(engine, "before_cursor_execute", explain)
    return found


def test_a_newer_schema_is_refused(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'zzzz'"))
    try:
        for action in (schema.upgrade, schema.require_served, lambda e: schema.downgrade(e, "base")):
            with pytest.raises(SchemaTooNew, match="Run a newer release"):
                action(engine)
    finally:
        with engine.begin() as connection:
            connection.execute(text(f"UPDATE alembic_version SET version_num = '{schema.head()}'"))


def test_the_tables_are_as_specified(engine: Engine) -> None:
    inspector = inspect(engine)
    assert inspector.get_pk_constraint("node_traits")["constrained_columns"] == ["node_id", "trait"]
    assert ["trait"] in [index["column_names"] for index in inspector.get_indexes("node_traits")]
    (foreign,) = inspector.get_foreign_keys("node_traits")
    assert (foreign["referred_table"], foreign["constrained_columns"]) == ("nodes", ["node_id"])
    for table in ("nodes", "conductors"):
        (column,) = [c for c in inspector.get_columns(table) if c["name"] == "conductor_group"]
        assert (column["type"].length, column["nullable"]) == (255, False)
        assert "''" in column["default"]
