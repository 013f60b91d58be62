"""The thread that reads the database for all requests of a process that wait."""

from collections.abc import Collection

from baremetal_sched.db.polling import Poller
from tests.waiting import PATIENCE


def test_what_was_delivered_is_told_together() -> None:
    told: list[Collection[int]] = []
    poller: Poller[int, bool] = Poller(
        "a poller", lambda keys: dict.fromkeys(keys, True), lambda age: 0, told.append, 3600
    )
    for key in (1, 2):
        with poller.expecting(key) as expected:
            assert expected.event.wait(PATIENCE)
    assert told == []
    poller.close()
    assert told == [{1, 2}]
