"""Many claims whose time is over end at once, the oldest deadline first."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.db.models import WaitingRequest
from baremetal_sched.scheduling import sweep
from tests.functional.scheduling.test_handover import GOLD, GOLD_A, state, wait
from tests.service import Service


@pytest.fixture
def explained(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The requests that were explained."""
    requests: list[Any] = []
    explain = sweep.explain_request

    def note(context: MachineContext, request: MachineRequest) -> object:
        requests.append(request)
        return explain(context, request)

    monkeypatch.setattr(sweep, "explain_request", note)
    return requests


def _sweep(service: Service) -> None:
    settings = service.app.settings
    sweep.sweep(service.database, settings, "r1", lambda *_: True)


def _ended(service: Service) -> set[str]:
    ended = select(WaitingRequest.uuid).where(WaitingRequest.state == "timed_out")
    return set(service.database.read(lambda session: session.scalars(ended).all()))


def _reasons(service: Service) -> set[str | None]:
    return set(service.database.read(lambda session: session.scalars(select(WaitingRequest.reason)).all()))


def test_the_reason_of_equal_requests_is_looked_up_once(served: Service, explained: list[Any]) -> None:
    waiting = [wait(served, request, seconds=-1) for request in (GOLD, GOLD_A) for _ in range(30)]
    _sweep(served)
    assert _ended(served) == set(waiting)
    assert [request.query for request in explained] == [GOLD.query, GOLD_A.query]


def test_a_sweep_has_its_time_for_ending_and_begins_with_the_oldest_deadline(
    served: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guide: 'The next sweep … begins with the oldest deadlines.'"""
    monkeypatch.setattr(sweep, "_AT_ONCE", 2)
    monkeypatch.setattr(sweep, "_SECONDS", -1)
    late, latest, later = (wait(served, seconds=-seconds) for seconds in (10, 30, 20))
    _sweep(served)
    assert _ended(served) == {latest, later}
    assert state(served, late) == "timed_out"  # as clients see it
    _sweep(served)
    assert _ended(served) == {latest, later, late}


def test_reasons_that_take_too_long_are_not_looked_up(
    served: Service, monkeypatch: pytest.MonkeyPatch, explained: list[Any]
) -> None:
    """Guide: 'If very many claims end at once, some keep the reason for which they began to wait.' The claims end in
    time, and keep the reason that they had."""
    monkeypatch.setattr(sweep, "_EXPLAINING", -1)
    wait(served, seconds=-1)
    _sweep(served)
    assert explained == []
    assert _reasons(served) == {"None is free."}


def test_a_claim_that_cannot_be_ended_keeps_no_other(
    served: Service, monkeypatch: pytest.MonkeyPatch, explained: list[Any]
) -> None:
    broken, *others = (wait(served, seconds=-1) for _ in range(3))
    end: Callable[..., None] = sweep.SessionHandover.end

    def fail(desk: sweep.SessionHandover, claim: WaitingRequest, to: str, reason: str) -> None:
        if claim.uuid == broken:
            raise sweep.SchedulerError(message="broken")
        end(desk, claim, to, reason)

    monkeypatch.setattr(sweep.SessionHandover, "end", fail)
    _sweep(served)
    assert _ended(served) == set(others)
