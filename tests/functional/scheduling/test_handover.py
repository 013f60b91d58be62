# tier: first
"""A machine that becomes free goes to the first claim that waits for it, in the transaction that frees it."""

import uuid as uuid_module
from collections.abc import Callable
from typing import Any

import pytest

from baremetal_sched.baremetal.matching.node_request import NodeRequest
from baremetal_sched.baremetal.matching.request import MachineRequest
from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.baremetal.schemas.allocations import TraitEntry
from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.scheduling import claims
from baremetal_sched.scheduling.claims import NewClaim
from tests.reservations import free_uuid
from tests.restored import restored
from tests.service import Service

SWEEP = next(task for task in PERIODIC_TASKS if task.name == "claims")

SWEPT = "baremetal_sched_swept_machines_total"

GOLD = TreeRequest("resources=CUSTOM_GOLD:1", served=False, version=39)
GOLD_A = TreeRequest("resources=CUSTOM_GOLD:1&required=CUSTOM_A", served=False, version=39)
LIKE_ALLOCATION = NodeRequest("gold", traits=(TraitEntry("CUSTOM_A"),))


def wait(service: Service, request: MachineRequest = GOLD, seconds: float = 60, project: str = "p") -> str:
    """Have a claim wait; return its UUID."""
    uuid = str(uuid_module.uuid4())
    asked = NewClaim(uuid, request, project, "u", None, None, "digest")
    settings = service.app.settings
    service.database.write(lambda session: claims.wait(session, asked, seconds, "None is free.", settings) and None)
    return uuid


def state(service: Service, uuid: str) -> str:
    return service.database.read(lambda session: claims.show(session, uuid).state)


def held(service: Service, uuid: str) -> list[str]:
    return list(service.database.read(lambda session: claims.show(session, uuid).allocations))


def test_a_machine_that_is_enrolled_goes_to_the_first_who_waits(served: Service) -> None:
    """Guide: 'The transaction that frees a machine gives it to the first waiting request that it satisfies.'"""
    first, second = wait(served), wait(served)
    node = served.add_node("n1", resource_class="gold")
    assert (held(served, first), state(served, second)) == ([node], "waiting")
    served.placement("DELETE", f"/allocations/{first}")
    assert (state(served, first), held(served, second)) == ("released", [node])
    assert served.database.snapshot(audit) == []


def test_a_claim_that_begins_to_wait_beside_a_free_machine_gets_it(served: Service) -> None:
    node = served.add_node("n1", resource_class="gold")
    assert held(served, wait(served)) == [node]


Free = Callable[[Service, str], Any]


def _maintenance_off(service: Service, node: str) -> None:
    service.baremetal("DELETE", f"/nodes/{node}/maintenance")


def _trait(service: Service, node: str) -> None:
    service.baremetal("PUT", f"/nodes/{node}/traits/CUSTOM_A")


def _class(service: Service, node: str) -> None:
    service.patch(node, ("replace", "/resource_class", "gold"))


def _owner(service: Service, node: str) -> None:
    service.patch(node, ("replace", "/owner", "p"))


def _aggregate(service: Service, node: str) -> None:
    generation = service.placement("GET", f"/resource_providers/{node}").json["generation"]
    body = {"aggregates": ["11111111-1111-4111-8111-111111111111"], "resource_provider_generation": generation}
    service.placement("PUT", f"/resource_providers/{node}/aggregates", body)


def test_what_makes_a_machine_fit_hands_it_over(served: Service, subtests: pytest.Subtests) -> None:
    """Guide: 'Every change that frees a machine hands it over … So does every change that makes the machine fit a
    request: of its class, traits, owner, lessee, conductor group, parent or aggregates.'"""
    for values, request_, free in [
        ({}, GOLD, _maintenance_off),
        ({}, GOLD_A, _trait),
        ({}, LIKE_ALLOCATION, _trait),
        ({"resource_class": "silver"}, GOLD, _class),
        ({"owner": "q"}, TreeRequest("resources=CUSTOM_GOLD:1", served=False, version=39, project="p"), _owner),
        (
            {},
            TreeRequest(
                "resources=CUSTOM_GOLD:1&member_of=11111111-1111-4111-8111-111111111111", served=False, version=39
            ),
            _aggregate,
        ),
    ]:
        with subtests.test(values=values, request_=request_), restored(served):
            node = served.add_node("n1", **{"resource_class": "gold", **values})
            if free is _maintenance_off:
                served.baremetal("PUT", f"/nodes/{node}/maintenance", {"reason": "r"})
            waiting = wait(served, request_)
            assert state(served, waiting) == "waiting"
            free(served, node)
            assert held(served, waiting) == [node]
            assert served.database.snapshot(audit) == []


def test_the_end_of_cleaning_hands_the_machine_over(served: Service) -> None:
    """Guide: '… in the same transaction: the end of its cleaning'"""
    node = served.add_node("n1", resource_class="gold")
    served.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": "active"})
    served.work()
    waiting = wait(served)
    served.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": "deleted"})
    assert state(served, waiting) == "waiting"
    served.work()
    assert held(served, waiting) == [node]


