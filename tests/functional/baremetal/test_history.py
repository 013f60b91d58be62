"""The history of a node: what was recorded, in order, gone with the node."""

import uuid
from datetime import timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import history
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db import requester
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import NodeHistory
from baremetal_sched.db.requester import UNKNOWN, Requester
from tests.service import Service


def test_events_are_kept_in_order_with_the_states_of_the_node(service: Service) -> None:
    node = service.add_node("n1", power=False)

    def happen(session: Session) -> None:
        found = nodes.find_for_change(session, node)
        requester.attach(session, Requester("req-1", "u", "p"))
        history.record(session, found, "first", event_type="provision")
        requester.attach(session, UNKNOWN)
        found.provision_state, found.target_provision_state = "cleaning", "available"
        history.record(session, found, "second", event_type="clean", severity="ERROR", conductor="c1", duration=1.5)

    service.database.write(happen)
    first, second = service.database.read(
        lambda session: session.scalars(select(NodeHistory).order_by(NodeHistory.id)).all()
    )
    assert (first.event, first.severity, first.user, first.project) == ("first", "INFO", "u", "p")
    assert (first.state, first.target_provision_state) == ("available", None)
    assert (second.event, second.severity, second.conductor) == ("second", "ERROR", "c1")
    assert (second.state, second.target_provision_state) == ("cleaning", "available")
    assert second.duration_seconds == 1.5
    assert uuid.UUID(first.uuid) != uuid.UUID(second.uuid)


def test_it_goes_with_the_node(service: Service) -> None:
    node = service.add_node("n1", power=False)
    service.database.write(
        lambda session: history.record(session, nodes.find(session, node), "something", event_type="provision")
    )
    service.baremetal("DELETE", f"/nodes/{node}")
    assert service.database.read(lambda session: session.scalars(select(NodeHistory.id)).all()) == []


def test_it_goes_with_the_node_in_the_same_transaction(service: Service) -> None:
    node = service.add_node("n1", power=False)

    def work(session: Session) -> None:
        found = nodes.find(session, node)
        history.record(session, found, "something", event_type="provision")
        session.delete(found)

    service.database.write(work)
    assert service.database.read(lambda session: session.scalars(select(NodeHistory.id)).all()) == []


def test_an_endless_event_is_cut(service: Service) -> None:
    node = service.add_node("n1", power=False)
    service.database.write(
        lambda session: history.record(session, nodes.find(session, node), "é" * 100_000, event_type="provision")
    )
    (event,) = service.database.read(lambda session: session.scalars(select(NodeHistory.event)).all())
    assert event == "é" * history.MAX_EVENT


def add_events(service: Service, node: str, *events: str) -> list[str]:
    """UUIDs of new events of the node."""

    def happen(session: Session) -> None:
        found = nodes.find_for_change(session, node)
        requester.attach(session, Requester(project_id="p"))
        for event in events:
            history.record(session, found, event, event_type="power", severity="ERROR", conductor="c1", duration=2.7)

    service.database.write(happen)
    return [
        uuid
        for (uuid,) in service.database.read(
            lambda session: session.execute(
                select(NodeHistory.uuid).where(NodeHistory.event.in_(events)).order_by(NodeHistory.id)
            ).all()
        )
    ]


def test_the_list_is_short_unless_detail_is_asked_for(service: Service) -> None:
    node = service.add_node("n1", power=False)
    uuid, long = add_events(service, node, "something", "x" * 256)
    add_events(service, service.add_node("n2", power=False), "elsewhere")
    first, second = service.baremetal("GET", "/nodes/n1/history").json["history"]
    href = f"http://localhost/baremetal/v1/nodes/{node}/history/{uuid}"
    assert first == {
        "uuid": uuid,
        "created_at": first["created_at"],
        "severity": "ERROR",
        "event": "something",
        "links": [{"href": href, "rel": "self"}],
    }
    assert second["event"] == "x" * 252 + "..."
    first, second = service.baremetal("GET", "/nodes/n1/history?detail=true").json["history"]
    assert first == {
        "uuid": uuid,
        "created_at": first["created_at"],
        "severity": "ERROR",
        "event_type": "power",
        "event": "something",
        "conductor": "c1",
        "user": None,
        "project": "p",
        "state": "available",
        "target_provision_state": None,
        "duration_seconds": 2,
        "links": [{"href": href, "rel": "self"}],
    }
    assert second["event"] == "x" * 256
    assert service.baremetal("GET", f"/nodes/{node}/history/{long}").json == second


