"""The history of a node: what was recorded, in order, gone with the node."""

import uuid

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import history, nodes
from baremetal_sched.db.models import NodeHistory
from tests.service import Service


def test_events_are_kept_in_order_with_the_states_of_the_node(service: Service) -> None:
    node = service.add_node("n1", power=False)

    def happen(session: Session) -> None:
        found = nodes.find_for_change(session, node)
        history.record(session, found, "first", event_type="provision", user="u", project="p")
        found.provision_state, found.target_provision_state = "cleaning", "available"
        history.record(session, found, "second", event_type="clean", severity="ERROR", conductor="c1", duration=1.5)

    service.database.write(happen)
    first, second = service.database.read(
        lambda session: session.scalars(select(NodeHistory).order_by(NodeHistory.id)).all()
    )
    assert (first.event, first.severity, first.user, first.project) == ("first", "INFO", "u", "p")
    assert (first.provision_state, first.target_provision_state) == ("available", None)
    assert (second.event, second.severity, second.conductor) == ("second", "ERROR", "c1")
    assert (second.provision_state, second.target_provision_state) == ("cleaning", "available")
    assert second.duration_seconds == 1.5
    assert uuid.UUID(first.uuid) != uuid.UUID(second.uuid)


def test_it_goes_with_the_node(service: Service) -> None:
    node = service.add_node("n1", power=False)
    service.database.write(
        lambda session: history.record(session, nodes.find(session, node), "something", event_type="provision")
    )
    service.baremetal("DELETE", f"/nodes/{node}")
    assert service.database.read(lambda session: session.scalars(select(NodeHistory.id)).all()) == []


def test_an_endless_event_is_cut(service: Service) -> None:
    node = service.add_node("n1", power=False)
    service.database.write(
        lambda session: history.record(session, nodes.find(session, node), "é" * 100_000, event_type="provision")
    )
    (event,) = service.database.read(lambda session: session.scalars(select(NodeHistory.event)).all())
    assert event == "é" * history.MAX_EVENT
