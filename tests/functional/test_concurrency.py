"""Many at once, in one process: invariants hold, and no answer is a 500."""

import time
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import event

from baremetal_sched.baremetal.provider.audit import audit
from tests.functional.compute.grouped import Cloud, fleet, make, racks
from tests.service import Service


@pytest.fixture
def busy(database_url: str) -> Service:
    with Service(database_url, database={"connection": database_url, "max_pool_size": 16}) as service:
        service.add_conductor("c1")
        yield service


def at_once(count: int, action: Callable[[int], int]) -> Counter[int]:
    """The statuses that ``count`` threads get from ``action``."""
    with ThreadPoolExecutor(count) as pool:
        return Counter(pool.map(action, range(count)))


def test_one_node_is_claimed_once(busy: Service) -> None:
    node = busy.add_node("n1")
    statuses = at_once(16, lambda _: busy.claim(str(uuid.uuid4()), node, status="*").status_code)
    assert statuses == {204: 1, 409: 15}
    assert busy.database.read(audit) == []


def test_one_consumer_is_created_once(busy: Service) -> None:
    fleet = [busy.add_node(f"n{number}") for number in range(8)]
    consumer = str(uuid.uuid4())
    statuses = at_once(8, lambda number: busy.claim(consumer, fleet[number], status="*").status_code)
    assert statuses == {204: 1, 409: 7}
    assert busy.database.read(audit) == []


def test_the_fifty_first_trait_finds_no_gap(busy: Service) -> None:
    busy.add_node("n1", traits=tuple(f"CUSTOM_N{number}" for number in range(45)), power=False)

    def add(number: int) -> int:
        return busy.baremetal("PUT", f"/nodes/n1/traits/CUSTOM_X{number}", status="*").status_code

    assert at_once(12, add) == {204: 5, 400: 7}
    assert len(busy.node("n1")["traits"]) == 50
    assert busy.database.read(audit) == []


def test_names_are_given_once(busy: Service) -> None:
    def create(number: int) -> int:
        body = {"driver": "fake-hardware", "name": "same"}
        return busy.baremetal("POST", "/nodes", body, status="*").status_code

    assert at_once(8, create) == {201: 1, 409: 7}


def test_changes_and_claims_of_one_node_do_not_break_each_other(busy: Service) -> None:
    node = busy.add_node("n1")
    consumer = str(uuid.uuid4())

    def meddle(number: int) -> int:
        match number % 4:
            case 0:
                return busy.claim(consumer, node, generation=None, status="*").status_code
            case 1:
                return busy.placement("DELETE", f"/allocations/{consumer}", status="*").status_code
            case 2:
                return busy.patch(node, ("add", f"/extra/k{number}", 1), status="*").status_code
            case _:
                return busy.baremetal("PUT", f"/nodes/{node}/traits/CUSTOM_X{number}", status="*").status_code

    statuses = at_once(24, meddle)
    assert set(statuses) <= {200, 204, 404, 409}
    assert len(busy.node(node)["extra"]) == len(busy.node(node)["traits"]) == 6
    assert busy.database.read(audit) == []


def test_no_node_is_given_twice_by_allocations_and_placement(busy: Service) -> None:
    fleet = [busy.add_node(f"n{number}") for number in range(12)]
    service = busy

    def race(number: int) -> int:
        if number % 2:
            made = service.baremetal("POST", "/allocations", {"resource_class": "gold", "extra": {"n": number}})
            return made.status_code
        # A scheduler: it claims what it is offered until it has something, or nothing is offered any more.
        while offered := sorted(service.candidates("resources=CUSTOM_GOLD:1")):
            claimed = service.claim(str(uuid.uuid4()), offered[number % len(offered)], status="*").status_code
            if claimed == 204:
                return claimed
        return 409

    statuses = at_once(24, race)
    assert statuses[201] == 12
    allocations = service.baremetal("GET", "/allocations").json["allocations"]
    given = [item["node_uuid"] for item in allocations if item["state"] == "active"]
    assert len(given) + statuses[204] == len(fleet)
    assert {item["state"] for item in allocations} <= {"active", "error"}
    held = [
        node
        for node in fleet
        if service.placement("GET", f"/resource_providers/{node}/usages").json["usages"] == {"CUSTOM_GOLD": 1}
    ]
    assert held == fleet
    assert len(set(given)) == len(given)
    assert busy.database.read(audit) == []


