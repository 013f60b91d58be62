# tier: first
"""The rule of availability says the same in Python and in SQL, and reaches whatever derives from it."""

from itertools import product

from sqlalchemy import delete, insert, select

from baremetal_sched.baremetal.provider import availability, projection
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, table_of
from baremetal_sched.db.transaction import Database
from baremetal_sched.machines import states
from baremetal_sched.settings import load

VALUES = {
    "parent_node": [None, "aaaaaaaa-0000-4000-8000-000000000001"],
    "provision_state": sorted(states.PROVISION_STATES),
    "maintenance": [False, True],
    "instance_uuid": [None, "instance"],
    "power_state": [None, states.POWER_ON, states.POWER_OFF, states.ERROR, states.REBOOT],
}


def test_every_column_of_the_rule_is_varied_here() -> None:
    assert {column.key for column in availability.COLUMNS} == set(VALUES)
    assert set(availability.COLUMNS) <= set(projection.PROJECTED) <= set(projection.COLUMNS)


def test_python_and_sql_agree(database_url: str) -> None:
    """All combinations of values, condition by condition, in one table."""
    database = Database(load(overrides={"database": {"connection": database_url}}))
    rows = [dict(zip(VALUES, values, strict=True)) for values in product(*VALUES.values())]

    def fill(session) -> None:
        common = {"driver": "fake-hardware", "revision": 1, "created_at": utcnow()}
        for number, row in enumerate(rows):
            row["uuid"] = f"{number:08}-0000-4000-8000-000000000000"
            row["instance_uuid"] = row["instance_uuid"] and f"{number:036}"
        session.execute(insert(table_of(Node)), [row | common for row in rows])

    database.write(fill)

    def compare(session) -> int:
        clauses = [*(condition.clause for condition in availability.CONDITIONS), availability.IS_AVAILABLE]
        found = session.execute(select(Node, *(clause.label(f"c{n}") for n, clause in enumerate(clauses)))).all()
        available = 0
        for node, *values in found:
            expected = [condition.holds(node) for condition in availability.CONDITIONS]
            assert [bool(value) for value in values] == [*expected, availability.is_available(node)]
            assert None not in values
            assert bool(availability.unmet(node)) is not availability.is_available(node)
            available += availability.is_available(node)
        assert len(found) == len(rows)
        return available

    assert database.read(compare) == 3  # power on, power off, rebooting
    database.write(lambda session: session.execute(delete(Node)))
    database.dispose()
