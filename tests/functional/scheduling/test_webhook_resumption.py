"""How a webhook continues: where it was, after another cursor, or past an event that its receiver always refuses."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.functional.scheduling import test_webhook_deliveries
from tests.functional.scheduling.happening import CLAIMED, RELEASED, begin_anew, forget, happen, last
from tests.functional.scheduling.test_webhook_deliveries import ANNA, OPERATOR, TENANTS, deliver, make, show, under_way
from tests.receiver import Receiver, answering
from tests.service import Service
from tests.unchanged import unchanged

NODE = "11111111-0000-4000-8000-000000000001"
service = test_webhook_deliveries.service


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """One that never takes the event with the subject ``poison``."""

    def refuse(handler: BaseHTTPRequestHandler) -> None:
        answering(400 if made.received[-1].event["subject"] == "poison" else 204)(handler)

    with Receiver(refuse) as made:
        yield made


def resume(service: Service, hook: dict[str, Any], body: Any = None, status: int = 200, by: Any = OPERATOR) -> Any:
    path = f"/scheduling/v1/webhooks/{hook['uuid']}/resume"
    if body is None:
        return service.http.post(path, headers=by, status=status).json
    return service.http.post_json(path, body, headers=by, status=status).json


def test_an_event_that_is_always_refused_is_skipped(service: Service, receiver: Receiver) -> None:
    """Only on request, whether the webhook is parked or not."""
    hook = make(service, receiver.url)
    for state in ("active", "parked"):
        receiver.received.clear()
        _, poison, _ = happen(service, "fine", "poison", "next")
        if state == "parked":
            receiver.behave, before = answering(410), receiver.behave
        deliver(service)
        if state == "parked":
            receiver.behave = before
            resume(service, hook)
            deliver(service)
        assert show(service, hook)["behind"] == 2
        assert resume(service, hook)["behind"] == 2
        resumed = resume(service, hook, {"skip": 1})
        assert resumed["skipped"] == {
            "id": poison, "type": CLAIMED, "time": "2027-01-15T08:00:00.000000Z",
        }  # fmt: skip
        assert (resumed["state"], resumed["behind"], resumed["lost"]) == ("active", 1, 0)
        deliver(service)
        assert receiver.subjects[-1] == "next"
        assert resume(service, hook, {"skip": 1})["skipped"] is None
        assert show(service, hook)["cursor"] == last(service)


def test_what_is_skipped_is_what_would_be_sent(service: Service, receiver: Receiver) -> None:
    """By the filter, far behind the cursor, and by the rights of the maker."""
    hook = make(service, receiver.url, types=[CLAIMED], nodes=[NODE])
    happen(service, *("other",) * 3, type=RELEASED, node=NODE)
    happen(service, "elsewhere")
    (wanted,) = happen(service, "wanted", node=NODE)
    cursor = show(service, hook)["cursor"]
    assert resume(service, hook, {"skip": 1})["skipped"]["id"] == wanted
    assert show(service, hook)["behind"] == 0
    resume(service, hook, {"after": cursor})
    assert show(service, hook)["behind"] == 1


def test_more_events_than_are_looked_at_at_once(
    service: Service, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baremetal_sched.scheduling.events.reading.WINDOW", 2)
    hook = make(service, receiver.url, types=[CLAIMED])
    happen(service, *("other",) * 5, type=RELEASED)
    (wanted,) = happen(service, "wanted")
    assert resume(service, hook, {"skip": 1})["skipped"]["id"] == wanted


def test_another_cursor(service: Service, receiver: Receiver, subtests: pytest.Subtests) -> None:
    before = last(service)
    happen(service, "n1", "n2")
    hook = make(service, receiver.url)
    resumed = resume(service, hook, {"after": before})
    assert (resumed["cursor"], resumed["behind"], resumed["lost"], "skipped" in resumed) == (before, 2, 0, False)
    deliver(service)
    assert receiver.subjects == ["n1", "n2"]
    happen(service, "n3")
    assert resume(service, hook, {"after": "now"})["behind"] == 0
    forget(service, 1)
    for body, status in [
        ({"after": before}, 410),
        ({"after": "yesterday"}, 400),
        ({"after": 5}, 400),
        ({"after": last(service), "skip": 1}, 400),
        ({"skip": 2}, 400),
        ({"skip": True}, 400),
        ({"skip": "1"}, 400),
        ([], 400),
        ({"colour": "red"}, 400),
    ]:
        with subtests.test(str(body)), unchanged(service):
            resume(service, hook, body, status)
    path = f"/scheduling/v1/webhooks/{hook['uuid']}/resume"
    with unchanged(service):
        service.http.post(path, b"skip=1", headers=OPERATOR, status=415)
    assert resume(service, hook, {})["behind"] == 0
    before = last(service)
    begin_anew(service)
    with unchanged(service):
        resume(service, hook, {"after": before}, 410)


def test_a_turn_under_way_loses(service: Service, receiver: Receiver) -> None:
    hook = make(service, receiver.url)
    happen(service, "n1", "n2", "n3")
    with under_way(service, receiver, 500):
        resumed = resume(service, hook, {"skip": 1})
    assert (show(service, hook)["cursor"], show(service, hook)["last_error"]) == (resumed["cursor"], None)
    deliver(service)
    assert receiver.subjects == ["n1", "n2", "n3"]


def test_a_webhook_continues_by_the_rights_of_its_maker(database_url: str, receiver: Receiver, tmp_path: Path) -> None:
    """Whatever is skipped, or sent again from an older cursor."""
    rules = tmp_path / "policy.yaml"
    rules.write_text(TENANTS)
    options = {"api": {"auth_strategy": "noauth2"}, "events": {"allowed_hosts": "127.0.0.1"}}
    with Service(database_url, **options, oslo_policy={"policy_file": str(rules)}) as service:
        before = last(service)
        happen(service, "foreign", projects=("b",))
        happen(service, "mine", projects=("a",))
        hook = make(service, receiver.url, by=ANNA)
        resume(service, hook, {"after": before}, by=ANNA)
        deliver(service)
        assert receiver.subjects == ["mine"]
        resume(service, hook, {"after": before}, by=OPERATOR)
        happen(service, "foreign", projects=("b",))
        assert resume(service, hook, {"skip": 1}, by=OPERATOR)["skipped"] is not None
        assert resume(service, hook, {"skip": 1}, by=OPERATOR)["skipped"] is None
