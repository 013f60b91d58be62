"""Numbers of events: who commits late is not skipped, whoever numbers meanwhile."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, event, select

from baremetal_sched.db.event_types import EventType
from baremetal_sched.db.notes import notes_of
from baremetal_sched.db.transaction import Database
from baremetal_sched.scheduling.events import numbering, reading
from baremetal_sched.scheduling.events.numbering import Numbering
from tests.database_clock import settable
from tests.numbered import number_all
from tests.service import Service

SUBJECT = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"


def note(database: Database, kind: str, before_commit: Callable[[], object] = lambda: None) -> None:
    """Commit an event of this type; its row is written, and not committed, when ``before_commit`` is called."""

    def work(connection: Connection) -> None:
        notes_of(connection).add(EventType(kind, "", "", ()), SUBJECT, {}, project="p")
        notes_of(connection).write(connection)
        before_commit()

    database.change(work)


def read(service: Service, number: int, **filters: Any) -> list[tuple[int, str]]:
    events = service.database.select(lambda connection: reading.read_after(connection, number, 100, **filters))
    return [(each.number, each.type) for each in events]


@pytest.fixture
def several(service: Service) -> Service:
    if service.database.engine.dialect.name == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    return service


def test_a_late_committer_is_not_skipped(several: Service) -> None:
    number_all(several)
    last = several.database.select(reading.last_number)

    def others() -> None:
        note(several.database, "early")
        number_all(several)
        assert read(several, last) == [(last + 1, "early")]

    note(several.database, "late", others)
    number_all(several)
    assert read(several, last + 1) == [(last + 2, "late")]
    assert [number for number, _ in read(several, last, project="p")] == [last + 1, last + 2]


def test_numbering_is_interrupted_at_each_statement(several: Service) -> None:
    """While one is paused, others commit; it loses the stream to another one, and takes it back."""
    number_all(several)
    last, at, is_over = several.database.select(reading.last_number), 0, False
    sent: list[str] = []
    while not is_over:
        note(several.database, f"before {at}")
        number, is_over = Numbering(several.database), True
        place = 0

        def pause(connection: Any, cursor: Any, text: str, *_: Any, pausing: int = at) -> None:
            nonlocal place, is_over
            place += 1
            if place == pausing + 1:
                is_over = False
                note(several.database, f"within {pausing}")

        event.listen(several.database.engine, "before_cursor_execute", pause)
        number.step()
        event.remove(several.database.engine, "before_cursor_execute", pause)
        number.stop()
        number_all(several)
        sent += [f"before {at}"] + ([] if is_over else [f"within {at}"])
        at += 1
    found = read(several, last)
    assert at > 2
    assert sorted(kind for _, kind in found) == sorted(sent)
    assert [number for number, _ in found] == [*range(last + 1, last + 1 + len(sent))]


def test_one_numbers_at_a_time(service: Service) -> None:
    number_all(service)
    first, second = Numbering(service.database), Numbering(service.database)
    note(service.database, "a")
    assert first.step() == 1
    note(service.database, "b")
    assert (second.step(), first.step()) == (0, 1)
    note(service.database, "c")
    first.stop()
    assert second.step() == 1
    note(service.database, "d")
    service.database.change(lambda connection: connection.execute(numbering.STREAM.update().values(held_until=0)))
    assert (first.step(), second.step()) == (1, 0)
    assert service.database.read(lambda session: session.execute(select(numbering.NOTES)).all()) == []


def test_a_lease_of_a_time_before_the_clock_was_set_back_is_over(service: Service) -> None:
    """Its process was killed."""
    number_all(service)
    killed, other = Numbering(service.database), Numbering(service.database)
    note(service.database, "a")
    assert killed.step() == 1
    with settable(service.database) as clock:
        clock.step(-3600)
        note(service.database, "b")
        assert other.step() == 1
        number_all(service)


def test_a_reader_at_the_end_and_a_tenant_pay_one_indexed_statement(several: Service) -> None:
    """Plans of the statements, for a table with many events of others."""
    for kind in ("a", "b"):
        note(several.database, kind)
    number_all(several)
    with several.statements() as statements:
        read(several, 0, project="p")
        read(several, 10**9)
    assert len(statements) == 2
