"""A machine that is closed for a planned hold, before any process has acted: no door gives it out, and all say why."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.models import Inventory, Node, ResourceProvider
from tests.functional.compute.test_servers import add_image, boot, show
from tests.functional.scheduling import test_planned_holds
from tests.functional.scheduling.test_handover import held, state, wait
from tests.functional.scheduling.test_planned_holds import hold, plan, sweep
from tests.passing_time import HOUR, go_by
from tests.restored import restored
from tests.service import Service

CONSUMER = "cccccccc-0000-4000-8000-000000000001"
OTHER = "cccccccc-0000-4000-8000-000000000002"
GOLD = "resources=CUSTOM_GOLD:1"
_ZEROS = {"resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0"}
CHILD = "dddddddd-0000-4000-8000-000000000001"

served = test_planned_holds.served


def add_child(service: Service, uuid: str) -> None:
    """A provider below n1, with an inventory."""
    service.placement("POST", "/resource_providers", {"name": "child", "uuid": CHILD, "parent_provider_uuid": uuid})
    body = {"resource_class": "CUSTOM_FPGA", "total": 2}
    service.placement("PUT", "/resource_classes/CUSTOM_FPGA")
    service.placement("POST", f"/resource_providers/{CHILD}/inventories", body)


def closing_times(service: Service) -> set[float | None]:
    """Those of the node, its provider, and all inventories of its tree."""
    columns = (Node.closes_at, ResourceProvider.closes_at, Inventory.closes_at)

    def read(session: Any) -> set[float | None]:
        root, *others = (set(session.scalars(select(column).distinct())) for column in columns[::2])
        roots = select(ResourceProvider.closes_at).where(ResourceProvider.parent_id.is_(None))
        return root.union(session.scalars(roots), *others)

    return service.database.read(read)


# -- doors -------------------------------------------------------------------------------------------------------------


def _claim(service: Service, uuid: str) -> bool:
    answer = service.claim(CONSUMER, uuid, status="*")
    assert answer.status_int == 204 or "a hold of it is planned" in answer.json["errors"][0]["detail"]
    return answer.status_int == 204


def _claim_for_two(service: Service, uuid: str) -> bool:
    mine = {"allocations": {uuid: {"resources": {"CUSTOM_GOLD": 1}}}, "consumer_generation": None}
    whose = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
    body = {CONSUMER: {**mine, **whose}, OTHER: {"allocations": {}, "consumer_generation": None, **whose}}
    return service.placement("POST", "/allocations", body, status="*").status_int == 204


def _schedule(service: Service, uuid: str) -> bool:
    body = {"consumer": {"uuid": CONSUMER}, "query": GOLD}
    return service.http.post_json("/scheduling/v1/claims", body, status="*").status_int == 201


def _allocate(service: Service, uuid: str) -> bool:
    service.baremetal("POST", "/allocations", {"name": "a1", "resource_class": "gold"})
    found = service.baremetal("GET", "/allocations/a1").json
    assert found["state"] == "active" or "1 is kept free for a planned hold" in found["last_error"]
    return bool(found["state"] == "active")


def _boot(service: Service, uuid: str) -> bool:
    service.add_flavor("bm.gold", id="gold", specs={"resources:CUSTOM_GOLD": "1", **_ZEROS})
    server = boot(service, "gold", add_image(service), networks="none").json["server"]["id"]
    return "fault" not in show(service, server)


def _wait(service: Service, uuid: str) -> bool:
    claim = wait(service)
    assert state(service, claim) in ("claimed", "waiting")
    return bool(state(service, claim) == "claimed" and held(service, claim))


def _candidates(service: Service, uuid: str) -> bool:
    return uuid in service.candidates(GOLD)


def _tree_search(service: Service, uuid: str) -> bool:
    return uuid in service.candidates(f"resources1=CUSTOM_GOLD:1&in_tree1={uuid}")


DOORS: list[Callable[[Service, str], bool]] = [
    *(_claim, _claim_for_two, _schedule, _allocate, _boot, _wait, _candidates, _tree_search)
]


def test_a_machine_is_given_until_the_hold_starts(served: Service, subtests: pytest.Subtests) -> None:
    for door in DOORS:
        with subtests.test(door=door), restored(served):
            uuid = served.node("n1")["uuid"]
            plan(served)
            go_by(served, HOUR - 60)
            assert door(served, uuid)


def test_and_not_afterwards(served: Service, subtests: pytest.Subtests) -> None:
    for door in DOORS:
        with subtests.test(door=door), restored(served):
            uuid = served.node("n1")["uuid"]
            plan(served)
            go_by(served, HOUR)
            assert not served.node("n1")["maintenance"]
            assert not door(served, uuid)


def test_all_of_a_tree_is_closed(served: Service) -> None:
    uuid = served.node("n1")["uuid"]
    add_child(served, uuid)
    query = "resources=CUSTOM_FPGA:1"
    made = plan(served)
    assert len(closing_times(served)) == 1
    assert served.candidates(query) == {CHILD}
    go_by(served, HOUR)
    assert served.candidates(query) == set()
    assert served.candidates(f"{GOLD}&resources1=CUSTOM_FPGA:1&group_policy=none") == set()
    refused = served.claim(CONSUMER, CHILD, "CUSTOM_FPGA", status=409)
    assert "a hold of it is planned" in refused.json["errors"][0]["detail"]
    body = {"resource_class": "CUSTOM_SSD", "total": 1}
    served.placement("PUT", "/resource_classes/CUSTOM_SSD")
    served.placement("POST", f"/resource_providers/{CHILD}/inventories", body)
    assert served.candidates("resources=CUSTOM_SSD:1") == set()
    assert served.database.snapshot(audit) == []
    served.http.delete(f"/scheduling/v1/nodes/n1/holds/{made['uuid']}", status=204)
    assert closing_times(served) == {None}
    served.claim(CONSUMER, CHILD, "CUSTOM_FPGA")
    assert served.database.snapshot(audit) == []


def test_what_leaves_the_tree_is_open(served: Service) -> None:
    uuid = served.node("n1")["uuid"]
    add_child(served, uuid)
    plan(served)
    go_by(served, HOUR)
    served.placement("PUT", f"/resource_providers/{CHILD}", {"name": "child", "parent_provider_uuid": None})
    assert served.candidates("resources=CUSTOM_FPGA:1") == {CHILD}
    assert served.database.snapshot(audit) == []
    served.placement("PUT", f"/resource_providers/{CHILD}", {"name": "child", "parent_provider_uuid": uuid})
    assert served.candidates("resources=CUSTOM_FPGA:1") == set()
    assert served.database.snapshot(audit) == []


def test_who_has_the_machine_gives_it_back_to_nobody(served: Service) -> None:
    """A hold that drains: a claimed machine stays claimed, and no other request gets it, not even a waiting one."""
    uuid = served.node("n1")["uuid"]
    served.claim(CONSUMER, uuid)
    claim = wait(served)
    made = hold(served, drain=True)
    served.placement("DELETE", f"/allocations/{CONSUMER}")
    assert state(served, claim) == "waiting"
    assert served.candidates(GOLD) == set()
    served.http.delete(f"/scheduling/v1/nodes/n1/holds/{made['uuid']}", status=204)
    assert held(served, claim) == [uuid]


def test_a_change_of_the_provider_opens_nothing(served: Service) -> None:
    uuid = served.node("n1")["uuid"]
    plan(served)
    go_by(served, HOUR)
    generation = served.placement("GET", f"/resource_providers/{uuid}").json["generation"]
    values = {"total": 1, "reserved": 1, "min_unit": 1, "max_unit": 1, "step_size": 1, "allocation_ratio": 1.0}
    body = {"inventories": {"CUSTOM_GOLD": values}, "resource_provider_generation": generation}
    served.placement("PUT", f"/resource_providers/{uuid}/inventories", body, status="*")
    assert len(closing_times(served)) == 1
    served.claim(CONSUMER, uuid, status=409)


# -- explanations ------------------------------------------------------------------------------------------------------


def test_it_is_said_why(served: Service) -> None:
    made = plan(served, reason="switch")
    said = served.http.get("/scheduling/v1/nodes/n1/availability").json
    assert (said["offered"], [each["label"] for each in said["remarks"]]) == (True, ["hold"])
    assert said["remarks"][0]["reason"].startswith("A hold is planned by the system from 2")
    go_by(served, HOUR)
    said = served.http.get("/scheduling/v1/nodes/n1/availability").json
    assert (said["offered"], [each["label"] for each in said["reasons"]]) == (False, ["hold"])
    assert said["reasons"][0]["reason"].startswith("It is kept free by the system from 2")
    assert said["reasons"][0]["reason"].endswith(": window (switch).")
    assert said["reasons"][0]["remedy"] == f"Release it:\nopenstack baremetal node hold remove n1 {made['uuid']}"
    assert said["remarks"][0]["reason"].startswith("The last of these holds ends at 2")
    sweep(served)
    (reason,) = served.http.get("/scheduling/v1/nodes/n1/availability").json["reasons"]
    assert reason["reason"].startswith("It is held by the system from 2")


def test_capacity_and_explanations_count_it(served: Service) -> None:
    plan(served)
    (free,) = served.http.get("/scheduling/v1/capacity").json["capacity"]
    go_by(served, HOUR)
    for query in ("", "?group_by=trait:CUSTOM_A", "?group_by=resource_class,owner"):
        (row,) = served.http.get(f"/scheduling/v1/capacity{query}").json["capacity"]
        assert (free["free"], row["free"], row["unavailable"]) == (1, 0, {"planned hold": 1}), query
    told = served.http.get(f"/scheduling/v1/explanations?{GOLD}").json
    assert told["busy"] == {"planned hold": 1}


def test_an_explanation_names_the_holds_of_what_meets_all_else(service: Service) -> None:
    wanted = {"n1": ("CUSTOM_A",), "n2": ("CUSTOM_A",), "n3": (), "n4": ("CUSTOM_A",)}
    for name, traits in wanted.items():
        service.add_node(name, traits=traits)
    for name, body in (
        ("n1", {"type": "window", "ends_at": "2090-01-01T00:00:00Z"}),
        ("n1", {"type": "operator_hold"}),
        ("n2", {"type": "window", "ends_at": "2089-01-01T00:00:00Z"}),
        ("n3", {"type": "hardware_failure"}),
        ("n4", {"type": "lockout", "starts_at": "2090-01-01T00:00:00Z"}),
    ):
        service.http.post_json(f"/scheduling/v1/nodes/{name}/holds", body, status=201)
    question = {"resource_class": "gold", "traits": ["CUSTOM_A"]}
    found = service.http.post_json("/scheduling/v1/explanations", question, status=200).json
    assert found["fitting"] == 1
    assert found["held"] == [
        {"type": "operator_hold", "nodes": 1, "until": None},
        {"type": "window", "nodes": 2, "until": "2090-01-01T00:00:00+00:00"},
    ]
    nothing = service.http.post_json("/scheduling/v1/explanations", {"resource_class": "silver"}, status=200).json
    assert nothing["held"] == []
