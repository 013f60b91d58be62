# tier: first
"""Newcomers do not overtake: at every door, a free machine goes to the first waiting request that it satisfies."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from tests.functional.scheduling.test_handover import GOLD_A, held, state, wait
from tests.service import Service

_NONE = {"resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0"}


def _left_free(service: Service, *requests: Any, traits: tuple[str, ...] = ()) -> tuple[str, list[str]]:
    """Enrol a machine for which these wait, and which was not handed over; return both."""
    waiting = [wait(service, *each) for each in requests]
    handover, service.database.handover = service.database.handover, None
    node = service.add_node("n1", resource_class="gold", traits=traits)
    service.database.handover = handover
    assert {state(service, each) for each in waiting} == {"waiting"}
    return node, waiting


def _body(node: str) -> dict[str, Any]:
    resources = {node: {"resources": {"CUSTOM_GOLD": 1}}}
    consumer = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
    return {"allocations": resources, "consumer_generation": None, **consumer}


def _put(service: Service, node: str) -> bool:
    answer = service.placement("PUT", f"/allocations/{uuid.uuid4()}", _body(node), status="*")
    assert answer.status_int in (204, 409)
    if answer.status_int == 409:
        assert "Unable to allocate inventory" in answer.text
    return answer.status_int == 204


def _post(service: Service, node: str) -> bool:
    answer = service.placement("POST", "/allocations", {str(uuid.uuid4()): _body(node)}, status="*")
    assert answer.status_int in (204, 409)
    return answer.status_int == 204


def _reshape(service: Service, node: str) -> bool:
    other = service.placement("POST", "/resource_providers", {"name": "other"}).json["uuid"]
    inventories = {other: {"resource_provider_generation": 0, "inventories": {}}}
    body = {"inventories": inventories, "allocations": {str(uuid.uuid4()): _body(node)}}
    answer = service.placement("POST", "/reshaper", body, status="*")
    assert answer.status_int in (204, 409)
    return answer.status_int == 204


def _claim(service: Service, node: str) -> bool:
    body = {"query": "resources=CUSTOM_GOLD:1"}
    answer = service.http.post_json("/scheduling/v1/claims", body, status="*")
    assert answer.status_int in (201, 409)
    return answer.status_int == 201


def _claim_and_wait(service: Service, node: str) -> bool:
    body = {"query": "resources=CUSTOM_GOLD:1", "wait": 60}
    return service.http.post_json("/scheduling/v1/claims", body).status_int == 201


def _allocate(service: Service, node: str) -> bool:
    made = service.baremetal("POST", "/allocations", {"resource_class": "gold"}).json["uuid"]
    return bool(service.baremetal("GET", f"/allocations/{made}").json["state"] == "active")


def _boot(service: Service, node: str) -> bool:
    service.add_flavor("bm", id="bm", specs={"resources:CUSTOM_GOLD": "1", **_NONE})
    image = service.http.post_json("/image/v2/images", {"name": "i", "container_format": "bare", "disk_format": "raw"})
    path = f"/image/v2/images/{image.json['id']}/file"
    service.http.put(path, b"", {"Content-Type": "application/octet-stream"})
    body = {"name": "s", "flavorRef": "bm", "imageRef": image.json["id"], "networks": "none"}
    made = service.compute("POST", "/servers", {"server": body}).json["server"]["id"]
    return bool(service.compute("GET", f"/servers/{made}").json["server"]["status"] != "ERROR")


_DOORS = (_put, _post, _reshape, _claim, _claim_and_wait, _allocate, _boot)


@pytest.mark.parametrize("newcomer", _DOORS)
def test_a_machine_is_handed_over_before_a_newcomer_gets_it(
    served: Service, newcomer: Callable[[Service, str], bool]
) -> None:
    """Guide: 'No request overtakes: a free machine is first given to the first waiting request that it satisfies.'
    The newcomer finds it taken."""
    node, (picky, first, second) = _left_free(served, (GOLD_A,), (), ())
    assert not newcomer(served, node)
    assert held(served, first) == [node]
    assert (state(served, picky), state(served, second)) == ("waiting", "waiting")


@pytest.mark.parametrize("newcomer", _DOORS)
def test_a_newcomer_gets_what_fits_nobody_who_waits(served: Service, newcomer: Callable[[Service, str], bool]) -> None:
    """Guide: 'If the machine satisfies no waiting request, the new one gets it.'"""
    node, (picky,) = _left_free(served, (GOLD_A,))
    assert newcomer(served, node)
    assert state(served, picky) == "waiting"


@pytest.mark.parametrize("newcomer", [_claim, _allocate, _boot])
def test_a_newcomer_looks_for_the_next_machine(served: Service, newcomer: Callable[[Service, str], bool]) -> None:
    """Guide: 'They continue as if the machine had just been taken: they get the next one, wait, or fail.'"""
    node, (first,) = _left_free(served, ())
    handover, served.database.handover = served.database.handover, None
    served.add_node("n2", resource_class="gold")
    served.database.handover = handover
    assert newcomer(served, node)
    assert len(held(served, first)) == 1


def test_what_is_below_a_machine_is_handed_over_with_it(served: Service) -> None:
    node, (first,) = _left_free(served, ())
    child = {"name": "child", "parent_provider_uuid": node}
    handover, served.database.handover = served.database.handover, None
    below = served.placement("POST", "/resource_providers", child).json["uuid"]
    stock = {"resource_class": "CUSTOM_GOLD", "total": 2}
    served.placement("POST", f"/resource_providers/{below}/inventories", stock)
    served.database.handover = handover
    body = _body(below)
    served.placement("PUT", f"/allocations/{uuid.uuid4()}", body, status=409)
    assert held(served, first) == [node]


def test_a_claim_takes_no_statement_more_where_nobody_waits(served: Service) -> None:
    wait(served)  # for another class
    node = served.add_node("n1", resource_class="silver")
    with served.statements() as statements:
        served.claim(str(uuid.uuid4()), node, "CUSTOM_SILVER")
    assert len(statements) == {"sqlite": 5, "postgresql": 1}.get(served.database.engine.dialect.name, 4)


def test_beyond_what_is_tested_a_newcomer_may_be_faster(database_url: str) -> None:
    """Guide: 'Until then a new claim may overtake one that waits.' With more different requests than
    ``most_tested`` the machine is left to the sweep, or to a newcomer."""
    with Service(database_url, scheduling={"most_tested": 1}) as service:
        service.add_conductor("r1")
        beside = TreeRequest(f"resources=CUSTOM_GOLD:1&in_tree={uuid.uuid4()}", served=False, version=39)
        node, (_, later) = _left_free(service, (beside,), ())
        assert _put(service, node)
        assert state(service, later) == "waiting"
