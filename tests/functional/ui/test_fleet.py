# tier: first
"""The page of the fleet."""

import html
import re
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import update

from baremetal_sched.db.clock import epoch, utcnow
from baremetal_sched.db.models import Conductor, Webhook
from baremetal_sched.scheduling import capacity_history
from tests.functional.ui.pages import Document, look, read
from tests.service import ADMINISTRATOR, Service

STATES = "Nodes by provision state"
CLASSES = "Nodes by resource class"
UNSERVED = "Conductor groups with nodes that no live conductor serves"

HOSTILE = "<script>alert(1)</script>\u202e&amp;"


def figures(document: Document) -> dict[str, str]:
    """The numbers at the top."""
    return document.terms


def test_an_empty_fleet(database_url: str) -> None:
    with Service(database_url) as service:
        document = look(service)
    assert "There are no nodes yet" in document.text
    assert "No conductor is alive" in document.text
    assert figures(document)["Nodes"] == "0"
    assert document.rows(STATES) == [["No nodes."]]


def test_a_fleet(service: Service) -> None:
    service.add_conductor("c2", "rack1")
    for name in ("n1", "n2", "n3"):
        service.add_node(name)
    service.add_node("n4", resource_class="silver", conductor_group="rack1")
    service.add_node("n5", resource_class=None, power=False)
    service.baremetal("PUT", "/nodes/n2/maintenance", {"reason": "disk"})
    service.set_columns(service.node("n4")["uuid"], provision_state="clean failed")
    service.set_columns(service.node("n3")["uuid"], instance_uuid="11111111-0000-4000-8000-000000000001")
    document = look(service)
    assert figures(document) == {
        "Nodes": "5",
        "Free": "1",
        "Allocated": "1",
        "Unavailable": "3",
        "Conductors alive": "2 of 2",
    }
    assert document.rows(STATES) == [["available", "4", "1"], ["clean failed", "1", "0"]]
    assert document.rows(CLASSES) == [
        ["gold", "3", "1", "1", "1", "maintenance: 1"],
        ["(none)", "1", "0", "0", "1", "resource class: 1"],
        ["silver", "1", "0", "0", "1", "clean failed: 1"],
    ]
    assert "Every node has a live conductor." in document.text
    service.database.write(
        lambda session: session.execute(update(Conductor).where(Conductor.hostname == "c2").values(heartbeat_at=0))
    )
    document = look(service)
    assert document.rows(UNSERVED) == [["rack1", "fake-hardware", "1", "1"]]
    assert figures(document)["Not served"] == "1"
    assert figures(document)["Conductors alive"] == "1 of 2"


ATTENTION = "What needs attention, the worst first"
FAILURES = "Nodes that failed last"


def test_what_needs_attention_comes_first_and_leads_to_the_nodes(service: Service) -> None:
    for name in ("n1", "n2", "n3", "n4", "fine"):
        service.add_node(name)
    assert ATTENTION not in look(service).tables
    long_ago, today = datetime(2020, 1, 1), utcnow()
    changes: dict[str, dict[str, Any]] = {
        "n1": {"provision_state": "deploy failed", "last_error": "The disk is full.", "provision_updated_at": today},
        "n2": {"fault": "power failure", "maintenance": True, "provision_updated_at": long_ago},
        "n3": {"provision_state": "clean wait", "provision_updated_at": long_ago},
        "n4": {"provision_state": "clean wait", "provision_updated_at": today},
    }
    for name, columns in changes.items():
        service.set_columns(service.node(name)["uuid"], **columns)
    service.add_conductor("c2", "rack1")
    service.database.write(
        lambda session: session.execute(update(Conductor).where(Conductor.hostname == "c2").values(heartbeat_at=0))
    )
    document = look(service)
    rows = document.rows(ATTENTION)
    assert [row[:2] for row in rows[:3]] == [
        ["power failure", "1"],
        ["deploy failed", "1"],
        ["clean wait for more than an hour", "1"],
    ]
    assert "Possible now" in rows[1][2]
    assert rows[3][0].startswith("Conductor c2 is gone")
    assert all(row[2] for row in rows)
    assert [(row[0], row[3]) for row in document.rows(FAILURES)] == [("n1", "The disk is full."), ("n2", "none")]
    for query, name in (
        ("fault=", "n2"),
        ("failed=true", "n1"),
        ("failed_since=today", "n1"),
        ("failed_since=yesterday", "n1"),
        ("stuck=true", "n3"),
    ):
        (link,) = {each for each in document.links() if query in each and "provision_state=deploy+failed" not in each}
        assert name in look(service, link.removeprefix("/ui")).text


