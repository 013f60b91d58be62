"""The schema of a database: its revision, and migrations (Alembic).

A change of the schema that running releases cannot serve is made in three steps. It is announced in the database
(``schema_state``). Then it waits until every process has seen the announcement: each checks once a second, and writes
nothing if its last check is older than ``LEASE_SECONDS`` (``schema_guard``). Then it waits for earlier transactions. So
no release writes rows that the new schema does not support, even if its processes are never stopped.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import Connection, Engine, inspect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from baremetal_sched.db import schema_state
from baremetal_sched.db.faults import Fault, classify, unavailable
from baremetal_sched.db.schema_lock import LOCK_TIMEOUT_SECONDS, exclusive, set_timeouts, wait_for_writers
from baremetal_sched.db.schema_state import SchemaStatus, age, alembic_config, head, needs_stop
from baremetal_sched.errors import SchemaBusy, SchemaTooOld

__all__ = [
    "alembic_config",
    "current",
    "downgrade",
    "finish_upgrade",
    "head",
    "read_state",
    "require_served",
    "upgrade",
]

log = structlog.get_logger(__name__)

#: Seconds for which a check of the schema is valid; then it must be repeated before a write.
LEASE_SECONDS = 3.0

#: Seconds that a change of the schema waits after its announcement.
DRAIN_SECONDS = LEASE_SECONDS + 0.5


def current(engine: Engine) -> str | None:
    """Return the revision of the database; None for an empty one. Raises subclasses of DatabaseAway."""
    if is_missing(engine):
        return None
    try:
        with engine.connect() as connection:
            return _revision(connection)
    except (DBAPIError, PoolTimeout) as error:
        raise unavailable(error) from error


def read_state(engine: Engine) -> SchemaStatus:
    """Return the state of the database's schema. Raises DatabaseAway."""
    if is_missing(engine):
        return SchemaStatus(None)
    try:
        return _read_state(engine)
    except DBAPIError:
        found = current(engine)  # on a new connection, if the old one was lost
    if found is None or (found in schema_state.chain() and found != head()):
        return SchemaStatus(found)
    try:
        return _read_state(engine)
    except DBAPIError as error:
        raise unavailable(error) from error


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Migrate the database to ``revision``; wait if another process does. Interrupted migrations are completed.

    Raises SchemaTooNew for a database of a newer release, SchemaBusy if a lock cannot be acquired, DatabaseAway,
    InvalidValue for an unknown revision.
    """
    _change(engine, schema_state.find_revision(revision), 1)


def downgrade(engine: Engine, revision: str) -> None:
    """Downgrade the database to ``revision`` (``base`` for none). Data that only later revisions hold is lost.

    Raises what ``upgrade`` raises.
    """
    _change(engine, schema_state.find_revision(revision), -1)


def finish_upgrade(engine: Engine) -> None:
    """Record that a rolling upgrade is finished: no earlier release can serve the database any longer.

    Raises SchemaTooOld unless the database has the newest schema, SchemaBusy, DatabaseAway.
    """
    try:
        with exclusive(engine) as connection:
            found = _revision(connection)
            if found != head():
                raise SchemaTooOld(found=found or "none", known=head())
            schema_state.finish(connection, head())
            if engine.dialect.name != "sqlite":
                connection.commit()
    except DBAPIError as error:
        raise unavailable(error) from error


def require_served(engine: Engine) -> None:
    """Raise SchemaNotServed unless this release can serve the database; or DatabaseAway."""
    error = schema_state.refusal(read_state(engine))
    if error is not None:
        raise error


def is_missing(engine: Engine) -> bool:
    """Return whether connecting would create the file of a SQLite database; commands that only read must not."""
    file = engine.url.database if engine.dialect.name == "sqlite" and "uri" not in engine.url.query else None
    return file is not None and not Path(file).exists() and Path(file).parent.is_dir()


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return found


def _read_state(engine: Engine) -> SchemaStatus:
    with engine.connect() as connection:
        row = connection.exec_driver_sql(schema_state.QUERY).first()
        return SchemaStatus(*row) if row else SchemaStatus(None)


def _change(engine: Engine, target: str | None, direction: int) -> None:
    state = SchemaStatus(current(engine))
    if age(state.revision) == age(target) >= 0 and read_state(engine).is_settled:
        return
    try:
        with exclusive(engine) as connection:
            found = _revision(connection)
            if (age(target) - age(found)) * direction > 0:
                _stop_others(connection, found, target)
                _migrate(connection, found, target)
                if found is None and target is not None:  # no earlier release can have served an empty database
                    schema_state.finish(connection, target)
            else:  # another process has done it, or failed before it began
                schema_state.settle(connection, found)
            if engine.dialect.name != "sqlite":
                connection.commit()
    except DBAPIError as error:
        fault = classify(error)
        if fault in {Fault.RACE, Fault.LOCKED}:
            raise SchemaBusy(seconds=LOCK_TIMEOUT_SECONDS) from error
        if fault is Fault.BUG:
            raise
        raise unavailable(error, fault) from error


def _stop_others(connection: Connection, found: str | None, target: str | None) -> None:
    """Make releases stop that cannot serve the schema at ``target``, and wait until they have.

    On SQLite each writing transaction checks the state itself, so there is nothing to wait for.
    """
    if connection.dialect.name == "sqlite":
        return
    set_timeouts(connection)
    if found is None or not schema_state.is_recorded(connection) or not _needs_stop(found, target):
        connection.commit()
        return
    schema_state.announce(connection, found, target)
    connection.commit()
    log.info("running releases stop serving the database", seconds=DRAIN_SECONDS)
    time.sleep(DRAIN_SECONDS)
    wait_for_writers(connection)


def _needs_stop(found: str, target: str | None) -> bool:
    return target is None or age(target) < age(found) or needs_stop(found, target)


def _migrate(connection: Connection, found: str | None, target: str | None) -> None:
    from alembic import command  # see ``alembic_config``

    config = alembic_config(connection)
    config.attributes["target"] = target
    run: Callable[..., Any] = command.upgrade if age(target) > age(found) else command.downgrade
    run(config, target or "base")
