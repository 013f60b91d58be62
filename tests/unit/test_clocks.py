"""The table of stored moments has each column of time, with the clock that its type is for."""

import re
from pathlib import Path

from sqlalchemy import Column, Date, DateTime, Double, Float, Integer, Interval, Time

from baremetal_sched.db.models import Base

PAGE = Path(__file__).parents[2] / "api-ref" / "design" / "clocks.rst"

_TYPES = (Date, DateTime, Double, Float, Interval, Time)
_NAMES = re.compile(r"(_at|_until|_since|deadline|_time)$")
#: Numbers of these types that are no moments.
NO_TIMES = {
    *("flavors.rxtx_factor", "inventories.allocation_ratio", "node_history.duration_seconds"),
    *("webhooks.last_seconds", "claim_ends.told", "pending_claims.lasts"),
    *("bookings.told", "booked_machines.turnaround"),
}


def clocks() -> dict[str, str]:
    """The clock of each column in the table."""
    rows = re.findall(r"^   \* - (.+?)\n     - (?:.+?)\n     - (\w+)\n", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return {column: clock for columns, clock in rows for column in re.findall(r"``([\w.*]+)``", columns)}


def columns_of_time() -> dict[str, Column[object]]:
    found = {f"{table.name}.{column.name}": column for table in Base.metadata.sorted_tables for column in table.columns}
    return {name: column for name, column in found.items() if name not in NO_TIMES and _is_time(column)}


def _is_time(column: Column[object]) -> bool:
    is_number = isinstance(column.type, Integer) and _NAMES.search(column.name) is not None
    return is_number or isinstance(column.type, _TYPES)


def test_each_column_of_time_is_in_the_table() -> None:
    """With who writes it, by which clock, and what it is compared with."""
    listed, stored = clocks(), columns_of_time()
    common = {name for name, column in stored.items() if f"*.{column.name}" in listed and name not in listed}
    assert all(isinstance(stored[name].type, DateTime) for name in common), "*.created_at is of hosts"
    named = {name for name in listed if not name.startswith("*")}
    assert named == stored.keys() - common


def test_hosts_write_dates_and_the_database_seconds() -> None:
    listed = clocks()
    by_hosts = {name for name, column in columns_of_time().items() if isinstance(column.type, DateTime)}
    assert {name for name, clock in listed.items() if clock == "host" and "*" not in name} == by_hosts & listed.keys()
    assert set(listed.values()) == {"host", "database", "client"}
