"""The clock of the database is set while events are sent, and that of the conductor's host is wrong."""

from http.server import BaseHTTPRequestHandler

import pytest

from baremetal_sched import bounded_http
from baremetal_sched.scheduling.webhooks import delivering
from tests.clocks import StoppedClock
from tests.database_clock import settable
from tests.functional.scheduling.happening import happen
from tests.functional.scheduling.test_webhook_deliveries import deliver, make, service, show
from tests.receiver import Receiver, answering
from tests.restored import Rows
from tests.service import Service

__all__ = ["service"]

STEPS = (-3600.0, -20.0, 120.0, 3600.0)


def test_a_webhook_goes_on_when_the_clock_is_set(service: Service, receiver: Receiver, row: Rows) -> None:
    for step in STEPS:
        with row(step), settable(service.database) as clock:
            hook, before = make(service, receiver.url), len(receiver.received)
            happen(service, "n1")
            deliver(service)
            clock.step(step)
            happen(service, "n2")
            assert deliver(service) == 1
            assert (receiver.subjects[before:], show(service, hook)["behind"]) == (["n1", "n2"], 0)


def test_pauses_and_leases_of_before_end(service: Service, receiver: Receiver, row: Rows) -> None:
    """A pause is at most the longest one, and what a success has ended does not come back."""
    with row("after a pause"), settable(service.database) as clock:
        make(service, receiver.url)
        receiver.behave = answering(500)
        happen(service, "n1")
        deliver(service)
        clock.step(60)
        receiver.behave = answering(200)
        assert deliver(service) == 1
        clock.step(-60)
        happen(service, "n2")
        assert deliver(service) == 1
    with row("in a pause"), settable(service.database) as clock:
        make(service, receiver.url)
        receiver.behave = answering(500)
        happen(service, "n1")
        deliver(service)
        clock.step(-3600)
        assert deliver(service) == 1
    with row("of a conductor that was killed"), settable(service.database) as clock:
        receiver.behave = answering(200)
        make(service, receiver.url)
        happen(service, "n1")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(delivering.Delivery, "_record", _killed)
            with pytest.raises(SystemExit):
                deliver(service)
        clock.step(-3600)
        assert deliver(service) == 1


def _killed(*_: object, **__: object) -> bool:
    raise SystemExit


def test_deliveries_are_dated_by_the_clock_of_the_database(
    service: Service, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it was read with the events, and gone on since."""
    stopped = StoppedClock()
    monkeypatch.setattr(delivering, "time", stopped)
    monkeypatch.setattr(bounded_http, "time", stopped)
    monkeypatch.setattr(delivering, "_BATCH_SECONDS", 60.0)

    def slow(handler: BaseHTTPRequestHandler) -> None:
        stopped.go_on(1)  # a slower one would end the turn
        answering(204)(handler)

    receiver.behave = slow
    with settable(service.database) as clock:
        make(service, receiver.url)
        happen(service, "n1", "n2")
        deliver(service)
        clock.step(1_000_000)
        happen(service, "n3")
        deliver(service)
    first, second, third = (int(each.headers["webhook-timestamp"]) for each in receiver.received)
    assert second - first == 1
    assert third - second >= 999_990
