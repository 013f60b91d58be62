"""Requests that are refused change no table: one check around a whole table of refusals."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import select

from baremetal_sched.db.models import Base
from tests.service import Service

#: Written by conductors and by calls of drivers, whatever a request does.
_APART = {"conductors", "conductor_hardware_types", "conductor_interfaces", "driver_calls"}
_TABLES = [table for table in Base.metadata.sorted_tables if table.name not in _APART]


@contextmanager
def unchanged(service: Service) -> Iterator[None]:
    """Fail unless every table has the same rows afterwards. Inside, each refusal is a subtest of its own."""
    before = _rows(service)
    yield
    after = _rows(service)
    assert {name: rows for name, rows in after.items() if rows != before[name]} == {}, "a refused request changed rows"


def _rows(service: Service) -> dict[str, list[Any]]:
    with service.database.engine.connect() as connection:
        return {table.name: sorted(map(repr, connection.execute(select(table)))) for table in _TABLES}
