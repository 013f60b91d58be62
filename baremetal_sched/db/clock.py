"""The database's clock, for times that several hosts must agree on; and the service's own for time stamps."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Double
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class epoch(FunctionElement[float]):  # noqa: N801 - used like a function of SQL
    """Seconds since 1970 by the clock of the database, with a fraction."""

    type = Double()
    inherit_cache = True


@compiles(epoch, "sqlite")
def _sqlite(element: epoch, compiler: SQLCompiler, **kw: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(epoch, "postgresql")
def _postgresql(element: epoch, compiler: SQLCompiler, **kw: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


@compiles(epoch, "mysql")
@compiles(epoch, "mariadb")
def _mysql(element: epoch, compiler: SQLCompiler, **kw: Any) -> str:
    return "(UNIX_TIMESTAMP(NOW(6)) + 0e0)"


def utcnow() -> datetime:
    """Return the current time in UTC, in whole seconds and without a zone, as columns of time stamps hold it."""
    return datetime.now(UTC).replace(microsecond=0, tzinfo=None)
