"""Requests that wait until a claim is decided: one thread of the process reads the database for all of them."""

import time
from collections.abc import Collection

from baremetal_sched.baremetal.conductors.driver_client import Waits
from baremetal_sched.db.polling import Poller
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import TooManyWaiting
from baremetal_sched.fair_places import FairPlaces
from baremetal_sched.placement import waiting_requests

#: Seconds between two statements that read which claims still wait.
_INTERVAL = 0.1


class Decisions:
    """Lets requests wait for the decision on a claim, at most ``most`` at a time, half of them of one project."""

    def __init__(self, database: Database, most: int, waits: Waits) -> None:
        self._database = database
        self._places = FairPlaces(most)
        self._waits = waits
        self._poller: Poller[str, bool] = Poller("claim-decisions", self._decided, lambda age: _INTERVAL)

    def wait(self, uuid: str, until: float, project: str | None = None) -> bool:
        """Wait until the claim does not wait any more, or is deleted, but not beyond ``until`` (``time.monotonic``).

        Returns False at once if too many requests wait, in all or of the project. The request must have no open
        transaction.
        """
        with self._places.place(project) as is_free:
            if not is_free:
                return False
            try:
                with self._waits.waiting(), self._poller.expecting(uuid) as expected:
                    expected.event.wait(max(0.0, until - time.monotonic()))
            except TooManyWaiting:
                return False
        return True

    def close(self) -> None:
        """Wait until the thread has nothing to ask for."""
        self._poller.close()

    def _decided(self, uuids: Collection[str]) -> dict[str, bool]:
        waiting = self._database.select(lambda connection: waiting_requests.still_waiting(connection, uuids))
        return dict.fromkeys(set(uuids) - waiting, True)