def test_allocations_and_their_deletion_do_not_break_each_other(busy: Service) -> None:
    fleet = [busy.add_node(f"n{number}") for number in range(3)]

    def meddle(number: int) -> int:
        made = busy.baremetal("POST", "/allocations", {"resource_class": "gold"}).json["uuid"]
        if number % 3 == 0:
            node = fleet[number % len(fleet)]
            busy.patch(node, ("remove", "/instance_uuid"), status="*")
        return busy.baremetal("DELETE", f"/allocations/{made}", status="*").status_code

    statuses = at_once(12, meddle)
    assert set(statuses) <= {204, 404}
    assert busy.baremetal("GET", "/allocations").json["allocations"] == []
    assert busy.candidates("resources=CUSTOM_GOLD:1") == set(fleet)
    assert busy.database.read(audit) == []


def test_no_request_lacks_a_connection(database_url: str) -> None:
    """However many threads there are: no more requests are at work than there are connections."""
    database = {"connection": database_url, "max_pool_size": 2, "max_overflow": 0}
    with Service(database_url, database=database, api={"max_requests_at_work": 2}) as service:
        service.add_conductor("c1")
        service.add_node("n1")

        def linger(*statement: Any) -> None:
            time.sleep(0.005)

        service.database.reading_engine.pool._timeout = 0.02  # type: ignore[attr-defined]
        event.listen(service.database.reading_engine, "before_cursor_execute", linger)
        statuses = at_once(20, lambda _: service.baremetal("GET", "/nodes/n1", status="*").status_code)
    assert statuses == {200: 20}


def test_no_project_gets_more_groups_and_no_group_more_servers_than_it_may(database_url: str) -> None:
    options = {"database": {"max_pool_size": 24}, "quota": {"server_groups": 3, "server_group_members": 4}}
    with Service(database_url, **options) as service:
        service.add_conductor("c1")
        cloud = Cloud(service)
        fleet(service, no=10)
        body = {"server_group": {"name": "g", "policy": "soft-affinity"}}
        made = at_once(12, lambda _: service.compute("POST", "/os-server-groups", body, status="*").status_code)
        assert made == {200: 3, 403: 9}
        group = service.compute("GET", "/os-server-groups").json["server_groups"][0]["id"]

        server = {"name": "s", "flavorRef": cloud.flavor, "imageRef": cloud.image, "networks": "none"}
        body = {"server": server, "os:scheduler_hints": {"group": group}}
        joined = at_once(10, lambda _: service.compute("POST", "/servers", body, status="*").status_code)
        assert joined == {202: 4, 403: 6}


def test_no_rack_gets_more_servers_of_a_group_than_it_may(database_url: str) -> None:
    options = {"database": {"max_pool_size": 24}, "compute": {"server_group_level": "rack"}}
    with Service(database_url, **options) as service:
        service.add_conductor("c1")
        cloud = Cloud(service)
        fleet(service, r1=6, r2=6, r3=6, no=3)
        apart, near = make(service, most=2), make(service, "affinity")
        with ThreadPoolExecutor(20) as pool:
            said = Counter(pool.map(cloud.boot, [apart] * 20))
        assert said["BUILD"] == 6, said
        assert racks(service, apart) == {"r1": 2, "r2": 2, "r3": 2}
        with ThreadPoolExecutor(20) as pool:
            said = Counter(pool.map(cloud.boot, [near] * 20))
        assert said["BUILD"] == 4, said
        assert list(racks(service, near).values()) == [4]
        assert service.database.snapshot(audit) == []
