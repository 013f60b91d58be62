"""Requests that wait until a claim is decided, an event comes or a webhook was tested: one thread of the process for
each reads the database for all of them."""

import time
from collections.abc import Collection
from typing import TypeVar

from sqlalchemy import select

from baremetal_sched.baremetal.conductors.driver_client import Waits
from baremetal_sched.db.models import WaitingRequest, WebhookTest
from baremetal_sched.db.polling import Poller
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import TooManyWaiting
from baremetal_sched.fair_places import FairPlaces
from baremetal_sched.placement.waiting_requests import IS_WAITING
from baremetal_sched.scheduling.events import reading

#: Seconds between two statements that read which claims still wait, and what the last event is.
_INTERVAL = 0.1
_EVENTS_INTERVAL = 0.25

Key = TypeVar("Key")


class Decisions:
    """Lets requests wait for the decision on a claim, or for events, at most ``most`` at a time, half of them of one
    project."""

    def __init__(self, database: Database, most: int, waits: Waits) -> None:
        self._database = database
        self._places = FairPlaces(most)
        self._waits = waits
        self._poller: Poller[str, bool] = Poller("claim-decisions", self._decided, lambda age: _INTERVAL)
        self._events: Poller[int, bool] = Poller("events", self._numbered, lambda age: _EVENTS_INTERVAL)
        self._tests: Poller[str, bool] = Poller("webhook-tests", self._answered, lambda age: _INTERVAL)

    def wait(self, uuid: str, until: float, project: str | None = None) -> bool:
        """Wait until the claim is decided or deleted, but not beyond ``until`` (``time.monotonic``).

        Returns False at once if too many requests wait, in all or of the project. The request must have no open
        transaction.
        """
        return self._wait(self._poller, uuid, until, project)

    def wait_for_events(self, number: int, until: float, project: str | None = None) -> bool:
        """Wait in the same way until the last event is another one than that with this number."""
        return self._wait(self._events, number, until, project)

    def wait_for_test(self, token: str, until: float, project: str | None = None) -> bool:
        """Wait in the same way until the test of a webhook has a result."""
        return self._wait(self._tests, token, until, project)

    def _wait(self, poller: Poller[Key, bool], key: Key, until: float, project: str | None) -> bool:
        with self._places.place(project) as is_free:
            if not is_free:
                return False
            try:
                with self._waits.waiting(), poller.expecting(key) as expected:
                    expected.event.wait(max(0.0, until - time.monotonic()))
            except TooManyWaiting:
                return False
        return True

    def close(self) -> None:
        """Wait until the threads have nothing to ask for."""
        self._poller.close()
        self._events.close()
        self._tests.close()

    def _decided(self, uuids: Collection[str]) -> dict[str, bool]:
        query = select(WaitingRequest.uuid).where(IS_WAITING, WaitingRequest.uuid.in_(uuids))
        waiting = self._database.select(lambda connection: {uuid for (uuid,) in connection.execute(query)})
        return dict.fromkeys(set(uuids) - waiting, True)

    def _numbered(self, numbers: Collection[int]) -> dict[int, bool]:
        last = self._database.select(reading.last_number)
        return {number: True for number in numbers if number != last}

    def _answered(self, tokens: Collection[str]) -> dict[str, bool]:
        query = select(WebhookTest.token).where(WebhookTest.answer.is_not(None), WebhookTest.token.in_(tokens))
        return self._database.select(lambda connection: {token: True for (token,) in connection.execute(query)})
