"""Deliveries to try a receiver: beside the queue, whatever the state of the webhook."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from sqlalchemy import select, update

from baremetal_sched.db.models import WebhookTest
from baremetal_sched.scheduling.webhooks import delivering, testing
from baremetal_sched.scheduling.webhooks.sending import Sender
from tests.functional.scheduling.happening import happen, last
from tests.functional.scheduling.test_webhook_deliveries import OPERATOR, deliver, make, show
from tests.receiver import Receiver, answering
from tests.service import Service
from tests.waiting import PATIENCE, wait_until
from tests.webhook_tests import sending

BERTA = {"X-Auth-Token": "berta:b", "X-Roles": "admin,member,reader"}


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    options = {"api": {"auth_strategy": "noauth2"}, "events": {"allowed_hosts": "127.0.0.1"}}
    with Service(database_url, **options) as running:
        running.add_conductor("c1")
        yield running


def ask(service: Service, hook: dict[str, Any], status: int = 200, by: Any = OPERATOR) -> Any:
    return service.http.post(f"/scheduling/v1/webhooks/{hook['uuid']}/test", headers=by, status=status)


def pass_by(service: Service, seconds: float) -> None:
    """Let that many seconds pass."""

    def earlier(session: Any) -> None:
        for test in session.scalars(select(WebhookTest)):
            test.asked = [each - seconds for each in test.asked]
            test.begins_before -= seconds

    service.database.write(earlier)


def test_a_receiver_is_tried(service: Service, subtests: pytest.Subtests) -> None:
    """Of a parked webhook, too; neither cursor nor failures nor state change. No event of the list is sent."""
    refuse = answering(500, b"s3cret")
    rows: list[tuple[str, Callable[[BaseHTTPRequestHandler], object], int | None, str | None]] = [
        ("fine", answering(200, b"s3cret"), 200, None),
        ("refuses", refuse, 500, "It answered 500."),
        ("gone", answering(410), 410, "It answered 410: it wants no more events."),
        ("not HTTP", lambda handler: handler.wfile.write(b"220 s3cret ESMTP\r\n"), None, "It was not reached."),
    ]
    with Receiver() as receiver, sending(service):
        hook = make(service, receiver.url, types=["scheduling.machine.*"])
        happen(service, "n1", "n2")
        for state in ("active", "parked"):
            if state == "parked":
                receiver.behave = answering(410)
                deliver(service)
            before = show(service, hook)
            assert before["state"] == state
            for name, behave, status, words in rows:
                with subtests.test(f"{state} {name}"):
                    receiver.behave = behave
                    receiver.received.clear()
                    answer = ask(service, hook)
                    assert answer.json.keys() == {"status", "duration", "error"}
                    assert (answer.json["status"], answer.json["error"]) == (status, words)
                    assert answer.json["duration"] >= 0
                    assert "s3cret" not in answer.text
                    (received,) = receiver.received
                    event = received.verified(hook["secret"])
                    assert (event["type"], event["subject"]) == ("scheduling.webhook.test", hook["uuid"])
                    assert (event["id"], event["data"], "sequence" in event) == (received.id, {}, False)
                    assert show(service, hook) == before
            pass_by(service, 60)
    assert last(service).split(":")[1] == "2"


def test_one_at_a_time_and_six_a_minute(service: Service) -> None:
    """Of a project, whichever of its webhooks it tries."""
    goes_on = threading.Event()
    answers: list[int] = []
    with Receiver(lambda handler: (goes_on.wait(PATIENCE), answering(204)(handler))) as receiver, sending(service):
        hook, other = make(service, receiver.url), make(service, receiver.url)
        foreign = make(service, receiver.url, by=BERTA)
        first = threading.Thread(target=lambda: answers.append(ask(service, hook).json["status"]))
        first.start()
        wait_until(lambda: receiver.received, "the first test")
        for each in (hook, other):
            answer = ask(service, each, status=429)
            assert "is being tested already" in answer.json["error"]["message"]
            assert 1 <= int(answer.headers["Retry-After"]) <= testing.LONGEST + testing.patience(service.app.settings)
        goes_on.set()
        first.join()
        assert answers == [204]
        for _ in range(5):
            ask(service, other)
        refused = ask(service, hook, status=429)
        assert "at most 6 times a minute" in refused.json["error"]["message"]
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
        ask(service, foreign)
        service.http.delete(f"/scheduling/v1/webhooks/{other['uuid']}", headers=OPERATOR)
        ask(service, hook, status=429)
        pass_by(service, 60)
        ask(service, hook)


def test_no_conductor_sends(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test is withdrawn; one that begins late is not sent."""
    monkeypatch.setattr(testing, "patience", lambda settings: 0.2)
    with Receiver() as receiver:
        hook = make(service, receiver.url)
        said = ask(service, hook, status=503).json["error"]["message"]
        assert "no conductor sends events to webhooks now" in said
        assert service.database.select(lambda connection: connection.execute(testing.WAITING).all()) == []
        monkeypatch.setattr(testing, "patience", lambda settings: PATIENCE)
        with sending(service):
            assert ask(service, hook).json["status"] == 204
        assert len(receiver.received) == 1


def test_a_conductor_that_dies_while_it_sends(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its test is not sent again, and the next may begin."""
    monkeypatch.setattr(testing, "patience", lambda settings: 0.2)
    monkeypatch.setattr(testing, "LONGEST", 0.2)
    with Receiver() as receiver:
        hook = make(service, receiver.url)
        begun = threading.Thread(target=lambda: ask(service, hook, status=503))
        begun.start()
        wait_until(lambda: service.database.select(lambda connection: connection.scalars(testing.WAITING).all()), "it")
        service.database.change(lambda connection: connection.execute(update(WebhookTest).values(is_taken=True)))
        begun.join()
        assert receiver.received == []
        pass_by(service, 1)
        monkeypatch.setattr(testing, "patience", lambda settings: PATIENCE)
        with sending(service):
            assert ask(service, hook).json["status"] == 204


def test_who_may(service: Service) -> None:
    with Receiver() as receiver:
        hook = make(service, receiver.url)
        ask(service, hook, status=404, by=BERTA)
        ask(service, hook, status=403, by={**BERTA, "X-Roles": "member,reader"})
        path = f"/scheduling/v1/webhooks/{hook['uuid']}/test?x=1"
        service.http.post(path, headers=OPERATOR, status=400)
        assert receiver.received == []


def test_two_conductors_send_one_event(service: Service) -> None:
    with Receiver() as receiver:
        hook = make(service, receiver.url)
        asked = threading.Thread(target=lambda: ask(service, hook))
        asked.start()
        wait_until(lambda: service.database.select(lambda connection: connection.scalars(testing.WAITING).all()), "it")
        (token,) = service.database.select(lambda connection: connection.scalars(testing.WAITING).all())
        for _ in range(2):
            delivering.deliver_test(service.database, Sender(service.app.settings), token)
        asked.join()
        assert len(receiver.received) == 1
