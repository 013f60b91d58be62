"""A reader that follows all events while things are killed: it must hear of each change exactly once."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from requests import RequestException

from baremetal_sched.db.transaction import Database
from baremetal_sched.settings import load
from tests.event_copy import Copy
from tests.fault.troubles import repeated
from tests.processes import Client
from tests.waiting import wait_until


class EventReader:
    """Keeps a copy of the tables by events alone. It begins before there is anything.

    ``heard`` counts events by type, subject and consumer.
    """

    def __init__(self, url: str, database: Database) -> None:
        self.heard: Counter[tuple[str, str, str]] = Counter()
        self._url, self._database = url, database
        self._copy = Copy(database)
        self._after = ""
        self._ids: set[str] = set()

    def look(self) -> None:
        """Read what comes after the cursor. Without an answer, the same is asked for again."""
        with suppress(RequestException), Client(self._url) as client:
            answer = client.scheduling("GET", f"/events?wait=1{self._after}")
            if answer.status_code not in (503, 504):
                assert answer.status_code == 200, answer.text
                for event in answer.json()["events"]:
                    self._hear(event)
                self._after = f"&after={answer.json()['cursor']}"

    def _hear(self, event: dict[str, Any]) -> None:
        assert event["id"] not in self._ids, event
        self._ids.add(event["id"])
        assert int(event["sequence"]) == len(self._ids), (event, len(self._ids))
        self._copy.apply(event)
        consumer = event["data"].get("consumer") or {"uuid": ""}
        self.heard[event["type"], event["subject"], consumer["uuid"]] += 1

    def catch_up(self) -> None:
        """Wait until the copy equals the tables."""

        def equals() -> bool:
            self.look()
            return bool(self._copy.document() == Copy(self._database).document())

        with suppress(AssertionError):
            wait_until(equals, "the events to tell everything")
        assert self._copy.document() == Copy(self._database).document()

    def of_machine(self, what: str, machine: str, consumer: str) -> int:
        """Return how often the consumer ``claimed`` or ``released`` the machine."""
        return self.heard[f"scheduling.machine.{what}", machine, consumer]


@contextmanager
def following(url: str, database_url: str) -> Iterator[EventReader]:
    """While it reads; in the end it knows everything."""
    database = Database(load(overrides={"database": {"connection": database_url}}))
    try:
        reader = EventReader(url, database)
        with repeated(reader.look, 0.05):
            yield reader
        reader.catch_up()
    finally:
        database.dispose()
