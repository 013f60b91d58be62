"""The number of claims of a project that wait, where two of them begin at the same moment."""

import threading

import pytest
from sqlalchemy.orm import Session

from baremetal_sched.errors.scheduling import TooManyWaitingClaims
from baremetal_sched.placement import waiting_requests
from baremetal_sched.placement.waiting_requests import NewWaitingRequest
from tests.races.waiting import LockWaits
from tests.service import Service
from tests.waiting import wait_until

FIRST, SECOND = (f"cccccccc-0000-4000-8000-00000000000{number}" for number in (1, 2))


def enter(session: Session, uuid: str) -> None:
    new = NewWaitingRequest(uuid, "claim", "CUSTOM_GOLD", {"query": "resources=CUSTOM_GOLD:1"}, "p", "u", seconds=600)
    waiting_requests.enter(session, new, most=1)


def test_two_that_begin_at_once_do_not_pass_the_limit(service: Service) -> None:
    if service.database.engine.dialect.name == "sqlite":
        pytest.skip("there is one writer at a time")
    entered = threading.Event()

    def first(session: Session) -> None:
        enter(session, FIRST)
        entered.set()
        wait_until(waits.count, "the second to wait for the first")

    with LockWaits(service.database_url) as waits:
        thread = threading.Thread(target=service.database.write, args=(first,))
        thread.start()
        wait_until(entered.is_set, "the first to have entered")
        with pytest.raises(TooManyWaitingClaims):
            service.database.write(lambda session: enter(session, SECOND))
        thread.join()
    assert service.database.read(lambda session: waiting_requests.find(session, SECOND)) is None
