"""How migrations are run: on the engine that `baremetal-sched db` hands over, or on that of the settings."""

from alembic import context
from sqlalchemy import Connection, text

from baremetal_sched import settings
from baremetal_sched.db.engine import make_engine
from baremetal_sched.db.models import Base

#: A migration waits this long for a lock, then gives up: better than everybody waiting behind it.
LOCK_TIMEOUT_SECONDS = 10


def set_timeouts(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SET lock_timeout = '{LOCK_TIMEOUT_SECONDS}s'"))
    elif connection.dialect.name in {"mysql", "mariadb"}:
        connection.execute(text(f"SET SESSION lock_wait_timeout = {LOCK_TIMEOUT_SECONDS}"))


def run() -> None:
    engine = context.config.attributes.get("engine")
    if engine is None:
        engine = make_engine(settings.load())
    with engine.connect() as connection:
        set_timeouts(connection)
        context.configure(
            connection=connection,
            target_metadata=Base.metadata,
            render_as_batch=connection.dialect.name == "sqlite",
        )
        with context.begin_transaction():
            context.run_migrations()
        connection.commit()


if context.is_offline_mode():
    raise SystemExit("Migrations need a database; there is no offline mode.")
run()
