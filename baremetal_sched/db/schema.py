"""The schema of a database: which revision it has, and how it gets another (Alembic).

A change of the schema that running releases cannot serve is made in three steps. It is announced in the database
(``schema_state``). Then it waits until every process has seen that: each looks once a second, and writes nothing after
``LEASE_SECONDS`` without a look (``schema_guard``). Then it waits for the transactions that had begun before. So no
release writes what the schema does not hold any more, even if its processes are never stopped.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import structlog
from alembic import command
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from baremetal_sched.db import revisions, schema_state
from baremetal_sched.db.faults import Fault, classify, unavailable
from baremetal_sched.db.revisions import alembic_config, head
from baremetal_sched.db.schema_lock import LOCK_TIMEOUT_SECONDS, exclusive, set_timeouts, wait_for_writers
from baremetal_sched.db.schema_state import SchemaState
from baremetal_sched.errors import SchemaBusy, SchemaTooOld

__all__ = ["alembic_config", "current", "downgrade", "head", "read_state", "require_served", "upgrade"]

log = structlog.get_logger(__name__)

#: For how long an answer to "may I serve this schema?" is good: then it has to be asked again before a write.
LEASE_SECONDS = 3.0

#: How long a change of the schema waits after it was announced.
DRAIN_SECONDS = LEASE_SECONDS + 0.5


def current(engine: Engine) -> str | None:
    """The revision of the database; None for an empty one. Raises DatabaseAway, whose subclasses say why."""
    try:
        with engine.connect() as connection:
            return _revision(connection)
    except (DBAPIError, PoolTimeout) as error:
        raise unavailable(error) from error


def read_state(engine: Engine) -> SchemaState:
    """The state of the database's schema. Raises DatabaseAway."""
    try:
        return _read_state(engine)
    except DBAPIError:
        found = current(engine)  # on a new connection, if the old one had died
    if found is None or (found in revisions.chain() and found != head()):
        return SchemaState(found)
    try:
        return _read_state(engine)
    except DBAPIError as error:
        raise unavailable(error) from error


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the database to ``revision``. While another process does so, wait. What was broken off is completed.

    Raises SchemaTooNew rather than touch what a newer release made, SchemaBusy if a lock cannot be had, DatabaseAway,
    InvalidValue for a revision that is not there.
    """
    _change(engine, revisions.find(revision), 1)


def downgrade(engine: Engine, revision: str) -> None:
    """Take the database back to ``revision`` (``base`` for none). What only later revisions hold is lost.

    Raises what ``upgrade`` raises.
    """
    _change(engine, revisions.find(revision), -1)


def require_served(engine: Engine) -> None:
    """Raise SchemaNotServed unless this release can serve the database; or DatabaseAway."""
    file = engine.url.database if engine.dialect.name == "sqlite" else None
    if file is not None and not Path(file).exists():
        # Connecting would create it.
        raise SchemaTooOld(found="none", known=head())
    error = schema_state.refusal(read_state(engine))
    if error is not None:
        raise error


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _read_state(engine: Engine) -> SchemaState:
    with engine.connect() as connection:
        row = connection.exec_driver_sql(schema_state.QUERY).first()
        return SchemaState(*row) if row else SchemaState(None)


def _change(engine: Engine, target: str | None, direction: int) -> None:
    state = SchemaState(current(engine))
    if revisions.age(state.revision) == revisions.age(target) >= 0 and read_state(engine).is_settled:
        return
    try:
        with exclusive(engine) as connection:
            found = _revision(connection)
            if (revisions.age(target) - revisions.age(found)) * direction > 0:
                _stop_others(connection, found, target)
                _migrate(connection, found, target)
            else:  # another process has done it, or gave up before it had begun
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
    """Have releases that cannot serve the schema at ``target`` stop, and wait until they have.

    On SQLite each transaction that writes looks at the state itself, so there is nothing to wait for.
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
    return target is None or revisions.age(target) < revisions.age(found) or revisions.needs_stop(found, target)


def _migrate(connection: Connection, found: str | None, target: str | None) -> None:
    config = alembic_config(connection)
    config.attributes["target"] = target
    run: Callable[..., Any] = command.upgrade if revisions.age(target) > revisions.age(found) else command.downgrade
    run(config, target or "base")
