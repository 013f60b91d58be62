"""The schema of a database: which revision it has, and how it gets another (Alembic)."""

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine
from sqlalchemy.exc import DatabaseError, DBAPIError

from baremetal_sched.db.faults import Fault, classify
from baremetal_sched.errors import DatabaseAway, SchemaTooNew, SchemaTooOld

#: Where the migrations are: inside an installed package, beside it in a checkout.
_PLACES = (Path(__file__).parents[1] / "migrations", Path(__file__).parents[2] / "migrations")


def alembic_config(engine: Engine | None = None) -> Config:
    """Alembic's configuration, with our migrations and, for commands that run them, the engine to run them on."""
    place = next(place for place in _PLACES if (place / "env.py").exists())
    config = Config()
    config.set_main_option("script_location", str(place))
    config.attributes["engine"] = engine
    return config


@cache
def head() -> str:
    """The newest revision that this release knows."""
    revision = ScriptDirectory.from_config(alembic_config()).get_current_head()
    if revision is None:
        raise RuntimeError("there are no migrations")
    return revision


def current(engine: Engine) -> str | None:
    """The revision of the database; None for an empty one. Raises DatabaseAway."""
    try:
        with engine.connect() as connection:
            return MigrationContext.configure(connection).get_current_revision()
    except DBAPIError as error:
        if classify(error) is Fault.AWAY or isinstance(error, DatabaseError):
            raise DatabaseAway from error
        raise


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the database to ``revision``. Raises SchemaTooNew rather than touch what a newer release made."""
    _refuse_newer(current(engine))
    command.upgrade(alembic_config(engine), revision)


def downgrade(engine: Engine, revision: str) -> None:
    """Take the database back to ``revision`` (``base`` for none). What only later revisions hold is lost."""
    _refuse_newer(current(engine))
    command.downgrade(alembic_config(engine), revision)


def require_current(engine: Engine) -> None:
    """Raise SchemaTooNew or SchemaTooOld unless the database has the schema of this release; or DatabaseAway."""
    file = engine.url.database if engine.dialect.name == "sqlite" else None
    if file is not None and not Path(file).exists():
        # Connecting would create it.
        raise SchemaTooOld(found="none", known=head())
    found = current(engine)
    _refuse_newer(found)
    if found != head():
        raise SchemaTooOld(found=found or "none", known=head())


def _refuse_newer(found: str | None) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(alembic_config()).walk_revisions()}
    if found is not None and found not in known:
        raise SchemaTooNew(found=found, known=head())
