"""The database's clock, for times that several hosts must agree on; and the service's own for time stamps."""

import re
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Double, or_
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from baremetal_sched.errors import InvalidValue


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


class statement_epoch(epoch):  # noqa: N801
    """The same at the start of the statement. PostgreSQL makes no join of an EXISTS whose condition may change
    during it (seen on 15)."""

    inherit_cache = True


@compiles(statement_epoch, "postgresql")
def _statement_postgresql(element: statement_epoch, compiler: SQLCompiler, **kw: Any) -> str:
    return "CAST(extract(epoch FROM statement_timestamp()) AS double precision)"


class row_epoch(epoch):  # noqa: N801
    """The same when a row is looked at, which may be long after the statement started: it waits for the row's lock."""

    inherit_cache = True


@compiles(row_epoch, "mysql")
@compiles(row_epoch, "mariadb")
def _row_mysql(element: row_epoch, compiler: SQLCompiler, **kw: Any) -> str:
    return "(UNIX_TIMESTAMP(SYSDATE(6)) + 0e0)"


def is_over(until: ColumnElement[float], longest: float) -> ColumnElement[bool]:
    """SQL condition: a time that ends at ``until``, by the clock of the database, is over.

    One that would last for more than ``longest`` seconds is over, too: the clock has been set back since.
    """
    return or_(until <= epoch(), until > epoch() + longest)


def utcnow() -> datetime:
    """Return the current time in UTC, in whole seconds and without a zone, as columns of time stamps hold it."""
    return datetime.now(UTC).replace(microsecond=0, tzinfo=None)


def in_words(seconds: float) -> str:
    """Return a time in seconds since 1970 as ``2026-11-27T10:00:00Z``."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def exactly(seconds: float) -> str:
    """Return a time in seconds since 1970 as ``2026-11-27T10:00:00.000000+00:00``."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")


#: The beginning of the year 9999, in seconds since 1970.
LATEST = 253_370_764_800
#: The characters of a time; ``fromisoformat`` takes any character between the date and the time of day.
_TIME = re.compile(r"[0-9W-]+[T ][0-9:.,+Z-]+", re.ASCII)


def seconds_of(name: str, text: str | None) -> float | None:
    """Return a time in ISO 8601 as seconds since 1970. Raises InvalidValue if the text is not a time, has no time zone,
    or is not in the years 1970 to 9998."""
    if text is None:
        return None
    try:
        if _TIME.fullmatch(text) is None:
            raise ValueError
        moment = datetime.fromisoformat(text)
        seconds = moment.timestamp()
        if moment.tzinfo is None or not 0 <= seconds < LATEST:
            raise ValueError
        return seconds
    except (ValueError, OverflowError):
        raise InvalidValue(
            message=f"{name} must be a time with a zone in the years 1970 to 9998, such as 2026-11-26T18:30:00+01:00, "
            f"and not {text[:64]!r}."
        ) from None