def test_webhooks_that_are_parked_need_attention(service: Service) -> None:
    body = {"url": "https://hooks.example.com/s3cret", "name": "chat"}
    uuid = service.http.post_json("/scheduling/v1/webhooks", body, status=201).json["uuid"]
    assert ATTENTION not in look(service).tables
    failing = {"failing_since": epoch() - 400, "last_error": "It answered 500."}
    service.database.write(lambda session: session.execute(update(Webhook).values(failing)))
    ((what, _, remedy),) = look(service).rows("What needs attention, the worst first")
    assert what == "Webhook chat has failed for 6 min. It answered 500."
    assert "parked after a day" in remedy
    parked = {"parked": True, "last_error": "It answered 503."}
    service.database.write(lambda session: session.execute(update(Webhook).values(parked)))
    ((what, _, remedy),) = look(service).rows(ATTENTION)
    assert what == "Webhook chat is parked. It answered 503."
    assert f"openstack scheduling webhook resume {uuid}" in remedy
    assert "s3cret" not in look(service).text


def test_every_number_leads_to_as_many_nodes(service: Service) -> None:
    for name in ("n1", "n2", "n3"):
        service.add_node(name)
    service.add_node("n4", resource_class="silver", power=False)
    service.baremetal("PUT", "/nodes/n2/maintenance", {"reason": "disk"})
    service.set_columns(service.node("n3")["uuid"], instance_uuid="11111111-0000-4000-8000-000000000001")
    answer = service.http.get("/ui/")
    for link, number in re.findall(r'<a href="/ui(/nodes[^"]*)">([0-9,]+)</a>', answer.text):
        counted = look(service, html.unescape(link)).text
        assert f"{number} node " in counted or f"{number} nodes " in counted, link


def test_hostile_names_are_texts(service: Service) -> None:
    service.add_node("n1", resource_class="x", power=False)
    service.set_columns(service.node("n1")["uuid"], resource_class=HOSTILE, conductor_group=HOSTILE, driver=HOSTILE)
    document = look(service)
    assert document.rows(CLASSES)[0][0] == HOSTILE
    assert document.rows(UNSERVED)[0][:2] == [HOSTILE, HOSTILE]
    assert ("bdi", HOSTILE) in document.texts


def test_neither_the_statements_nor_the_rows_depend_on_the_fleet(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baremetal_sched.ui.fleet.MOST_ROWS", 2)
    for nodes in range(6):
        if nodes in (0, 1, 5):
            with service.statements() as statements:
                document = look(service)
            assert len(statements) == 13
        service.add_node(f"n{nodes}", resource_class=f"class{nodes}", power=False)
    assert len(document.rows(CLASSES)) == 2
    assert "And 3 more classes." in document.text


ADMIN = {"X-Auth-Token": "admin", "X-Roles": "admin,reader", "OpenStack-System-Scope": "all"}


def test_tenants_see_their_own_machines(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("conductor-of-operators")
        bert = service.add_node("bert", owner="b", resource_class="secret-class", power=False)
        service.set_columns(bert, conductor_group="secret-group")
        service.add_node("leased", owner="b", lessee="a")
        service.add_node("nobody", resource_class="secret-class")
        everything = look(service, **ADMIN)
        assert figures(everything)["Nodes"] == "3"
        assert everything.rows(UNSERVED) == [["secret-group", "fake-hardware", "1", "1"]]
        anna = {"X-Auth-Token": "anna:a", "X-Roles": "reader"}
        own = look(service, **anna)
        assert figures(own) == {"Nodes": "1", "Free": "1", "Allocated": "0", "Unavailable": "0"}
        assert own.rows(CLASSES) == [["gold", "1", "1", "0", "0", ""]]
        assert "secret" not in own.text
        assert "conductor-of" not in own.text
        # An administrator of a project is no administrator of the system: as in the lists of nodes.
        boss = look(service, **{"X-Auth-Token": "boss:c", "X-Roles": "admin,reader"})
        assert figures(boss)["Nodes"] == "0"
        assert "secret" not in boss.text
        refused = look(service, "/", 403, **{"X-Auth-Token": "u:a", "X-Roles": "other"})
        assert "baremetal:node:list" in refused.text
        look(service, "/", 401)


def test_the_last_day_of_the_largest_classes(service: Service) -> None:
    assert "The last day" not in look(service, "/").text
    for number in range(7):
        for _ in range(number + 1):
            service.add_node(resource_class=f"class-{number}")
    assert "The last day" not in look(service, "/").text  # nothing is made up
    service.database.change(capacity_history.write)
    rows = look(service, "/").rows("The classes with most machines over the last day")
    assert [row[:4] for row in rows] == [[f"class-{number}", *[str(number + 1)] * 2, "0"] for number in (6, 5, 4, 3, 2)]
    assert "At the last count 7 free, 0 in use" in rows[0][4]
    service.http.post_json("/scheduling/v1/claims", {"resource_class": "class-6"}, status=201)
    rows = look(service, "/").rows("The classes with most machines over the last day")
    assert rows[0][:4] == ["class-6", "6", "6", "0"]


def test_the_last_day_is_for_those_who_see_all_capacity(secured: Service) -> None:
    secured.add_node("n1", owner="a")
    secured.database.change(capacity_history.write)
    member = {"X-Auth-Token": "anna:a", "X-Roles": "member,reader"}
    assert "The last day" in read(secured.http.get("/ui/", headers=ADMINISTRATOR)).text
    assert "The last day" not in read(secured.http.get("/ui/", headers=member)).text
