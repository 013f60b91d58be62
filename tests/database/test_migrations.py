"""Migrations: up and down, and that models and migrations agree."""

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, text

from baremetal_sched.db import schema
from baremetal_sched.db.engine import make_engine
from baremetal_sched.db.models import Base
from baremetal_sched.errors import SchemaTooNew, SchemaTooOld
from baremetal_sched.settings import load

_TRAIT = "INSERT INTO traits (id, name, created_at) VALUES (:id, :name, CURRENT_TIMESTAMP)"
_PROVIDER = "INSERT INTO resource_providers (id, uuid, name, created_at) VALUES (:id, :name, :name, CURRENT_TIMESTAMP)"
_PROVIDER_TRAIT = "INSERT INTO provider_traits (provider_id, trait_id) VALUES (:provider, :trait)"

# `database_url` has the newest schema; these tests leave it so.


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
        schema.require_current(engine)
    schema.upgrade(engine)
    schema.upgrade(engine)
    schema.require_current(engine)
    assert set(Base.metadata.tables) <= set(inspect(engine).get_table_names())


def test_providers_that_are_there_get_the_text_of_their_traits(engine: Engine) -> None:
    schema.downgrade(engine, "0007")
    # As texts these two would be in the other order.
    providers, traits = {"a": [100_000, 99_999], "b": [], "c": [99_999]}, (99_999, 100_000)
    with engine.begin() as connection:
        for row_id in traits:
            connection.execute(text(_TRAIT), {"id": row_id, "name": f"CUSTOM_{row_id}"})
        for row_id, (name, own) in enumerate(providers.items(), 1):
            connection.execute(text(_PROVIDER), {"id": row_id, "name": name})
            for trait in own:
                connection.execute(text(_PROVIDER_TRAIT), {"provider": row_id, "trait": trait})
    schema.upgrade(engine)
    with engine.begin() as connection:
        found = dict(connection.execute(text("SELECT name, trait_ids FROM resource_providers")).all())
        for statement in ("provider_traits", "resource_providers", f"traits WHERE id IN {traits}"):
            connection.execute(text(f"DELETE FROM {statement}"))
    assert found == {"a": "99999,100000", "b": "", "c": "99999"}


def test_a_newer_schema_is_refused(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'zzzz'"))
    try:
        for action in (schema.upgrade, schema.require_current, lambda e: schema.downgrade(e, "base")):
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
