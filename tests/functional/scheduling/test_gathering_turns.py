"""Claims of several machines that wait: no project keeps others from their turn."""

import uuid as uuid_module
from typing import Any

import pytest

from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.errors.placement import SearchTookTooLong
from baremetal_sched.placement.waiting_requests import LAST
from baremetal_sched.scheduling import claims, gathering, machine_groups
from baremetal_sched.scheduling.claims import NewClaim
from baremetal_sched.scheduling.gathering import SweepPlace
from baremetal_sched.settings import load
from tests.functional.scheduling.test_claims import CLAIMS, post, show
from tests.functional.scheduling.test_domains import make, put
from tests.functional.scheduling.test_several import PACK, SPREAD, fill
from tests.restored import Rows
from tests.service import Service

MOST = 2
GOLD = "resources=CUSTOM_GOLD:1&required=!CUSTOM_"


@pytest.fixture
def served(database_url: str) -> Service:
    with Service(database_url, scheduling={"most_tested": MOST}) as service:
        service.add_conductor("r1")
        yield service


def claim(service: Service, project: str, count: int, status: int = 202, **more: Any) -> str:
    """A claim of a project that may use all machines."""
    consumer = {"uuid": str(uuid_module.uuid4()), "project_id": project}
    wait = {"wait": 60} if status == 202 else {}
    uuid: str = post(service, status=status, count=count, consumer=consumer, **wait, **more).json["uuid"]
    return uuid


def of_tenant(service: Service, project: str, count: int, **rules: Any) -> str:
    """A claim that waits, by a member of the project, who may use its machines only."""
    several = Several.of({"count": count, **rules})
    request = TreeRequest("resources=CUSTOM_GOLD:1", served=False, version=39, project=project, several=several)
    new = NewClaim(str(uuid_module.uuid4()), request, project, "u", None, None, "digest")
    service.database.write(lambda session: claims.wait(session, new, 60, "None is free.", load({})) and None)
    return new.uuid


def release(service: Service, *uuids: str) -> None:
    for uuid in uuids:
        service.http.delete(f"{CLAIMS}/{uuid}", status=204)


def served_of(service: Service, *uuids: str) -> list[bool]:
    return [show(service, uuid)["state"] == "claimed" for uuid in uuids]


def sweep(service: Service, place: SweepPlace) -> None:
    gathering.sweep(service.database, load({}), place)


def test_a_claim_that_cannot_be_served_keeps_no_other_from_its_turn(served: Service, row: Rows) -> None:
    """Not one for more than its own project leaves; nor many of a project, whatever each of them asks for."""
    for name in ("n1", "n2", "n3"):
        served.add_node(name)
    own, held = claim(served, "green", 1, 201), claim(served, "red", 2, 201)
    with row("it has one of the three that it waits for"):
        claim(served, "green", 3)
        blue = claim(served, "blue", 2)
        release(served, held)
        assert served_of(served, own, blue) == [True, True]
    with row("many of a project"):
        for number in range(3 * MOST):
            query = f"resources=CUSTOM_GOLD:1&required=!CUSTOM_{number}"
            claim(served, "green", 3, query=query, even_if_impossible=True)
        blue = claim(served, "blue", 2)
        release(served, held)
        assert served_of(served, blue) == [True]
    with row("many of many projects, for more machines than are free"):
        for number in range(3 * MOST):
            of_tenant(served, f"p{number}", 3 + number)
        blue = claim(served, "blue", 2, even_if_impossible=True)
        release(served, held)
        assert served_of(served, blue) == [True]


def test_projects_take_turns(served: Service) -> None:
    """The highest priority first, and of each priority one claim of each project in turn."""
    for number in range(4):
        served.add_node(f"n{number}")
    held = claim(served, "red", 4, 201)
    never = claim(served, "gray", 2, even_if_impossible=True, query="resources=CUSTOM_GOLD:1&required=CUSTOM_A")
    assert show(served, never)["priority"] == LAST
    for number in range(4):
        served.baremetal("PUT", f"/nodes/n{number}/traits/CUSTOM_A", {})
    first, second = claim(served, "green", 2), claim(served, "green", 2)
    blue = claim(served, "blue", 2)
    release(served, held)
    assert served_of(served, first, second, blue, never) == [True, False, True, False]


def test_equal_needs_are_counted_once(served: Service, row: Rows) -> None:
    """A release costs as many counts beside claims of many projects as beside one claim."""
    fill(served, a=2)
    held, own = claim(served, "red", 1, 201), claim(served, "red", 1, 201)
    for rules in ({}, SPREAD, PACK):
        for projects in (1, 3 * MOST):
            with row(rules, projects):
                for number in range(projects):
                    for count in (2, 3):
                        of_tenant(served, f"p{number}", count, **rules)
                blue = claim(served, "blue", 1, group="x")
                with served.statements() as seen:
                    release(served, held)
                assert sum("count(*)" in each and "inventories" in each for each in seen) <= 4
                assert served_of(served, own, blue) == [True, True]


def test_tenants_are_counted_what_they_may_use(served: Service) -> None:
    for name in ("n1", "n2"):
        served.add_node(name, lessee="green", owner="blue")
    held = claim(served, "red", 2, 201)
    blue, green = of_tenant(served, "blue", 2), of_tenant(served, "green", 2)
    release(served, held)
    assert served_of(served, blue, green) == [False, True]


def test_a_search_that_takes_too_long_is_that_of_one(served: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("n1", "n2"):
        served.add_node(name)
    held = claim(served, "red", 2, 201)
    slow = claim(served, "green", 2, query="resources=CUSTOM_GOLD:1&required=!CUSTOM_SLOW")
    blue = claim(served, "blue", 2)
    real = TreeRequest.free_machines

    def search(request: TreeRequest, context: Any, **options: Any) -> Any:
        if "CUSTOM_SLOW" in request.query:
            raise SearchTookTooLong(seconds=5, advice="ask for less")
        return real(request, context, **options)

    monkeypatch.setattr(TreeRequest, "free_machines", search)
    release(served, held)
    assert served_of(served, slow, blue) == [False, True]


def test_an_error_in_one_request_is_that_of_one(served: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("n1", "n2"):
        served.add_node(name)
    held = claim(served, "red", 2, 201)
    wrong, blue = claim(served, "green", 2), claim(served, "blue", 2)
    real = machine_groups.serve

    def fails(session: Any, settings: Any, uuid: str, request: Any) -> bool:
        if uuid == wrong:
            raise ValueError(uuid)
        return real(session, settings, uuid, request)

    monkeypatch.setattr(machine_groups, "serve", fails)
    release(served, held)
    assert served_of(served, wrong, blue) == [False, True]


def test_a_sweep_goes_on_where_the_last_one_ended(served: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep looks at a part of the claims: all of them have their turn, projects one after the other."""
    monkeypatch.setattr(gathering, "_MOST", 2)
    fill(served, a=1)
    served.add_node("x-0")
    green = [claim(served, "green", 2, even_if_impossible=True, **PACK, query=f"{GOLD}{n}") for n in range(5)]
    blue = claim(served, "blue", 1, even_if_impossible=True, query=f"{GOLD}&required=CUSTOM_A")
    place, turns = SweepPlace(), []
    for _ in range(4):
        sweep(served, place)
        turns.append(place.after and place.after[1])
    # The first of each project, the others of green two at a time, and around the end.
    assert turns == [1, 3, 5, 1]
    with monkeypatch.context() as without:
        without.setattr(served.database, "handover", None)
        put(served, make(served, "b"), "a-0", "x-0")
    sweep(served, place)
    assert served_of(served, *green, blue) == [False, True, False, False, False, False]
