"""Counts of machines over two days: one row a class every ten minutes, by one conductor."""

import pytest
from sqlalchemy import delete, insert, select, update

from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db import schema_state
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import CapacitySample, EventStream, table_of
from baremetal_sched.scheduling import capacity_history
from tests.functional.scheduling.test_events import CLAIMS, CONSUMER
from tests.service import Service

ROWS, STREAM = table_of(CapacitySample), table_of(EventStream)


def counted(service: Service) -> dict[str, tuple[int, int, int]]:
    rows = service.database.select(lambda connection: connection.execute(select(ROWS)).all())
    assert all(row.at % capacity_history.EVERY == 0 for row in rows)
    return {row.resource_class: (row.free, row.in_use, row.waiting) for row in rows}


def test_one_row_a_class_every_ten_minutes(service: Service) -> None:
    first, second = (service.add_conductor(name) for name in ("c1", "c2"))
    for number in range(3):
        service.add_node(f"n{number}")
    service.add_node("in-use")
    service.add_node("held", maintenance=True, resource_class="silver")
    service.claim(CONSUMER, service.baremetal("GET", "/nodes/in-use").json["uuid"])
    service.http.post_json(CLAIMS, {"query": "resources=CUSTOM_SILVER:1", "wait": 60}, status=202)
    with service.statements() as statements:
        first.events.step(delivers=False)
    assert [each for each in statements if "capacity_samples" in each and not each.startswith("INSERT")] == []
    expected = {"CUSTOM_GOLD": (3, 1, 0), "CUSTOM_SILVER": (0, 0, 1)}
    assert counted(service) == expected
    for conductor in (first, second):
        conductor.events.step(delivers=False)
    assert counted(service) == expected
    assert not service.database.change(capacity_history.write)
    service.database.write(lambda session: session.execute(update(ROWS).values(at=ROWS.c.at - 600)) and None)
    assert service.database.change(capacity_history.write)


def test_nothing_while_an_earlier_release_may_serve(service: Service) -> None:
    service.add_node("n1")
    service.database.write(lambda session: schema_state.finish(session.connection(), "0034"))
    assert not service.database.change(capacity_history.write)
    assert counted(service) == {}


def test_who_does_not_number_does_not_count(service: Service) -> None:
    conductor = service.add_conductor("c1")
    service.add_node("n1")
    service.database.write(
        lambda session: session.execute(update(STREAM).values(holder=CONSUMER, held_until=epoch() + 5)) and None
    )
    conductor.events.step(delivers=False)
    assert counted(service) == {}


@pytest.mark.parametrize(
    ("age", "is_left"), [(capacity_history.KEEP - 600, True), (capacity_history.KEEP + 600, False)]
)
def test_two_days_are_kept(service: Service, age: int, is_left: bool) -> None:
    conductor = service.add_conductor("c1")
    service.add_node("n1")
    service.database.change(capacity_history.write)
    service.database.write(lambda session: session.execute(update(ROWS).values(at=ROWS.c.at - age)) and None)
    conductor.run_periodic_task(next(task for task in PERIODIC_TASKS if task.name == "counts"))
    assert bool(counted(service)) is is_left


def test_at_most_a_day_is_read(service: Service) -> None:
    service.add_node("n1")
    service.database.change(capacity_history.write)

    def fill(session: object) -> None:
        (row,) = session.execute(select(ROWS)).mappings().all()  # type: ignore[attr-defined]
        session.execute(delete(ROWS))  # type: ignore[attr-defined]
        rows = [{**row, "at": row["at"] - number * 600} for number in range(300)]
        session.execute(insert(ROWS), rows)  # type: ignore[attr-defined]

    service.database.write(fill)
    rows = service.database.select(lambda connection: capacity_history.read_day(connection, ["CUSTOM_GOLD"]))
    assert len(rows) == 144
    assert [row.at for row in rows] == sorted(row.at for row in rows)
