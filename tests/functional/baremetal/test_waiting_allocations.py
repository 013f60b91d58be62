# tier: first
"""Allocations that wait until a node is free."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Conductor, NodeAllocation, WaitingRequest
from tests.interleaving import just_before
from tests.reservations import free_uuid
from tests.restored import Rows
from tests.service import Service, fault

A = "/allocations"
UUID = "aaaaaaaa-0000-4000-8000-000000000001"
WAIT = {"Prefer": "allocation-wait=3600"}
SWEEP = next(task for task in PERIODIC_TASKS if task.name == "claims")


@pytest.fixture(autouse=True)
def is_consistent(service: Service) -> Iterator[None]:
    """At the end, the queue has exactly the waiting allocations."""
    yield
    waiting = {each["uuid"] for each in service.baremetal("GET", f"{A}?state=allocating").json["allocations"]}
    assert set(service.database.read(lambda session: list(session.scalars(select(WaitingRequest.uuid))))) == waiting
    assert service.database.snapshot(audit) == []


def ask(service: Service, headers: dict[str, str] | None = None, **body: Any) -> str:
    """POST an allocation (of class gold, if nothing else is said) that may wait; return its UUID."""
    answer = service.baremetal("POST", A, {"resource_class": "gold", **body}, headers=headers or WAIT, status=201)
    uuid: str = answer.json["uuid"]
    return uuid


def show(service: Service, uuid: str) -> dict[str, Any]:
    found: dict[str, Any] = service.baremetal("GET", f"{A}/{uuid}").json
    return found


def state(service: Service, uuid: str) -> str:
    found: str = show(service, uuid)["state"]
    return found


def add_busy(service: Service, name: str = "n1", **columns: Any) -> tuple[str, str]:
    """Add a node with an allocation; return the UUIDs of both."""
    node = service.add_node(name, **columns)
    return node, ask(service, candidate_nodes=[node], resource_class=columns.get("resource_class", "gold"))


# -- from the request to the node --------------------------------------------------------------------------------------


def test_it_waits_until_the_node_is_free(service: Service) -> None:
    node, first = add_busy(service, traits=("CUSTOM_A", "CUSTOM_B"))
    assert state(service, first) == "active"
    waiting = ask(service, name="mine", traits=["CUSTOM_A"], extra={"k": 1})
    shown = show(service, "mine")
    expected = {"state": "allocating", "node_uuid": None, "last_error": None, "updated_at": None, "extra": {"k": 1}}
    assert {name: shown[name] for name in expected} == expected
    assert service.baremetal("GET", f"{A}?state=allocating").json["allocations"] == [{**shown, "links": shown["links"]}]
    service.baremetal("DELETE", f"{A}/{first}")
    shown = show(service, waiting)
    assert (shown["state"], shown["node_uuid"], shown["last_error"]) == ("active", node, None)
    assert shown["updated_at"] is not None
    held = service.node(node)
    assert held["instance_uuid"] == held["allocation_uuid"] == waiting
    assert held["instance_info"] == {"traits": ["CUSTOM_A"]}
    claim = service.placement("GET", f"/allocations/{waiting}").json
    assert claim["allocations"][node]["resources"] == {"CUSTOM_GOLD": 1}
    assert claim["consumer_type"] == "BAREMETAL_ALLOCATION"
    assert service.baremetal("GET", f"{A}?state=allocating").json["allocations"] == []


def test_its_conductor_is_that_of_the_node(service: Service) -> None:
    _, first = add_busy(service)
    waiting = ask(service)
    service.baremetal("DELETE", f"{A}/{first}")
    affinity = select(NodeAllocation.conductor_affinity).where(NodeAllocation.uuid == waiting)
    assert service.database.read(lambda session: session.scalar(affinity)) == "c1"


Free = Callable[[Service, str], Any]

#: Columns of a node that does not fit, and a request after which it does.
FREE: dict[str, tuple[dict[str, Any], Free]] = {
    "maintenance": (
        {"maintenance": True},
        lambda service, node: service.baremetal("DELETE", f"/nodes/{node}/maintenance"),
    ),
    "traits": ({"traits": ()}, lambda service, node: service.baremetal("PUT", f"/nodes/{node}/traits/CUSTOM_A")),
    "class": (
        {"resource_class": "silver"},
        lambda service, node: service.patch(node, ("replace", "/resource_class", "gold")),
    ),
    "owner": ({"owner": "other"}, lambda service, node: service.patch(node, ("replace", "/owner", "p"))),
    "lessee": ({"owner": "other"}, lambda service, node: service.patch(node, ("add", "/lessee", "p"))),
}


def test_what_makes_a_node_fit_gives_it_to_who_waits(service: Service, row: Rows) -> None:
    for how in FREE:
        with row(how):
            columns, free = FREE[how]
            # Others would fit if they were free.
            add_busy(service, "other", traits=("CUSTOM_A",), owner="p")
            node = service.add_node("n1", **{"traits": ("CUSTOM_A",), "owner": "p", **columns})
            waiting = ask(service, traits=["CUSTOM_A"], owner="p")
            assert state(service, waiting) == "allocating"
            free(service, node)
            assert show(service, waiting)["node_uuid"] == node


def test_a_node_whose_power_state_is_known_goes_to_who_waits(service: Service) -> None:
    node = service.add_node("n1")
    service.set_columns(node, power_state=None)
    waiting = ask(service)
    assert state(service, waiting) == "allocating"
    service.baremetal("PUT", f"/nodes/{node}/states/power", {"target": "power off"})
    service.work()
    assert show(service, waiting)["node_uuid"] == node


def test_a_node_that_is_given_back_in_placement_goes_to_who_waits(service: Service) -> None:
    node = service.add_node("n1")
    service.claim(UUID, node)
    waiting = ask(service)
    assert state(service, waiting) == "allocating"
    service.placement("DELETE", f"/allocations/{UUID}")
    assert show(service, waiting)["node_uuid"] == node
    assert service.node(node)["instance_uuid"] == waiting


def test_a_node_that_is_enrolled_goes_to_who_waits(service: Service) -> None:
    add_busy(service)
    waiting = ask(service)
    made = service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "resource_class": "gold"}).json["uuid"]
    service.baremetal("PUT", f"/nodes/{made}/states/provision", {"target": "manage"})
    service.work()
    service.baremetal("PUT", f"/nodes/{made}/states/power", {"target": "power off"})
    service.work()
    service.baremetal("PUT", f"/nodes/{made}/states/provision", {"target": "provide"})
    assert state(service, waiting) == "allocating"
    service.work()
    assert show(service, waiting)["node_uuid"] == made


def test_the_end_of_cleaning_gives_the_node_to_who_waits(service: Service) -> None:
    node, first = add_busy(service)
    service.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": "active"})
    service.work()
    waiting = ask(service)
    service.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": "deleted"})
    assert state(service, waiting) == "allocating"
    service.work()
    assert show(service, waiting)["node_uuid"] == node
    service.baremetal("GET", f"{A}/{first}", status=404)


def test_those_who_wait_are_served_in_order(service: Service) -> None:
    nodes = {}
    for name in ("n1", "n2"):
        node, uuid = add_busy(service, name)
        nodes[node] = uuid
    picky = ask(service, traits=["CUSTOM_A"], candidate_nodes=[next(iter(nodes))])
    assert state(service, picky) == "error"  # no candidate has the trait
    order = [ask(service, extra={"n": number}) for number in range(3)]
    for node, uuid in nodes.items():
        service.baremetal("DELETE", f"{A}/{uuid}")
        assert show(service, order.pop(0))["node_uuid"] == node
    assert state(service, order[0]) == "allocating"


def test_it_gets_only_a_candidate(service: Service) -> None:
    (one, first), (two, second) = add_busy(service, "n1"), add_busy(service, "n2")
    chosen, other = ask(service, candidate_nodes=[two]), ask(service)
    service.baremetal("DELETE", f"{A}/{first}")
    assert (state(service, chosen), show(service, other)["node_uuid"]) == ("allocating", one)
    service.baremetal("DELETE", f"{A}/{second}")
    assert show(service, chosen)["node_uuid"] == two


def test_who_finds_a_node_does_not_wait(service: Service) -> None:
    node = service.add_node("n1")
    answer = service.baremetal("POST", A, {"resource_class": "gold"}, headers=WAIT)
    assert (answer.json["state"], answer.headers["Preference-Applied"]) == ("allocating", "allocation-wait=3600")
    assert show(service, answer.json["uuid"])["node_uuid"] == node


def test_nodes_that_conductors_have_locked_are_waited_for(service: Service) -> None:
    node = service.add_node("n1")
    service.set_columns(node, reservation="c1")
    assert "conductors are working on them" in fault(
        service.baremetal("POST", A, {"resource_class": "gold"}, status=409)
    )
    waiting = ask(service)
    assert state(service, waiting) == "allocating"
    service.set_columns(node, reservation=None)
    service.conductors["c1"].run_periodic_task(SWEEP)
    assert show(service, waiting)["node_uuid"] == node


# -- how long ----------------------------------------------------------------------------------------------------------


def _deadlines(session: Session) -> list[float]:
    return list(session.scalars(select(WaitingRequest.deadline - WaitingRequest.asked_at)))


def test_the_header_says_how_long(service: Service, row: Rows) -> None:
    for header, seconds, applied in [
        ("allocation-wait=60", 60, "allocation-wait=60"),
        ('Allocation-Wait = "60"; foo=1, respond-async', 60, "allocation-wait=60"),
        ("allocation-wait=60, allocation-wait=70", 60, "allocation-wait=60"),
        ("return=representation, allocation-wait=060", 60, "return=representation, allocation-wait=60"),
        ("allocation-wait=999999999999999999999999999999", 7 * 24 * 3600, "allocation-wait=604800"),
        ("allocation-wait=0", None, "allocation-wait=0"),
        *((f"allocation-wait{value}", None, None) for value in ("", "=", "=-1", "=1.5", "=1h", "=\xb2", "=1 2")),
        ("allocation-waits=60", None, None),
        ("foo; allocation-wait=60", None, None),
    ]:
        with row(header, seconds, applied):
            add_busy(service)
            answer = service.baremetal("POST", A, {"resource_class": "gold"}, headers={"Prefer": header}, status=201)
            assert answer.headers.get("Preference-Applied") == applied
            assert state(service, answer.json["uuid"]) == ("error" if seconds is None else "allocating")
            waiting = service.database.read(_deadlines)
            assert waiting == ([] if seconds is None else [pytest.approx(seconds, abs=0.1)])


def test_the_decided_allocation_may_be_one_that_waits(service: Service) -> None:
    add_busy(service)
    headers = {"Prefer": "allocation-wait=60, return=representation"}
    answer = service.baremetal("POST", A, {"resource_class": "gold"}, headers=headers)
    assert answer.json == show(service, answer.json["uuid"])
    assert answer.json["state"] == "allocating"


def test_the_option_says_how_long_where_the_header_does_not(service: Service) -> None:
    options = {"conductor": {"allocation_wait": 500}, "scheduling": {"max_wait": 400}}
    with Service(service.database_url, **options) as waits:
        add_busy(waits)
        for header, found in (("", [400]), ("allocation-wait=x", [400]), ("allocation-wait=5", [5]), (WAIT, [400])):
            headers = header if isinstance(header, dict) else {"Prefer": header}
            answer = waits.baremetal("POST", A, {"resource_class": "gold"}, headers=headers)
            assert waits.database.read(_deadlines) == [pytest.approx(seconds, abs=0.1) for seconds in found]
            waits.baremetal("DELETE", f"{A}/{answer.json['uuid']}")
        failed = ask(waits, {"Prefer": "allocation-wait=0"})
        assert state(waits, failed) == "error"


def test_what_waited_in_vain_is_in_error(service: Service) -> None:
    _, first = add_busy(service)
    waiting = ask(service)
    past = update(WaitingRequest).values(asked_at=epoch() - 3601, deadline=epoch() - 1)
    service.database.write(lambda session: session.execute(past) and None)
    # It is too late, even if the sweep has not come yet.
    service.baremetal("DELETE", f"{A}/{first}")
    assert state(service, waiting) == "allocating"
    service.placement("PUT", f"/allocations/{UUID}", _claim_of(service, "n1"))
    service.conductors["c1"].run_periodic_task(SWEEP)
    shown = show(service, waiting)
    assert (shown["state"], shown["node_uuid"]) == ("error", None)
    assert shown["last_error"] == (
        f"Failed to process allocation {waiting} after waiting for 3600 seconds: No node that matches is free. "
        "Of 1 node, 1 is claimed through placement."
    )
    service.baremetal("DELETE", f"{A}/{waiting}", status=204)


def _claim_of(service: Service, name: str) -> dict[str, Any]:
    node = service.node(name)["uuid"]
    return {
        "allocations": {node: {"resources": {"CUSTOM_GOLD": 1}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }


def test_what_is_impossible_fails_at_once(service: Service) -> None:
    add_busy(service)
    for body in ({"resource_class": "silver"}, {"traits": ["CUSTOM_X"]}, {"owner": "nobody"}):
        shown = show(service, ask(service, **body))
        assert shown["state"] == "error"
        assert shown["last_error"].startswith(f"Failed to process allocation {shown['uuid']}: No node matches.")


def test_backfill_never_waits(service: Service) -> None:
    node = service.add_node("n1")
    service.set_columns(node, provision_state="active")
    answer = service.baremetal("POST", A, {"node": node}, headers=WAIT)
    assert (answer.json["state"], answer.headers.get("Preference-Applied")) == ("active", None)
    service.baremetal("POST", A, {"node": node}, headers=WAIT, status=409)


# -- while it waits ----------------------------------------------------------------------------------------------------


def test_it_may_be_cancelled(service: Service) -> None:
    node, first = add_busy(service)
    waiting, other = ask(service, name="w"), ask(service)
    service.baremetal("DELETE", f"{A}/w", status=204)
    service.baremetal("GET", f"{A}/{waiting}", status=404)
    service.baremetal("DELETE", f"{A}/{waiting}", status=404)
    service.baremetal("DELETE", f"{A}/{first}")
    assert show(service, other)["node_uuid"] == node


def test_one_that_gets_a_node_just_now_is_not_deleted_without_it(service: Service) -> None:
    """The transaction that takes its row out of the queue decides."""
    add_busy(service)
    waiting = ask(service)
    decided = "DELETE FROM pending_claims"
    with just_before(service.database, decided, decided) as seen:
        service.baremetal("DELETE", f"{A}/{waiting}", status=503)
    assert len(seen) > 1
    assert state(service, waiting) == "allocating"


def test_the_audit_finds_who_is_missing_in_the_queue_and_who_should_not_be_there(service: Service) -> None:
    add_busy(service)
    waiting, gone = ask(service), ask(service)
    leave, remove = delete(WaitingRequest).where(WaitingRequest.uuid == waiting), delete(NodeAllocation)
    service.database.write(lambda session: session.execute(leave) and None)
    service.database.write(lambda session: session.execute(remove.where(NodeAllocation.uuid == gone)) and None)
    assert service.database.snapshot(audit) == [
        f"allocation {waiting}: it waits for a node, but is not in the queue",
        f"allocation {gone}: it is in the queue, but does not wait for a node",
        f"allocation {waiting}: its UUID is reserved, but it does not wait",
    ]
    free_uuid(service, waiting)
    free_uuid(service, gone)
    service.database.write(lambda session: session.execute(remove.where(NodeAllocation.uuid == waiting)) and None)
    service.database.write(lambda session: session.execute(delete(WaitingRequest)) and None)


def test_its_name_and_extra_may_be_changed(service: Service) -> None:
    node, first = add_busy(service)
    waiting = ask(service, name="old")
    service.patch_at(f"{A}/old", ("replace", "/name", "new"), ("add", "/extra/k", 1))
    assert state(service, waiting) == "allocating"
    service.baremetal("DELETE", f"{A}/{first}")
    shown = show(service, "new")
    assert (shown["node_uuid"], shown["extra"]) == (node, {"k": 1})


def test_its_name_and_uuid_are_taken(service: Service) -> None:
    add_busy(service)
    ask(service, name="mine", uuid=UUID)
    for body in ({"name": "mine"}, {"uuid": UUID}):
        service.baremetal("POST", A, {"resource_class": "gold", **body}, headers=WAIT, status=409)


def test_a_consumer_of_its_uuid_that_holds_something_makes_it_fail(service: Service) -> None:
    node, first = add_busy(service)
    failing, other = ask(service, uuid=UUID), ask(service)
    silver = service.add_node("s1", resource_class="silver")
    free_uuid(service, UUID)
    service.claim(UUID, silver, "CUSTOM_SILVER")
    service.baremetal("DELETE", f"{A}/{first}")
    shown = show(service, failing)
    assert shown["state"] == "error"
    assert shown["last_error"] == (f"Failed to process allocation {UUID}: Its UUID is in use by something else.")
    assert show(service, other)["node_uuid"] == node


def test_a_claim_of_the_same_uuid_is_in_the_way(service: Service) -> None:
    add_busy(service)
    row = {"kind": "claim", "state": "timed_out", "resource_class": "CUSTOM_GOLD", "asked_at": 1, "deadline": 2}
    rest = {"request": {}, "request_key": "k", "consumer_project": "p", "consumer_user": "u", "uuid": UUID}

    def enter(session: Session) -> None:
        session.add(WaitingRequest(**row, **rest, created_at=func.current_timestamp()))

    service.database.write(enter)
    answer = service.baremetal("POST", A, {"resource_class": "gold", "uuid": UUID}, headers=WAIT, status=409)
    assert fault(answer).startswith(f"The UUID {UUID} belongs to a claim")
    service.baremetal("GET", f"{A}/{UUID}", status=404)
    service.database.write(lambda session: session.execute(delete(WaitingRequest)) and None)


def test_so_many_of_a_project_may_wait(service: Service) -> None:
    with Service(service.database_url, scheduling={"most_waiting": 1}) as limited:
        add_busy(limited, owner="p")
        add_busy(limited, "n2")
        ask(limited, owner="p")
        ask(limited)
        body = {"resource_class": "gold", "owner": "p", "uuid": UUID}
        answer = limited.baremetal("POST", A, body, headers=WAIT, status=409)
        assert fault(answer).startswith("Project p has 1 claims that wait")
        limited.baremetal("GET", f"{A}/{UUID}", status=404)


def test_nothing_waits_while_a_release_before_this_one_may_serve(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_busy(service)
    monkeypatch.setattr("baremetal_sched.db.schema_state.is_since", lambda *_: False)
    answer = service.baremetal("POST", A, {"resource_class": "gold"}, headers=WAIT, status=503)
    assert "db upgrade --finish" in fault(answer)
    assert len(service.baremetal("GET", A).json["allocations"]) == 1


def test_nothing_waits_without_conductors(service: Service) -> None:
    add_busy(service)
    service.database.write(lambda session: session.execute(update(Conductor).values(heartbeat_at=0)) and None)
    service.baremetal("POST", A, {"resource_class": "gold"}, headers=WAIT, status=503)