def test_a_machine_is_kept_back_for_nobody_whom_it_does_not_fit(served: Service) -> None:
    """Guide: 'Requests that it does not satisfy keep their place.'"""
    picky, modest = wait(served, GOLD_A), wait(served)
    node = served.add_node("n1", resource_class="gold")
    assert (state(served, picky), held(served, modest)) == ("waiting", [node])


def test_what_waited_in_vain_is_ended_by_the_sweep(served: Service) -> None:
    """Guide: 'After the deadline it gets nothing, and its state is timed_out. The next sweep records why no machine was
    free then.'"""
    served.add_node("n1", resource_class="gold")
    waiting = wait(served, GOLD_A, seconds=-1)
    assert state(served, waiting) == "timed_out"
    served.conductors["r1"].run_periodic_task(SWEEP)
    shown = served.database.read(lambda session: claims.show(session, waiting))
    assert shown.claim.state == "timed_out"
    assert shown.claim.reason == (
        "No node matches. Of 1 node, 1 lacks CUSTOM_A; 1 would match if nodes that lack CUSTOM_A were accepted."
    )


def test_a_consumer_that_got_something_elsewhere_fails_and_the_next_is_served(served: Service) -> None:
    first, second = wait(served), wait(served)
    other = served.add_node("n1", resource_class="silver")
    body = {
        "allocations": {other: {"resources": {"CUSTOM_SILVER": 1}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    free_uuid(served, first)
    served.placement("PUT", f"/allocations/{first}", body)
    node = served.add_node("n2", resource_class="gold")
    assert (state(served, first), held(served, second)) == ("failed", [node])
    assert served.http.get(f"/scheduling/v1/claims/{first}").json["reason"] == "Its UUID is in use by something else."


def test_a_node_says_who_is_next(served: Service) -> None:
    node = served.add_node("n1", resource_class="gold")
    wait(served)
    wait(served, GOLD_A)
    second = wait(served)
    remarks = served.http.get(f"/scheduling/v1/nodes/{node}/availability").json["remarks"]
    assert [each["label"] for each in remarks] == ["next claim"]
    assert remarks[0]["reason"].startswith(f"When it is free, it goes to claim {second} of project p, which has waited")


def test_a_machine_that_is_not_given_is_not_tried_for_ever(served: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "give", lambda context, claim, node: False)
    served.add_node("n1", resource_class="gold")
    assert state(served, wait(served)) == "waiting"


def test_machines_of_one_transaction_go_to_the_first_whatever_they_ask_for(served: Service) -> None:
    """The second claim is of another entry of the queue than the first and the third."""
    nodes = [served.add_node(f"n{number}", resource_class="gold", traits=("CUSTOM_A",)) for number in (1, 2)]
    holders = {wait(served): node for node in nodes}
    first, second, third = wait(served), wait(served, GOLD_A), wait(served)
    nothing = {"allocations": {}, "project_id": "p", "user_id": "u", "consumer_generation": 1}
    served.placement("POST", "/allocations", dict.fromkeys(holders, nothing), version="1.28")
    assert [state(served, claim) for claim in (first, second, third)] == ["claimed", "claimed", "waiting"]


def test_after_a_claim_that_failed_the_next_is_served_whatever_it_asks_for(served: Service) -> None:
    first, second, third = wait(served), wait(served, GOLD_A), wait(served)
    free_uuid(served, first)
    served.claim(first, served.add_node("n1", resource_class="silver"), "CUSTOM_SILVER")
    served.add_node("n2", resource_class="gold", traits=("CUSTOM_A",))
    assert [state(served, claim) for claim in (first, second, third)] == ["failed", "claimed", "waiting"]


def test_the_sweep_gives_what_was_not_handed_over_and_counts_it(served: Service) -> None:
    """Guide: 'Conductors look for these machines every [scheduling] sweep_interval seconds.'"""
    waiting = wait(served)
    handover, served.database.handover = served.database.handover, None
    node = served.add_node("n1", resource_class="gold")
    served.database.handover = handover
    assert state(served, waiting) == "waiting"
    metrics = served.http.get("/metrics").text
    assert 'baremetal_sched_waiting_claims{resource_class="CUSTOM_GOLD"} 1.0' in metrics
    for conductor in served.conductors.values():
        conductor.run_periodic_task(SWEEP)
    assert held(served, waiting) == [node]
    counts = [line for line in served.http.get("/metrics").text.splitlines() if line.startswith(SWEPT)]
    assert sum(float(line.split()[-1]) for line in counts) == 1


def test_a_release_does_not_fail_because_of_who_waits(served: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    broken, second = wait(served), wait(served)
    give = claims.give

    def fail_once(context: Any, claim: Any, node: Any) -> bool:
        if claim.uuid == broken:
            raise KeyError("a bug")
        return give(context, claim, node)

    monkeypatch.setattr(claims, "give", fail_once)
    node = served.add_node("n1", resource_class="gold")
    assert (state(served, broken), held(served, second)) == ("waiting", [node])
