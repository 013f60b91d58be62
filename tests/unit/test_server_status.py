"""The status of a server in SQL is the status in Python, whatever the states of the server and of its node are."""

from itertools import product
from types import SimpleNamespace
from typing import Any

from sqlalchemy import Column, MetaData, String, Table, create_engine, insert, select
from sqlalchemy.sql.visitors import replacement_traverse

from baremetal_sched.compute import server_states
from baremetal_sched.compute.servers import server_rows
from baremetal_sched.machines import states

TASKS = (
    *(server_states.SPAWNING, server_states.SCHEDULING, server_states.REBUILDING, server_states.DELETING),
    *(server_states.RESCUING, server_states.UNRESCUING, *sorted(server_states.POWER_TASKS), None),
)
POWERS = (None, states.POWER_ON, states.POWER_OFF)
NAMES = ("task", "provision_state", "power_state", "target_power_state")
#: All that decides a status, as a table of its own: on it the SQL is evaluated.
CASES = Table("cases", MetaData(), *(Column(name, String) for name in NAMES))


def test_in_sql_as_in_python() -> None:
    asked = replacement_traverse(
        server_rows.status(), {}, lambda element, **_: CASES.c.get(element.name) if _is_column(element) else None
    )
    everything = list(product(TASKS, (None, *sorted(states.PROVISION_STATES)), POWERS, POWERS))
    with create_engine("sqlite://").begin() as connection:
        CASES.create(connection)
        connection.execute(insert(CASES), [dict(zip(NAMES, each, strict=True)) for each in everything])
        rows = connection.execute(select(CASES, asked.label("status"))).all()
    assert len(rows) == len(everything) > 3_000
    different = [row for row in rows if row.status != _in_python(row)]
    assert different == []
    assert {row.status for row in rows} == {
        *("ACTIVE", "BUILD", "ERROR", "HARD_REBOOT", "REBOOT", "REBUILD", "RESCUE", "SHUTOFF")
    }


def _is_column(element: Any) -> bool:
    return isinstance(element, Column)


def _in_python(row: Any) -> str:
    return server_rows.state_of(SimpleNamespace(**row._mapping, power_after_task=None)).status
