"""A UUID belongs to one kind of request in one project from the moment at which it waits, at every door; and a request
gives back only what it was given."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import update

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.models import Consumer, WaitingRequest
from baremetal_sched.placement import waiting_requests
from baremetal_sched.scheduling import sweep
from tests.functional.compute.test_waiting_requests import Waiting
from tests.service import Service
from tests.unchanged import unchanged

CLAIMS = "/scheduling/v1/claims"
UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
OTHER = "3f2504e0-4f89-41d3-9a0c-0305e82c3302"
WAIT = {"Prefer": "allocation-wait=600"}


def claim(service: Service, uuid: str = UUID, *, wait: int = 0, status: int) -> Any:
    body = {"query": "resources=CUSTOM_GOLD:1", "wait": wait, "consumer": {"uuid": uuid, "project_id": "p"}}
    return service.http.post_json(CLAIMS, body, status=status).json


def amounts(provider: str, name: str = "CUSTOM_GOLD", generation: int | None = None) -> dict[str, Any]:
    given = {provider: {"resources": {name: 1}}}
    owner = {"project_id": "others", "user_id": "others", "consumer_type": "INSTANCE"}
    return {"allocations": given, "consumer_generation": generation, **owner}


def add_host(service: Service, name: str) -> str:
    """A provider that is no machine; returns its UUID."""
    uuid: str = service.placement("POST", "/resource_providers", {"name": name}).json["uuid"]
    stock = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}
    service.placement("PUT", f"/resource_providers/{uuid}/inventories", stock)
    return uuid


def end(service: Service, uuid: str) -> None:
    """The request has waited in vain."""
    late = update(WaitingRequest).where(WaitingRequest.uuid == uuid).values(deadline=1.0)
    service.database.write(lambda session: session.execute(late) and None)
    sweep.sweep(service.database, service.app.settings, "r1", lambda *_: True)


def wait_as_claim(service: Service) -> str:
    claim(service, wait=600, status=202)
    return UUID


def wait_as_allocation(service: Service) -> str:
    body = {"uuid": UUID, "resource_class": "gold"}
    made = service.baremetal("POST", "/allocations", body, headers=WAIT).json
    assert made["state"] == "allocating"
    return UUID


def wait_as_server(service: Service) -> str:
    return Waiting(service).uuid


KINDS = {"claim": wait_as_claim, "allocation": wait_as_allocation, "server": wait_as_server}


@pytest.mark.parametrize("kind", KINDS)
def test_no_other_request_takes_the_uuid_of_one_that_waits(
    served: Service, kind: str, subtests: pytest.Subtests
) -> None:
    """ "A UUID belongs to one request from the moment at which it waits: to a claim, an allocation or a server of one
    project. No other request takes it, through any API: 409."
    """
    taken = served.add_node("taken") if kind != "server" else None
    if taken is not None:
        served.claim(OTHER, taken)
    uuid = KINDS[kind](served)
    host, plain = served.add_node("host", resource_class="silver"), add_host(served, "vms")
    shape = {plain: {"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 8}}}}
    with unchanged(served):
        doors: dict[str, Callable[[], Any]] = {
            "PUT allocations": lambda: served.placement(
                "PUT", f"/allocations/{uuid}", amounts(plain, "VCPU"), status=409
            ),
            "PUT allocations before consumers had generations": lambda: served.placement(
                "PUT",
                f"/allocations/{uuid}",
                {name: amounts(plain, "VCPU")[name] for name in ("allocations", "project_id", "user_id")},
                version="1.12",
                status=409,
            ),
            "PUT no allocations": lambda: served.placement(
                "PUT", f"/allocations/{uuid}", {**amounts(plain), "allocations": {}}, status=409
            ),
            "POST allocations": lambda: served.placement(
                "POST", "/allocations", {uuid: amounts(plain, "VCPU")}, status=409
            ),
            "a generation that is not to be known": lambda: served.placement(
                "PUT", f"/allocations/{uuid}", amounts(plain, "VCPU", 0), status=409
            ),
            "reshaper": lambda: served.placement(
                "POST", "/reshaper", {"inventories": shape, "allocations": {uuid: amounts(plain, "VCPU")}}, status=409
            ),
            "another claim": lambda: served.http.post_json(
                CLAIMS, {"query": "resources=VCPU:1", "consumer": {"uuid": uuid}}, status=409
            ),
            "an allocation": lambda: served.baremetal(
                "POST", "/allocations", {"uuid": uuid, "resource_class": "silver"}, status=409
            ),
            "an allocation that waits": lambda: served.baremetal(
                "POST", "/allocations", {"uuid": uuid, "resource_class": "bronze"}, headers=WAIT, status=409
            ),
            "an allocation that fails": lambda: served.baremetal(
                "POST", "/allocations", {"uuid": uuid, "resource_class": "bronze"}, status=409
            ),
            "the instance of a node": lambda: served.baremetal(
                "PATCH", f"/nodes/{host}", [{"op": "add", "path": "/instance_uuid", "value": uuid}], status=409
            ),
        }
        for name, ask in doors.items():
            with subtests.test(msg=name):
                ask()
    assert served.database.snapshot(audit) == []


def test_the_uuid_of_what_waits_in_vain_is_free_again(served: Service) -> None:
    """ "When the request has ended without a machine, the UUID is free." """
    """Guide: 'When the request has ended without a machine, the UUID is free.'"""
    node = served.add_node("n1")
    served.claim(OTHER, node)
    claim(served, wait=600, status=202)
    end(served, UUID)
    served.placement("PUT", f"/allocations/{UUID}", amounts(add_host(served, "vms"), "VCPU"))
    shown = served.http.get(f"{CLAIMS}/{UUID}").json
    assert (shown["state"], shown["allocations"]) == ("timed_out", {})
    # Nothing of it is the claim's.
    served.http.delete(f"{CLAIMS}/{UUID}", status=204)
    assert served.placement("GET", f"/allocations/{UUID}").json["allocations"] != {}
    served.placement("DELETE", f"/allocations/{UUID}")
    wait_as_allocation(served)
    served.baremetal("DELETE", f"/allocations/{UUID}")
    claim(served, wait=600, status=202)
    served.http.delete(f"{CLAIMS}/{UUID}", status=204)
    wait_as_allocation(served)
    assert served.database.snapshot(audit) == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_waited_is_given_the_machine_under_its_uuid(served: Service, kind: str) -> None:
    if kind == "server":
        waiting = Waiting(served)
        uuid, node = waiting.uuid, waiting.node
        served.compute("DELETE", f"/servers/{waiting.before}")
        served.work()
    else:
        node = served.add_node("n1")
        served.claim(OTHER, node)
        uuid = KINDS[kind](served)
        served.placement("DELETE", f"/allocations/{OTHER}")
    held = served.placement("GET", f"/allocations/{uuid}").json
    assert (list(held["allocations"]), held["consumer_generation"]) == ([node], 1)
    assert served.database.snapshot(audit) == []


def test_a_claim_gives_back_only_what_it_was_given(served: Service, subtests: pytest.Subtests) -> None:
    """ "Deleting a claim gives back only what the claim itself was given." """

    def given_again(node: str) -> None:
        served.placement("DELETE", f"/allocations/{UUID}")
        served.placement("PUT", f"/allocations/{UUID}", amounts(node))

    def given_another(node: str) -> None:
        served.placement("PUT", f"/allocations/{UUID}", amounts(served.add_node("n2"), generation=1))

    def moved(node: str) -> None:
        empty = {**amounts(node), "allocations": {}, "consumer_generation": 1}
        served.placement("POST", "/allocations", {UUID: empty, OTHER: amounts(node)})

    for change, state in ((given_again, "released"), (given_another, "claimed"), (moved, "released")):
        with subtests.test(msg=change.__name__):
            node = served.add_node("n1")
            claim(served, status=201)
            change(node)
            assert served.http.get(f"{CLAIMS}/{UUID}").json["state"] == state
            before = [served.placement("GET", f"/allocations/{uuid}").json["allocations"] for uuid in (UUID, OTHER)]
            assert any(before)
            served.http.delete(f"{CLAIMS}/{UUID}", status=204)
            after = [served.placement("GET", f"/allocations/{uuid}").json["allocations"] for uuid in (UUID, OTHER)]
            assert after == before
            for uuid in (UUID, OTHER):
                served.placement("DELETE", f"/allocations/{uuid}", status="*")
            for each in served.baremetal("GET", "/nodes").json["nodes"]:
                served.baremetal("DELETE", f"/nodes/{each['uuid']}")


def test_a_server_gives_back_nothing_of_another_request(served: Service) -> None:
    """A server without a machine is deleted, and something else has its UUID."""
    uuid = wait_as_server(served)
    end(served, uuid)
    served.add_node("n2")
    claim(served, uuid, status=201)
    served.compute("DELETE", f"/servers/{uuid}")
    assert served.placement("GET", f"/allocations/{uuid}").json["allocations"] != {}


def test_a_claim_of_the_release_before_is_given_back(served: Service) -> None:
    served.add_node("n1")
    claim(served, status=201)
    served.database.write(lambda session: session.execute(update(Consumer).values(request_kind=None)) and None)
    assert served.http.get(f"{CLAIMS}/{UUID}").json["state"] == "claimed"
    served.http.delete(f"{CLAIMS}/{UUID}", status=204)
    assert served.candidates("resources=CUSTOM_GOLD:1")


def test_a_claim_that_began_to_wait_with_the_release_before_is_served(
    served: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = served.add_node("n1")
    served.claim(OTHER, node)
    monkeypatch.setattr(waiting_requests, "RESERVING_REVISION", "9999")
    monkeypatch.setattr("baremetal_sched.db.schema_state.is_since", lambda release, revision: revision != "9999")
    claim(served, wait=600, status=202)
    served.placement("DELETE", f"/allocations/{OTHER}")
    assert list(served.http.get(f"{CLAIMS}/{UUID}").json["allocations"]) == [node]


def test_the_audit_finds_an_allocation_without_a_claim(served: Service) -> None:
    node = served.add_node("n1")
    uuid = served.baremetal("POST", "/allocations", {"resource_class": "gold"}).json["uuid"]
    assert served.database.snapshot(audit) == []
    served.placement("DELETE", f"/allocations/{uuid}")
    found = f"allocation {uuid}: it is active, but has no claim on node {node} in placement"
    assert served.database.snapshot(audit) == [found]


def test_the_audit_finds_a_uuid_that_is_reserved_for_nothing(served: Service) -> None:
    served.claim(OTHER, served.add_node("n1"))
    claim(served, wait=600, status=202)
    served.database.write(lambda session: session.delete(waiting_requests.find(session, UUID)))
    assert served.database.snapshot(audit) == [f"claim {UUID}: its UUID is reserved, but it does not wait"]
