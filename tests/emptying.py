"""Empty databases on servers: the rows that a test left are deleted before the next, and tables are made if they lack.

Nearly all tables are empty already: one statement says which are not.
"""

from contextlib import closing
from typing import Any

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import DBAPIError

from baremetal_sched.db import schema
from baremetal_sched.db.engine import database_url
from baremetal_sched.db.models import Base
from baremetal_sched.db.transaction import Database
from baremetal_sched.placement.names import STANDARD_CLASSES, STANDARD_TRAITS, sync_standard_names
from baremetal_sched.settings import load

_KEPT = {"traits", "resource_classes", "schema_state"}  # the standard names stay
#: Those whose rows belong to others first.
_TABLES = [table.name for table in reversed(Base.metadata.sorted_tables) if table.name not in _KEPT]
_CUSTOM = "name LIKE 'CUSTOM!_%' ESCAPE '!'"

_FILLED = text(
    " UNION ALL ".join(
        f"SELECT '{table}' FROM (SELECT 1 AS one) AS row_{place} WHERE EXISTS (SELECT 1 FROM {table})"
        for place, table in enumerate(_TABLES)
    )
)
_STATE = text(
    "SELECT (SELECT version_num FROM alembic_version), (SELECT count(*) FROM traits),"
    f" (SELECT count(*) FROM resource_classes), (SELECT count(*) FROM traits WHERE {_CUSTOM}),"
    f" (SELECT count(*) FROM resource_classes WHERE {_CUSTOM})"
)


def make_empty(url: str) -> None:
    """Empty the tables that tests fill; the schema and the standard names are made when they are missing."""
    with closing(Server(url)) as server:
        server.make_empty()


class Server:
    """A database on a server, and one connection to it."""

    def __init__(self, url: str) -> None:
        self._url = url
        driver_url = database_url(url)
        options: dict[str, Any] = (
            {} if driver_url.get_backend_name() == "sqlite" else {"isolation_level": "READ COMMITTED"}
        )
        self._engine = create_engine(driver_url, pool_size=1, max_overflow=0, pool_pre_ping=True, **options)

    def make_empty(self) -> None:
        """Empty the tables that tests fill; the schema and the standard names are made when they are missing."""
        try:
            with self._engine.begin() as connection:
                is_complete = _delete_rows(connection)
        except DBAPIError:  # there are no tables
            is_complete = False
        if not is_complete:
            self._make_anew()

    def close(self) -> None:
        """Close the connection."""
        self._engine.dispose()

    def _make_anew(self) -> None:
        database = Database(load(overrides={"database": {"connection": self._url}}))
        if schema.current(database.engine) != schema.head():
            self._drop_everything()
            schema.upgrade(database.engine)
        with self._engine.begin() as connection:
            is_complete = _delete_rows(connection)
        if not is_complete:
            database.write(sync_standard_names)
        database.dispose()

    def _drop_everything(self) -> None:
        with self._engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("DROP SCHEMA public CASCADE"))
                connection.execute(text("CREATE SCHEMA public"))
            else:
                connection.execute(text("SET FOREIGN_KEY_CHECKS = 0"))
                for (table,) in connection.execute(text("SHOW TABLES")).all():
                    connection.execute(text(f"DROP TABLE `{table}`"))
                connection.execute(text("SET FOREIGN_KEY_CHECKS = 1"))


def _delete_rows(connection: Connection) -> bool:
    """Return whether the schema is of this release, and all standard names are there."""
    revision, traits, classes, custom_traits, custom_classes = connection.execute(_STATE).one()
    if revision != schema.head():
        return False
    filled = set(connection.scalars(_FILLED))
    if "resource_providers" in filled:
        connection.execute(text("UPDATE resource_providers SET parent_id = NULL, root_id = NULL"))
    for table in _TABLES:
        if table in filled:
            connection.execute(text(f"DELETE FROM {table}"))
    for table, count in (("resource_classes", custom_classes), ("traits", custom_traits)):
        if count:
            connection.execute(text(f"DELETE FROM {table} WHERE {_CUSTOM}"))
    return [traits - custom_traits, classes - custom_classes] == [len(STANDARD_TRAITS), len(STANDARD_CLASSES)]
