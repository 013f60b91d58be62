"""The last attempts of a webhook."""

import pytest

from baremetal_sched import bounded_http
from baremetal_sched.scheduling.webhooks import delivering
from tests import passing_time
from tests.clocks import StoppedClock
from tests.functional.scheduling import test_webhook_deliveries
from tests.functional.scheduling.happening import happen
from tests.functional.scheduling.test_webhook_deliveries import OPERATOR, change, deliver, make, show
from tests.receiver import Receiver, answering
from tests.service import Service

service = test_webhook_deliveries.service


def test_attempts_are_shown(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the time, the status, how long it took, the event, and why it failed; the newest first."""
    clock = StoppedClock()
    monkeypatch.setattr(delivering, "time", clock)
    monkeypatch.setattr(bounded_http, "time", clock)
    with Receiver() as receiver:
        hook = make(service, receiver.url)
        assert (hook["attempts"], show(service, hook)["attempts"]) == ([], [])
        (first,) = happen(service, "n1")
        receiver.behave = lambda handler: (clock.go_on(0.25), answering(503, b"s3cret")(handler))
        deliver(service)
        passing_time.go_by(service, 10)
        receiver.behave = lambda handler: (clock.go_on(0.5), answering(204)(handler))
        (second,) = happen(service, "n2")
        deliver(service)
        attempts = show(service, hook)["attempts"]
        times = [each.pop("time") for each in attempts]
        assert times == sorted(times, reverse=True)
        assert all(each.endswith("Z") for each in times)
        assert attempts == [
            {"event": second, "status": 204, "duration": 0.5, "error": None},
            {"event": first, "status": 204, "duration": 0.5, "error": None},
            {"event": first, "status": 503, "duration": 0.25, "error": "It answered 503."},
        ]
        (listed,) = service.http.get("/scheduling/v1/webhooks", headers=OPERATOR).json["webhooks"]
        assert listed == show(service, hook)
        receiver.behave = answering(204)
        uuids = happen(service, *(f"m{number}" for number in range(30)))
        deliver(service)
        kept = show(service, hook)["attempts"]
        assert [each["event"] for each in kept] == uuids[:9:-1]
        assert change(service, hook, name="new")["attempts"] == kept
        assert change(service, hook, url=receiver.url)["attempts"] == kept
        assert change(service, hook, url=f"{receiver.url}&new")["attempts"] == []


def test_what_was_not_sent_is_no_attempt(service: Service) -> None:
    with Receiver() as receiver:
        hook = make(service, receiver.url)
        service.database.change(
            lambda connection: connection.exec_driver_sql("UPDATE webhooks SET secret = '~00000000~AAAA~'")
        )
        happen(service, "n1")
        deliver(service)
        shown = show(service, hook)
        assert (shown["last_error"], shown["attempts"]) == ("The secret cannot be decrypted.", [])