def test_events_of_other_nodes_are_not_found(service: Service) -> None:
    node = service.add_node("n1", power=False)
    (elsewhere,) = add_events(service, service.add_node("n2", power=False), "elsewhere")
    for path, status in (
        (f"/nodes/{node}/history/{elsewhere}", 404),
        (f"/nodes/n2/history/{uuid.uuid4()}", 404),
        ("/nodes/n2/history/x", 404),
        ("/nodes/n2/history/x%20y", 400),
        ("/nodes/nosuch/history", 404),
        (f"/nodes/nosuch/history/{elsewhere}", 404),
        ("/nodes/n2/history?fields=uuid", 400),
        (f"/nodes/n2/history/{elsewhere}?detail=true", 400),
        ("/nodes/n2/history?sort_key=nosuch", 400),
        (f"/nodes/n2/history?marker={uuid.uuid4()}", 404),
    ):
        service.baremetal("GET", path, status=status)


def test_pages_in_the_order_of_events(service: Service) -> None:
    node = service.add_node("n1", power=False)
    uuids = add_events(service, node, "a", "c", "b")
    page = service.baremetal("GET", "/nodes/n1/history?limit=2&detail=yes").json
    assert [event["uuid"] for event in page["history"]] == uuids[:2]
    assert page["next"].startswith("http://localhost/baremetal/v1/nodes/n1/history?")
    rest = service.http.get(page["next"], headers={"X-OpenStack-Ironic-API-Version": "1.115"}).json
    assert [(event["uuid"], event["event_type"]) for event in rest["history"]] == [(uuids[2], "power")]
    assert "next" not in rest
    page = service.baremetal("GET", "/nodes/n1/history?sort_key=event&sort_dir=desc").json
    assert [event["event"] for event in page["history"]] == ["c", "b", "a"]


def test_fields_by_microversion(service: Service) -> None:
    node = service.add_node("n1", power=False)
    (event,) = add_events(service, node, "a")
    service.baremetal("GET", "/nodes/n1/history", version="1.77", status=404)
    service.baremetal("GET", f"/nodes/n1/history/{event}", version="1.77", status=404)
    newer: set[str] = set()
    shown = set(service.baremetal("GET", f"/nodes/n1/history/{event}").json)
    for version, added in (
        ("1.115", {"state", "target_provision_state", "duration_seconds"}),
        ("1.114", {"project"}),
        ("1.112", set()),
    ):
        (listed,) = service.baremetal("GET", "/nodes/n1/history?detail=true", version=version).json["history"]
        assert set(listed) == shown - newer
        assert set(service.baremetal("GET", f"/nodes/n1/history/{event}", version=version).json) == shown - newer
        newer |= added


def test_what_takes_no_time_says_how_long_the_node_was_in_its_state(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = service.add_node("n1", power=False)
    now = utcnow()
    monkeypatch.setattr(history, "utcnow", lambda: now)
    since = now - timedelta(seconds=90)
    for provision_updated_at in (None, since):
        service.set_columns(node, provision_updated_at=provision_updated_at)
        service.database.write(
            lambda session: history.record(session, nodes.find(session, node), "something", event_type="power")
        )
    first, second = service.baremetal("GET", "/nodes/n1/history?detail=true").json["history"]
    assert first["duration_seconds"] is None
    assert second["duration_seconds"] == 90
