# tier: first
"""Notes of a transaction go with their savepoint; what was noted before it stays."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.event_types import EventType
from baremetal_sched.db.models import Aggregate, EventNote
from baremetal_sched.db.models.base import table_of
from baremetal_sched.db.notes import Notes, notes_of
from baremetal_sched.db.transaction import Database
from baremetal_sched.settings import load

KIND = EventType("test", "", "", ())
#: Stands for the history of a node, whose rows are noted in the same way.
_ROW = insert(table_of(Aggregate))


def _uuid(number: int) -> str:
    return f"3f2504e0-4f89-41d3-9a0c-{number:012}"


class Told:
    """What the transactions of a database tell after they have committed."""

    def __init__(self, database: Database) -> None:
        self.providers: set[int] = set()
        self.nodes: set[str] = set()
        self.groups: set[int] = set()
        self.waiting: list[str] = []
        self.woken: list[int] = []
        database.handover = self
        database.on_work = lambda: self.woken.append(1)

    def wanted(self, connection: Connection, notes: Notes) -> Sequence[Any]:
        return ()

    def serve(self, session: Session, machines: Sequence[Any]) -> None: ...

    def offer(self, machines: Collection[int], deadline: float | None) -> None: ...

    def lock(self, connection: Connection, nodes: Collection[str]) -> None: ...

    def look_after(self, notes: Notes, deadline: float | None) -> None:
        self.providers |= notes.providers
        self.nodes |= notes.nodes
        self.groups |= notes.groups

    def look_again(self, waiting: Collection[str], deadline: float | None) -> None:
        self.waiting += waiting


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(load(overrides={"database": {"connection": database_url}}))
    yield database
    database.dispose()


@pytest.fixture
def told(database: Database) -> Told:
    return Told(database)


def _rows(database: Database, column: Any) -> list[str]:
    return sorted(database.read(lambda session: session.scalars(select(column)).all()))


#: How number 1 or 2 of each kind is noted, and which numbers are found after the commit.
KINDS: dict[str, tuple[Callable[[Notes, int], object], Callable[[Database, Told], list[Any]], Callable[[int], Any]]] = {
    "events": (
        lambda notes, number: notes.add(KIND, _uuid(number), {}),
        lambda database, told: _rows(database, EventNote.subject),
        _uuid,
    ),
    "history": (
        lambda notes, number: notes.add_row(_ROW, {"uuid": _uuid(number), "created_at": utcnow()}),
        lambda database, told: _rows(database, Aggregate.uuid),
        _uuid,
    ),
    "freed providers": (
        lambda notes, number: notes.providers.add(number),
        lambda database, told: sorted(told.providers),
        int,
    ),
    "freed nodes": (lambda notes, number: notes.nodes.add(_uuid(number)), lambda _, told: sorted(told.nodes), _uuid),
    "groups": (lambda notes, number: notes.groups.add(number), lambda _, told: sorted(told.groups), int),
    "begun waits": (lambda notes, number: notes.waiting.append(_uuid(number)), lambda _, told: told.waiting, _uuid),
    "requested work": (
        lambda notes, number: setattr(notes, "requests_work", notes.requests_work or number == 2),
        lambda _, told: [2] if told.woken else [],
        int,
    ),
}


@pytest.mark.parametrize("is_kept", [False, True], ids=["undone", "kept"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_note_goes_with_its_savepoint(database: Database, told: Told, kind: str, is_kept: bool) -> None:
    note, found, number_in_notes = KINDS[kind]

    def work(session: Session) -> None:
        note(notes_of(session), 1)
        outer = session.begin_nested()
        inner = session.begin_nested()
        note(notes_of(session), 2)
        inner.commit()
        assert notes_of(session).savepoints
        outer.commit() if is_kept else outer.rollback()
        assert not notes_of(session).savepoints

    database.write(work)
    expected = [number_in_notes(number) for number in ((1, 2) if is_kept else (1,))]
    assert found(database, told) == (expected if kind != "requested work" else expected[1:])


def test_what_is_known_of_the_attempt_stays(database: Database) -> None:
    def work(session: Session) -> None:
        savepoint = session.begin_nested()
        notes = notes_of(session)
        notes.gives, notes.offered = True, frozenset({1})
        notes.unwanted.add(2)
        savepoint.rollback()
        assert (notes.gives, notes.offered, notes.unwanted) == (True, {1}, {2})

    database.write(work)


def test_a_row_that_was_written_within_a_savepoint_is_written_again_if_that_is_undone(database: Database) -> None:
    def work(session: Session) -> None:
        notes_of(session).add(KIND, _uuid(1), {})
        savepoint = session.begin_nested()
        notes_of(session).write(session.connection())
        savepoint.rollback()

    database.write(work)
    assert _rows(database, EventNote.subject) == [_uuid(1)]
