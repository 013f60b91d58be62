"""Who follows events has the state of every node, wherever a request is paused that meets a change of the node.

EVENT_PAUSES=all pauses before every statement, and not only before each COMMIT.
"""

import os

import pytest

from baremetal_sched.scheduling.events import reading
from baremetal_sched.scheduling.events.cloud_events import cloud_event
from tests.event_copy import Copy
from tests.numbered import number_all
from tests.races.exploring import Explorer

#: Who gets or gives back the node n1, in states.
_HOLDERS = (
    *(("free", each) for each in ("claim node", "claim with others", "allocate", "boot")),
    *(("held", each) for each in ("release", "move claim")),
    ("children", "move below node"),
    ("allocated", "delete allocation"),
)
_CHANGES = ("patch extra", "patch name", "patch owner", "maintenance on")


class Follower:
    """A reader that reads while a request is paused, and after."""

    def __init__(self, explorer: Explorer) -> None:
        self._service = explorer.service

    def begin(self) -> None:
        """Copy the tables."""
        number_all(self._service)
        self._number = self._service.database.select(reading.last_number)
        self._copy = Copy(self._service.database)

    def read(self) -> int:
        """Apply the events that are there; fail unless the copy is what the tables are. Return the status of a
        request."""
        number_all(self._service)
        after = self._number
        for event in self._service.database.select(lambda connection: reading.read_after(connection, after, 1000)):
            self._copy.apply(cloud_event(event, ""))
            self._number = event.number
        assert self._copy.document() == Copy(self._service.database).document()
        return 200


def _places(explorer: Explorer, state: str, name: str) -> list[int]:
    every = os.environ.get("EVENT_PAUSES") == "all"
    points = explorer.points(state, name)
    return [place for place, point in enumerate(points, 1) if every or point == "COMMIT"]


@pytest.mark.parametrize("change", _CHANGES)
def test_a_copy_is_right_while_a_request_is_paused_and_after(
    explorer: Explorer, change: str, subtests: pytest.Subtests
) -> None:
    meetings = [(state, names) for state, holder in _HOLDERS for names in ((holder, change), (change, holder))]
    for state, names in meetings:
        for place in _places(explorer, state, names[0]):
            with subtests.test(state=state, names=names, place=place):
                follower = Follower(explorer)
                explorer.meet(state, names, place, begin=follower.begin, beside=follower.read)
                follower.read()
            explorer.look_again()
