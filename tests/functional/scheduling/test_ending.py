# tier: first
"""At the end of a claim its machine goes back, as its owner would give it."""

from collections.abc import Iterator

import pytest
from sqlalchemy import select

from baremetal_sched.db.models import ServerAction
from baremetal_sched.placement.ends import ENDING, LATE, SET, End
from tests.database_clock import SettableClock, settable
from tests.functional.compute.world import boot, show
from tests.functional.scheduling.ended import (
    SPAN,
    Told,
    claim,
    end_of,
    give_end,
    held,
    history,
    state_of,
    stubborn,
    sweep,
)
from tests.service import Service

GOLD = "resources=CUSTOM_GOLD:1"


@pytest.fixture
def clock(service: Service) -> Iterator[SettableClock]:
    with settable(service.database) as clock:
        yield clock


@pytest.mark.parametrize("state", ["available", "manageable", "enroll"])
def test_a_machine_on_which_nothing_is_deployed_is_released_at_once(
    service: Service, clock: SettableClock, state: str
) -> None:
    node = service.add_node("n1")
    consumer, told = claim(service, node), Told(service)
    service.set_columns(node, provision_state=state)
    clock.step(SPAN - 10)
    sweep(service)
    assert (state_of(service, consumer), held(service, consumer)) == (SET, [node])
    clock.step(10)
    sweep(service)
    assert (state_of(service, consumer), held(service, consumer)) == (None, [])
    (event,) = told.next()
    assert (event["type"], event["subject"]) == ("scheduling.claim.ended", consumer)
    assert event["data"]["claim"] == {"uuid": consumer, "kind": "claim"}
    end = event["data"]["end"]
    assert (end["state"], end["node"], end["seconds"], end["reason"]) == (ENDING, node, None, None)
    assert service.candidates(GOLD) == ({node} if state == "available" else set())
    assert history(service, node) == [f"The claim {consumer} ended at {end['at']}. The node is given back."]


def test_the_node_of_a_claim_is_undeployed_and_cleaned_before_it_is_released(
    service: Service, clock: SettableClock
) -> None:
    node = service.add_node("n1")
    consumer, told = claim(service, node), Told(service)
    service.set_columns(node, provision_state="active", instance_uuid=consumer)
    clock.step(SPAN)
    sweep(service)
    assert (state_of(service, consumer), service.node(node)["provision_state"]) == (ENDING, "deleting")
    with service.statements() as seen:
        sweep(service)
    assert len(seen) == 3  # whether there is anything due, the conductors, and the ends: nothing of this one
    service.work()
    assert (service.node(node)["provision_state"], service.candidates(GOLD)) == ("available", set())
    assert held(service, consumer) == [node]
    sweep(service)
    assert (held(service, consumer), service.candidates(GOLD)) == ([], {node})
    assert told.types() == ["ended"]


def test_an_allocation_is_deleted_with_its_instance(service: Service, clock: SettableClock) -> None:
    nodes = [service.add_node(name) for name in ("n1", "n2")]
    uuids = [service.baremetal("POST", "/allocations", {"resource_class": "gold"}).json["uuid"] for _ in nodes]
    told = Told(service)
    active = service.baremetal("GET", f"/allocations/{uuids[0]}").json["node_uuid"]
    service.set_columns(active, provision_state="active")
    for uuid in uuids:
        give_end(service, uuid)
    clock.step(SPAN)
    sweep(service)
    service.work()
    assert service.baremetal("GET", "/allocations").json["allocations"] == []
    assert {service.node(node)["instance_uuid"] for node in nodes} == {None}
    assert service.candidates(GOLD) == {*nodes}
    assert told.types() == ["ended", "ended"]


def test_a_server_is_deleted(service: Service, clock: SettableClock) -> None:
    """Nova's lock does not stop it: its user gave the end."""
    node = service.add_node("n1")
    uuid = boot(service)["uuid"]
    service.work()
    give_end(service, uuid)
    service.compute("POST", f"/servers/{uuid}/action", {"lock": None})
    told = Told(service)
    clock.step(SPAN)
    sweep(service)
    assert (state_of(service, uuid), show(service, uuid)["task_state"]) == (ENDING, "deleting")
    action = service.database.read(
        lambda session: session.scalars(select(ServerAction).order_by(ServerAction.id.desc())).first()
    )
    assert action is not None
    assert (action.action, action.user_id) == ("delete", "")
    assert action.events[0]["details"].startswith(f"The claim {uuid} ended at ")
    service.work()
    assert (show(service, uuid), held(service, uuid)) == ({}, [])
    (event,) = told.next()
    assert (event["type"], event["data"]["claim"]) == ("scheduling.claim.ended", {"uuid": uuid, "kind": "server"})
    assert service.candidates(GOLD) == {node}


