"""A resource that machines share: an amount that is given back goes to waiting requests, in the same transaction."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.service import Service

CLAIMS = "/scheduling/v1/claims"
HOLDER = "cccccccc-0000-4000-8000-000000000001"
RACK = "aaaaaaaa-0000-4000-8000-000000000001"
QUERY = "resources=CUSTOM_GOLD:1,DISK_GB:10"


class Rack:
    """Machines with one store, all of which is claimed."""

    def __init__(self, service: Service) -> None:
        self.service = service
        service.add_conductor("c1")
        self.store: str = service.placement("POST", "/resource_providers", {"name": "store"}).json["uuid"]
        self.stock(10)
        path = f"/resource_providers/{self.store}/traits"
        self._put(path, traits=["MISC_SHARES_VIA_AGGREGATE"])
        for uuid in (self.store, service.add_node("n1"), service.add_node("n2")):
            self._put(f"/resource_providers/{uuid}/aggregates", aggregates=[RACK])
        service.claim(HOLDER, self.store, "DISK_GB", amount=10)

    def _put(self, path: str, **body: Any) -> None:
        provider = path.split("/")[2]
        generation = self.service.placement("GET", f"/resource_providers/{provider}").json["generation"]
        self.service.placement("PUT", path, {"resource_provider_generation": generation, **body})

    def stock(self, total: int) -> None:
        self._put(f"/resource_providers/{self.store}/inventories", inventories={"DISK_GB": {"total": total}})

    def wait(self, query: str = QUERY) -> str:
        uuid: str = self.service.http.post_json(CLAIMS, {"query": query, "wait": 600}, status=202).json["uuid"]
        return uuid

    def state(self, uuid: str) -> str:
        found: str = self.service.http.get(f"{CLAIMS}/{uuid}").json["state"]
        return found


@pytest.fixture
def rack(service: Service) -> Rack:
    return Rack(service)


def _release(rack: Rack) -> None:
    rack.service.placement("DELETE", f"/allocations/{HOLDER}")


def _give_less(rack: Rack) -> None:
    rack.service.claim(HOLDER, rack.store, "DISK_GB", amount=1, generation=1)
    rack.stock(11)


def _enlarge(rack: Rack) -> None:
    rack.stock(20)


@pytest.mark.parametrize("free", [_release, _give_less, _enlarge])
def test_what_is_given_back_is_handed_over(rack: Rack, free: Callable[[Rack], None]) -> None:
    first, second = rack.wait(), rack.wait()
    free(rack)
    assert (rack.state(first), rack.state(second)) == ("claimed", "waiting")
    held = rack.service.http.get(f"{CLAIMS}/{first}").json["allocations"]
    assert held[rack.store] == {"resources": {"DISK_GB": 10}}


def test_a_release_costs_as_much_as_that_of_a_machine_where_nobody_waits(rack: Rack) -> None:
    other = "cccccccc-0000-4000-8000-000000000002"
    rack.service.claim(other, rack.service.node("n1")["uuid"])
    with rack.service.statements() as of_machine:
        rack.service.placement("DELETE", f"/allocations/{other}")
    with rack.service.statements() as of_store:
        _release(rack)
    assert len(of_store) == len(of_machine)
