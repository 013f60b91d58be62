"""The server aborts a transaction within a savepoint, at each statement in turn: it is repeated, and nothing shows."""

import uuid
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from tests.interleaving import aborted_within_savepoint
from tests.service import Service


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with Service(database_url) as running:
        running.add_conductor("c1")
        yield running


def _claim(service: Service, number: int) -> str:
    """A claim of the scheduling API waits; return its UUID."""
    body = {"query": f"resources=CUSTOM_GOLD{number}:1", "wait": 600, "consumer": {"uuid": str(uuid.uuid4())}}
    return str(service.http.post_json("/scheduling/v1/claims", body, status=202).json["consumer"]["uuid"])


def _allocation(service: Service, number: int) -> str:
    body = {"uuid": str(uuid.uuid4()), "resource_class": f"gold{number}"}
    service.baremetal("POST", "/allocations", body, headers={"Prefer": "allocation-wait=600"})
    return body["uuid"]


def _server(service: Service, number: int, **more: Any) -> str:
    specs = {f"resources:CUSTOM_GOLD{number}": "1", "resources:VCPU": "0", "resources:MEMORY_MB": "0"}
    service.add_flavor(f"bm{number}", id=f"gold{number}", specs={**specs, "resources:DISK_GB": "0"})
    body = {"name": f"s{number}", "flavorRef": f"gold{number}", "imageRef": _image(service), "networks": "none"}
    hints = {} if more else {"os:scheduler_hints": {"wait": "600"}}
    answer = service.compute("POST", "/servers", {"server": {**body, **more}, **hints})
    return str(answer.json["server"]["id"])


def _image(service: Service) -> str:
    body = {"name": "image", "container_format": "bare", "disk_format": "raw"}
    image = service.http.post_json("/image/v2/images", body).json["id"]
    service.http.put(f"/image/v2/images/{image}/file", b"", {"Content-Type": "application/octet-stream"})
    return str(image)


def _holders(service: Service, node: str) -> list[str]:
    return list(service.placement("GET", f"/resource_providers/{node}/allocations").json["allocations"])


@pytest.mark.parametrize("wait", [_claim, _allocation, _server])
def test_a_release_hands_over(service: Service, wait: Callable[[Service, int], str]) -> None:
    def story(number: int) -> Callable[[], None]:
        node, holder = service.add_node(f"n{number}", resource_class=f"gold{number}"), str(uuid.uuid4())
        service.claim(holder, node, f"CUSTOM_GOLD{number}")
        waiting = wait(service, number)

        def act() -> None:
            service.placement("DELETE", f"/allocations/{holder}", status=204)
            assert _holders(service, node) == [waiting]

        return act

    assert _abort_everywhere(service, story) > 5


def test_the_end_of_cleaning_hands_over(service: Service) -> None:
    """A conductor repeats its write, and the node is not marked as failed."""

    def story(number: int) -> Callable[[], None]:
        node = service.add_node(f"n{number}", resource_class=f"gold{number}")
        service.set_columns(node, provision_state="active")
        waiting = _claim(service, number)
        service.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": "deleted"})

        def act() -> None:
            service.work()
            found = service.node(node)
            assert (found["provision_state"], found["last_error"]) == ("available", None)
            assert _holders(service, node) == [waiting]

        return act

    assert _abort_everywhere(service, story) > 5


def test_servers_that_are_requested_together_are_built(service: Service) -> None:
    def story(number: int) -> Callable[[], None]:
        nodes = [service.add_node(f"n{number}{letter}", resource_class=f"gold{number}") for letter in "ab"]

        def act() -> None:
            _server(service, number, min_count=2)
            assert all(len(_holders(service, node)) == 1 for node in nodes)
            service.work()

        return act

    assert _abort_everywhere(service, story) > 10


def test_a_failure_is_explained(service: Service) -> None:
    service.add_node("n1", resource_class="gold", traits=("CUSTOM_A",))

    def story(number: int) -> Callable[[], None]:
        def act() -> None:
            body = {"resource_class": "gold", "traits": ["CUSTOM_B"]}
            made = service.baremetal("POST", "/allocations", body).json["uuid"]
            found = service.baremetal("GET", f"/allocations/{made}").json
            assert found["state"] == "error"
            assert "1 lacks CUSTOM_B" in found["last_error"]

        return act

    assert _abort_everywhere(service, story) > 2


def _abort_everywhere(service: Service, story: Callable[[int], Callable[[], None]]) -> int:
    """Abort what each story does at the next of its statements within savepoints; return how many there are."""
    for place in count(1):
        act = story(place)
        with aborted_within_savepoint(service.database, place) as seen:
            act()
        if not seen:
            return place - 1
    raise AssertionError
