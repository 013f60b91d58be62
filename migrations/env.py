"""How migrations are run: on the connection that `baremetal-sched db` hands over, or on one of the settings."""

from typing import Any

from alembic import context
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection

from baremetal_sched import settings
from baremetal_sched.db import (
    repeatable_ddl,  # noqa: F401 - Alembic finds it by itself
    schema_state,
)
from baremetal_sched.db.engine import make_engine
from baremetal_sched.db.models import Base
from baremetal_sched.db.schema_lock import set_timeouts
from baremetal_sched.db.schema_state import head


def note_state(*, ctx: MigrationContext, heads: set[str], **_: Any) -> None:
    """Write down, with each migration, which revision the schema has now and who can serve it."""
    revision = next(iter(heads), None)
    if revision == context.config.attributes.get("target", head()):
        schema_state.settle(ctx.connection, revision)
    else:
        schema_state.pass_through(ctx.connection, revision)


def run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_as_batch=connection.dialect.name == "sqlite",
        on_version_apply=note_state,
    )
    with context.begin_transaction():
        context.run_migrations()


def main() -> None:
    given = context.config.attributes.get("connection")
    if given is not None:
        run(given)
        return
    with make_engine(settings.load()).connect() as connection:
        set_timeouts(connection)
        run(connection)
        connection.commit()


if context.is_offline_mode():
    raise SystemExit("Migrations need a database; there is no offline mode.")
main()
