"""Time passes for all that is planned: no column of a table that has moments is forgotten."""

from sqlalchemy import DateTime, Double

from baremetal_sched.db.models import Base
from tests.passing_time import MOVED, NEVER


def test_each_column_of_time_is_moved_or_known_never_to_be() -> None:
    moved = {(entity.__tablename__, column.key) for entity, columns in MOVED.items() for column in columns}
    never = {(table, column) for table, columns in NEVER.items() if table for column in columns}
    found = {
        (table.name, column.name)
        for table in Base.metadata.tables.values()
        for column in table.columns
        if isinstance(column.type, DateTime | Double) and column.name not in NEVER[""]
    }
    assert (sorted(found - moved - never), sorted((moved | never) - found), moved & never) == ([], [], set())