def test_a_machine_whose_deletion_fails_twice_is_neither_given_away_nor_forgotten(
    service: Service, clock: SettableClock
) -> None:
    node = service.add_node("n1")
    uuid = boot(service)["uuid"]
    service.work()
    give_end(service, uuid)
    told = Told(service)
    clock.step(SPAN)
    with stubborn():
        for pause in (5, 10):
            sweep(service)
            service.work()
            assert (state_of(service, uuid), service.node(node)["provision_state"]) == (ENDING, "error")
            sweep(service)
            end = end_of(service, uuid)
            assert end is not None
            assert (end.state, "does not answer" in (end.reason or "")) == (LATE, True)
            assert (held(service, uuid), service.candidates(GOLD)) == ([node], set())
            clock.step(pause - 1)
            sweep(service)
            assert state_of(service, uuid) == LATE
            clock.step(1)
    (event,) = told.next()
    assert event["type"] == "scheduling.claim.late"
    assert (event["data"]["end"]["node"], event["data"]["end"]["state"]) == (node, LATE)
    assert "does not answer" in event["data"]["end"]["reason"]
    why = f"The claim {uuid} ended at {event['data']['end']['at']}. "
    assert service.node(node)["last_error"].startswith(why)
    result, details = show(service, uuid)["actions"][0][1][-1]
    assert (result, details.startswith(why), "does not answer" in details) == ("Error", True, True)
    sweep(service)
    service.work()
    assert (show(service, uuid), service.candidates(GOLD)) == ({}, {node})
    assert told.types() == ["ended"]


def test_each_machine_of_a_claim_of_several_ends(service: Service, clock: SettableClock) -> None:
    nodes = [service.add_node(name) for name in ("n1", "n2")]
    body = {"query": GOLD, "count": 2, "for": SPAN}
    asked = service.http.post_json("/scheduling/v1/claims", body, status=201).json
    told = Told(service)
    clock.step(SPAN)
    sweep(service)
    assert service.candidates(GOLD) == {*nodes}
    events = told.next()
    assert [each["type"] for each in events] == ["scheduling.claim.ended"] * 2
    assert {each["subject"] for each in events} == {asked["uuid"]}
    assert {each["data"]["end"]["node"] for each in events} == {*nodes}


def test_what_is_no_node_is_released_at_once(service: Service, clock: SettableClock) -> None:
    pool = service.placement("POST", "/resource_providers", {"name": "pool"}).json["uuid"]
    service.placement("POST", f"/resource_providers/{pool}/inventories", {"resource_class": "VCPU", "total": 4})
    consumer, told = claim(service, pool, resource_class="VCPU"), Told(service)
    clock.step(SPAN)
    sweep(service)
    assert held(service, consumer) == []
    (event,) = told.next()
    assert (event["type"], event["data"]["end"]["node"]) == ("scheduling.claim.ended", None)


def test_a_machine_that_passed_to_a_consumer_of_placement_ends_with_it(service: Service, clock: SettableClock) -> None:
    nodes = [service.add_node(name) for name in ("n1", "n2")]
    consumer = claim(service, *nodes, end=End(seconds=SPAN))
    service.set_columns(nodes[0], provision_state="active")
    other = "3f2504e0-4f89-41d3-9a0c-0305e82c3399"
    common = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
    both = {node: {"resources": {"CUSTOM_GOLD": 1}} for node in nodes}
    passing = {
        consumer: {"allocations": {}, "consumer_generation": 1, **common},
        other: {"allocations": both, "consumer_generation": None, **common},
    }
    service.placement("POST", "/allocations", passing, status=204)
    told = Told(service)
    clock.step(SPAN)
    sweep(service)
    assert (state_of(service, other), service.node(nodes[0])["provision_state"]) == (ENDING, "deleting")
    service.work()
    sweep(service)
    assert (held(service, other), service.candidates(GOLD)) == ([], {*nodes})
    assert told.types() == ["ended", "ended"]


def test_whoever_releases_it_the_end_is_told(service: Service, clock: SettableClock) -> None:
    """An operator releases the claims of two nodes that are being undeployed, and deletes the third node."""
    nodes = [service.add_node(name) for name in ("n1", "n2", "n3")]
    first, second, third = (claim(service, node) for node in nodes)
    unended, told = claim(service, service.add_node("n4"), end=End(seconds=10 * SPAN)), Told(service)
    for node in nodes:
        service.set_columns(node, provision_state="active")
    clock.step(SPAN)
    with stubborn():
        sweep(service)
        service.placement("DELETE", f"/allocations/{first}", status=204)
        empty = {"allocations": {}, "consumer_generation": 1, "project_id": "p", "user_id": "u"}
        empty["consumer_type"] = "INSTANCE"
        service.placement("PUT", f"/allocations/{second}", empty, status=204)
        service.placement("DELETE", f"/allocations/{unended}", status=204)
        service.work()
        sweep(service)
    assert state_of(service, third) == LATE
    service.set_columns(nodes[2], maintenance=True)
    service.baremetal("DELETE", f"/nodes/{nodes[2]}", status=204)
    ended = [each["subject"] for each in told.next() if each["type"] == "scheduling.claim.ended"]
    assert ended == [first, second, third]
