"""The page of webhooks: their states and last attempts; testing and resuming them."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import update

from baremetal_sched.db.models import Webhook
from tests.functional.scheduling.happening import forget, happen
from tests.functional.scheduling.test_domains import make as make_domain
from tests.functional.ui.pages import look, read
from tests.functional.ui.test_actions import confirmed
from tests.receiver import Receiver, answering
from tests.service import Service
from tests.webhook_tests import sending

pytestmark = pytest.mark.sqlite_only

WEBHOOKS = "/scheduling/v1/webhooks"
ANNA = {"X-Auth-Token": "anna:a", "X-Roles": "admin,member,reader"}


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with Service(database_url, events={"allowed_hosts": "127.0.0.1"}) as running:
        running.add_conductor("c1")
        yield running


def make(service: Service, name: str, url: str = "http://127.0.0.1:9/in", **more: Any) -> str:
    body = {"name": name, "url": url, **more}
    uuid: str = service.http.post_json(WEBHOOKS, body, status=201).json["uuid"]
    return uuid


def set_columns(service: Service, name: str, **values: Any) -> None:
    def change(session: Any) -> None:
        session.execute(update(Webhook).where(Webhook.name == name).values(**values))

    service.database.write(change)


def test_their_states(service: Service) -> None:
    assert "There is no webhook." in look(service, "/webhooks").text
    for name in ("fine", "behind", "parked"):
        make(service, name, types=["scheduling.hold.*", "baremetal.node.*"])
    attempt = {
        "time": "2026-11-29T10:00:00Z",
        "status": 500,
        "duration": 0.5,
        "error": "It answered 500.",
        "event": "x",
    }
    set_columns(service, "parked", parked=True, failing_since=5.0, attempts=[attempt])
    happen(service, *(f"{number:08}-0000-4000-8000-000000000001" for number in range(3)))
    set_columns(service, "fine", number=3)
    with service.statements() as statements:
        rows = {row[0]: row[1:] for row in look(service, "/webhooks").rows("Webhooks")}
    assert len(statements) <= 5
    assert [rows[name][:2] for name in ("fine", "behind", "parked")] == [
        ["active", "0"],
        ["active", "at most 3"],
        ["parked", "at most 3"],
    ]
    assert rows["fine"][4] == "scheduling.hold.* and 1 more"
    assert "0.5 s: It answered 500." in rows["parked"][5]
    forget(service, 1)
    assert look(service, "/webhooks").rows("Webhooks")[2][2] == "events are lost"


def test_what_they_select(service: Service) -> None:
    uuid, rack = service.add_node("n1"), make_domain(service, "r1")
    make(service, "rack", domain="rack:r1")
    make(service, "both", types=["scheduling.hold.*"], nodes=[uuid], domain="rack:r1")
    rows = {row[0]: row[5] for row in look(service, "/webhooks").rows("Webhooks")}
    assert rows == {"rack": "all types in rack:r1", "both": "scheduling.hold.* of 1 node in rack:r1"}
    service.http.delete(f"/scheduling/v1/domains/{rack}")
    assert look(service, "/webhooks").rows("Webhooks")[0][5] == f"all types in {rack}"


def test_one_is_resumed(service: Service) -> None:
    uuid = make(service, "chat")
    set_columns(service, "chat", parked=True)
    page = service.http.get("/ui/webhooks").click("Resume …")
    assert "webhook, chat" in read(page).text
    assert confirmed(service, "resume webhook", f"webhook/{uuid}").status_int == 303
    assert service.http.get(f"{WEBHOOKS}/{uuid}").json["state"] == "active"


def test_one_is_tried(service: Service) -> None:
    with Receiver() as receiver, sending(service):
        uuid = make(service, "chat", receiver.url)
        for answer, words in ((answering(200), "has taken it"), (answering(500), "did not take it: It answered 500")):
            receiver.behave = answer
            done = confirmed(service, "test webhook", f"webhook/{uuid}")
            assert done.status_int == 303
            assert words in read(service.http.get("/ui/webhooks")).text


def test_those_of_others_are_not_there(secured: Service) -> None:
    secured.http.post_json(WEBHOOKS, {"url": "https://hooks.example.com/in", "name": "annas"}, headers=ANNA, status=201)
    other = {**ANNA, "X-Auth-Token": "bert:b"}
    assert "annas" in read(secured.http.get("/ui/webhooks", headers=ANNA)).text
    assert "There is no webhook." in read(secured.http.get("/ui/webhooks", headers=other)).text
