"""Servers that wait until a machine is free."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import delete, event, false, select, true, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.baremetal.provisioning import provision
from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db import schema_state
from baremetal_sched.db.models import Conductor, Server, WaitingRequest
from baremetal_sched.errors import InvalidValue, TooManyConflicts
from baremetal_sched.errors.baremetal import TooManyAtOnce
from baremetal_sched.errors.compute import TooManyServersWait
from baremetal_sched.errors.scheduling import WaitingNotServed
from baremetal_sched.placement import waiting_requests
from tests.functional.compute.test_servers import add_flavor, add_image
from tests.functional.compute.test_servers import boot as post
from tests.functional.compute.world import ZEROS, boot, create, flavor, held, show
from tests.functional.compute.world import delete as delete_server
from tests.functional.scheduling.test_handover import GOLD, GOLD_A, state, wait
from tests.functional.scheduling.test_handover import held as claimed
from tests.interleaving import just_before
from tests.reservations import free_uuid
from tests.service import LATEST, Service

SWEEP, FOLLOW_UP = (next(task for task in PERIODIC_TASKS if task.name == name) for name in ("claims", "servers"))


def sweep(service: Service) -> None:
    service.conductors["c1"].run_periodic_task(SWEEP)


def pending(service: Service) -> list[dict[str, Any]]:
    """The waiting server's row, and its secret."""
    columns = (
        WaitingRequest.uuid,
        WaitingRequest.state,
        WaitingRequest.secret,
        WaitingRequest.asked_at,
        WaitingRequest.deadline,
    )
    query = select(*columns).order_by(WaitingRequest.id)
    return service.database.read(lambda session: [dict(row._mapping) for row in session.execute(query)])


def config_drive(service: Service, node: str) -> Any:
    return service.database.read(lambda session: nodes.find(session, node).instance_info["configdrive"])


def events(service: Service, uuid: str) -> list[tuple[str, str | None, str | None]]:
    """The events of the action that created a server: name, result and details."""
    action = service.compute("GET", f"/servers/{uuid}/os-instance-actions").json["instanceActions"][-1]
    path = f"/servers/{uuid}/os-instance-actions/{action['request_id']}"
    found = service.compute("GET", path).json["instanceAction"]["events"]
    return [(entry["event"], entry["result"], entry["details"]) for entry in found]


@pytest.fixture
def busy(service: Service) -> tuple[Service, str, str]:
    """A service whose only machine has a server; the node, and the server."""
    node = service.add_node("n1")
    server = boot(service)
    service.work()
    return service, node, server["uuid"]


def test_a_server_waits_and_gets_the_machine_that_is_freed(busy: tuple[Service, str, str]) -> None:
    service, node, before = busy
    server = boot(service, wait=600, name="web", metadata={"a": "b"})
    assert (server["status"], server["task_state"], server["node"], server["fault"]) == (
        "BUILD", "scheduling", None, None,
    )  # fmt: skip
    (claim,) = pending(service)
    assert (claim["uuid"], claim["state"], claim["secret"]) == (
        server["uuid"], "waiting", {"admin_password": "secret-1"},
    )  # fmt: skip
    assert round(claim["deadline"] - claim["asked_at"]) == 600
    delete_server(service, before)
    service.work()
    server = show(service, server["uuid"])
    assert (server["status"], server["node"]) == ("ACTIVE", node)
    assert [name for name, _, _ in events(service, server["uuid"])] == [
        "wait_for_machine", "compute__do_build_and_run_instance",
    ]  # fmt: skip
    assert config_drive(service, node)["meta_data"]["admin_pass"] == "secret-1"
    assert held(service, server["uuid"]) == {node: {"CUSTOM_GOLD": 1}}
    assert pending(service) == []
    assert service.database.snapshot(audit) == []


def test_the_transaction_that_ends_the_cleaning_begins_the_deployment(busy: tuple[Service, str, str]) -> None:
    service, node, before = busy
    waiting = boot(service, wait=600)["uuid"]
    delete_server(service, before)
    conductor, seen = service.conductors["c1"], []
    while not (seen and seen[-1] == "deploying"):
        for done in conductor.work_once():
            done.result()
        seen.append(service.node(node)["provision_state"])
    assert "available" not in seen
    assert show(service, waiting)["node"] == node


def test_with_no_wait_and_no_option_nothing_waits(busy: tuple[Service, str, str]) -> None:
    service, *_ = busy
    for asked in ({}, {"wait": 0}):
        assert boot(service, **asked)["status"] == "ERROR"
    assert pending(service) == []


def test_what_could_never_fit_is_in_error_at_once(busy: tuple[Service, str, str]) -> None:
    service, *_ = busy
    for extra in ({"trait__CUSTOM_NOBODY": "required"}, {"resources1__CUSTOM_NVME": "1"}):
        server = boot(service, wait=600, flavor=flavor(**extra))
        assert server["status"] == "ERROR", extra
        assert server["fault"].startswith("No valid host was found. No node matches.")
    silver = {**flavor(), "extra_specs": {"resources:CUSTOM_SILVER": "1", **ZEROS}}
    assert boot(service, wait=600, flavor=silver)["status"] == "ERROR"
    assert pending(service) == []


def test_time_is_over(busy: tuple[Service, str, str]) -> None:
    service, node, before = busy
    waiting = boot(service, wait=600)["uuid"]
    expire(service)
    sweep(service)
    server = show(service, waiting)
    assert (server["status"], server["task_state"]) == ("ERROR", None)
    assert server["fault"].startswith("No valid host was found, and the server has waited for 600 seconds. ")
    assert "1 is in use by an instance" in server["fault"]
    assert server["actions"] == [("create", [("Error", server["fault"])])]
    assert pending(service) == []
    delete_server(service, before)
    service.work()
    assert show(service, waiting)["status"] == "ERROR"
    assert service.candidates("resources=CUSTOM_GOLD:1") == {node}
    assert service.database.snapshot(audit) == []


def expire(service: Service) -> None:
    """Let the time of all that waits pass."""

    def pass_time(session: Any) -> None:
        own = (WaitingRequest.asked_at, WaitingRequest.deadline)
        session.execute(update(WaitingRequest).values({each.key: each - 10_000 for each in own}))
        session.execute(update(Server).where(Server.asked_at.is_not(None)).values(wait_until=Server.asked_at + 600))

    service.database.write(pass_time)


def test_nothing_is_handed_over_after_the_deadline(busy: tuple[Service, str, str]) -> None:
    service, node, before = busy
    waiting = boot(service, wait=600)["uuid"]
    expire(service)
    delete_server(service, before)
    service.work()
    assert (show(service, waiting)["status"], service.node(node)["provision_state"]) == ("BUILD", "available")


# -- who is first ------------------------------------------------------------------------------------------------------


def test_servers_allocations_and_claims_are_served_in_their_order(service: Service) -> None:
    service.set_columns(service.add_node("n0"), maintenance=True)
    picky = boot(service, wait=600, flavor=flavor(trait__CUSTOM_A="required"))
    assert picky["status"] == "ERROR"  # nobody has the trait
    first = boot(service, wait=600)["uuid"]
    claim, modest = wait(service, GOLD_A), wait(service, GOLD)
    second = boot(service, wait=600)["uuid"]
    wish = {"Prefer": "allocation-wait=600", "X-OpenStack-Ironic-API-Version": LATEST}
    service.http.post_json("/baremetal/v1/allocations", {"name": "a", "resource_class": "gold"}, headers=wish)
    third = boot(service, wait=600)["uuid"]
    one = service.add_node("n1")
    assert (show(service, first)["node"], state(service, claim)) == (one, "waiting")
    two = service.add_node("n2")
    assert claimed(service, modest) == [two]
    three = service.add_node("n3", traits=("CUSTOM_A",))
    assert claimed(service, claim) == [three]
    four = service.add_node("n4")
    assert show(service, second)["node"] == four
    five = service.add_node("n5")
    assert service.baremetal("GET", "/allocations/a").json["node_uuid"] == five
    assert show(service, third)["node"] is None
    service.baremetal("DELETE", "/allocations/a", status=204)
    assert show(service, third)["node"] == five
    assert service.database.snapshot(audit) == []


def test_a_project_waits_for_machines_that_it_may_use(service: Service) -> None:
    service.set_columns(service.add_node("n0"), maintenance=True)
    waiting = boot(service, wait=600)["uuid"]
    other = service.add_node("n1", owner="p2")
    assert show(service, waiting)["status"] == "BUILD"
    service.patch(other, ("replace", "/owner", "p1"))
    assert show(service, waiting)["node"] == other


def test_a_zone_and_a_named_node_are_waited_for(service: Service) -> None:
    service.add_conductor("c2", group="rack2")
    there = service.add_node("n1", conductor_group="rack2", maintenance=True)
    named = service.add_node("n2", maintenance=True)
    in_zone = boot(service, wait=600, zone="rack2")["uuid"]
    on_node = boot(service, wait=600, node="n2")["uuid"]
    service.add_node("n3")
    assert {show(service, uuid)["status"] for uuid in (in_zone, on_node)} == {"BUILD"}
    for node in (named, there):
        service.baremetal("DELETE", f"/nodes/{node}/maintenance")
    assert (show(service, in_zone)["node"], show(service, on_node)["node"]) == (there, named)
    assert config_drive(service, there)["meta_data"]["availability_zone"] == "rack2"


Free = Callable[[Service, str], Any]


def _taken_off(service: Service, node: str) -> None:
    service.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": "deleted"})
    service.work()


def _given_back(service: Service, node: str) -> None:
    holder = service.placement("GET", f"/resource_providers/{node}/allocations").json["allocations"]
    service.placement("DELETE", f"/allocations/{next(iter(holder))}")


def _maintenance_off(service: Service, node: str) -> None:
    service.baremetal("DELETE", f"/nodes/{node}/maintenance")


def _allocation_gone(service: Service, node: str) -> None:
    service.baremetal("DELETE", "/allocations/a")


def _class(service: Service, node: str) -> None:
    service.patch(node, ("replace", "/resource_class", "gold"))


def _enrolled(service: Service, node: str) -> None:
    service.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": "provide"})
    service.work()


@pytest.mark.parametrize(
    "free",
    [_taken_off, _given_back, _maintenance_off, _allocation_gone, _class, _enrolled],
    ids=lambda free: free.__name__,
)
def test_each_way_to_free_a_machine_hands_it_over(service: Service, free: Free) -> None:
    service.set_columns(service.add_node("n0"), maintenance=True)
    node = service.add_node("n1", resource_class="silver" if free is _class else "gold")
    if free is _taken_off:
        service.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": "active"})
        service.work()
    elif free is _given_back:
        service.claim("aaaaaaaa-0000-4000-8000-000000000001", node)
    elif free is _maintenance_off:
        service.baremetal("PUT", f"/nodes/{node}/maintenance", {"reason": "r"})
    elif free is _allocation_gone:
        service.baremetal("POST", "/allocations", {"name": "a", "resource_class": "gold"}, status=201)
    elif free is _enrolled:
        service.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": "manage"})
        service.work()
    waiting = boot(service, wait=600)["uuid"]
    assert show(service, waiting)["node"] is None
    free(service, node)
    assert show(service, waiting)["node"] == node
    service.work()
    assert show(service, waiting)["status"] == "ACTIVE"
    assert service.database.snapshot(audit) == []


def test_a_machine_that_becomes_free_while_the_server_is_stored_is_found(service: Service) -> None:
    node = service.add_node("n1")
    service.set_columns(node, maintenance=True)
    release = f"UPDATE nodes SET maintenance = {'false' if 'postgres' in service.database_url else '0'}"
    with just_before(service.database, "INSERT INTO pending_claims", release) as seen:
        server = boot(service, wait=600)
    assert (len(seen), server["status"]) == (1, "BUILD")
    sweep(service)
    assert show(service, server["uuid"])["node"] in (None, node)


# -- deleting ----------------------------------------------------------------------------------------------------------


def test_a_waiting_server_is_deleted_at_once(busy: tuple[Service, str, str]) -> None:
    service, node, before = busy
    waiting = boot(service, wait=600)["uuid"]
    delete_server(service, waiting)
    assert (show(service, waiting), pending(service)) == ({}, [])
    delete_server(service, before)
    service.work()
    assert service.candidates("resources=CUSTOM_GOLD:1") == {node}
    assert service.database.snapshot(audit) == []


def test_a_deletion_that_meets_a_hand_over_begins_again(busy: tuple[Service, str, str]) -> None:
    service, *_ = busy
    waiting = boot(service, wait=600)["uuid"]
    # As if the hand-over had committed after the node was looked for, at each attempt.
    handed_over = f"UPDATE nodes SET instance_uuid = '{waiting}'"
    with just_before(service.database, "SELECT pending_claims.", handed_over), pytest.raises(TooManyConflicts):
        delete_server(service, waiting)
    assert show(service, waiting)["status"] == "BUILD"


def test_a_deletion_waits_for_the_hand_over_and_then_takes_the_server_off(busy: tuple[Service, str, str]) -> None:
    service, node, before = busy
    if service.database_url.startswith("sqlite"):
        pytest.skip("there are no locks of rows")
    waiting = boot(service, wait=600)["uuid"]
    deleting: list[Future[None]] = []
    with ThreadPoolExecutor() as others:

        def interrupt(connection: Any, cursor: Any, sent: str, *more: Any) -> None:
            if sent.startswith("DELETE FROM pending_claims") and not deleting:
                deleting.append(others.submit(delete_server, service, waiting))
                with pytest.raises(TimeoutError):
                    deleting[0].result(timeout=0.2)

        event.listen(service.database.engine, "before_cursor_execute", interrupt)
        try:
            delete_server(service, before)
            service.work()
        finally:
            event.remove(service.database.engine, "before_cursor_execute", interrupt)
        deleting[0].result()
    service.work()
    assert (show(service, waiting), pending(service)) == ({}, [])
    assert service.candidates("resources=CUSTOM_GOLD:1") == {node}
    assert service.database.snapshot(audit) == []


# -- deployments that fail, or cannot begin ----------------------------------------------------------------------------


def test_a_server_whose_deployment_fails_waits_again(service: Service, broken: set[str]) -> None:
    first, second = service.add_node("n1"), service.add_node("n2")
    service.set_columns(second, maintenance=True)
    broken.add(first)
    server = boot(service, wait=600)
    later = boot(service, wait=600, name="later")["uuid"]
    (claim,) = pending(service)
    assert (server["node"], claim["uuid"]) == (first, later)
    conductor = service.conductors["c1"]
    while show(service, server["uuid"])["task_state"] != "scheduling":
        for done in conductor.work_once():
            done.result()
    again = next(row for row in pending(service) if row["uuid"] == server["uuid"])
    assert again["asked_at"] < claim["asked_at"]
    assert again["secret"]["config_drive"]["meta_data"]["admin_pass"] == "secret-1"
    assert events(service, server["uuid"])[-1][:2] == ("wait_for_machine", None)
    broken.clear()
    service.work()
    # The node that failed is clean again: it is for the other one.
    assert (show(service, server["uuid"])["node"], show(service, later)["node"]) == (None, first)
    service.baremetal("DELETE", f"/nodes/{second}/maintenance")
    service.work()
    found = show(service, server["uuid"])
    assert (found["status"], found["node"], found["tried"]) == ("ACTIVE", second, [first])
    assert [(name, result) for name, result, _ in events(service, server["uuid"])] == [
        ("compute__do_build_and_run_instance", "Error"),
        ("wait_for_machine", "Success"),
        ("compute__do_build_and_run_instance", "Success"),
    ]
    assert config_drive(service, second)["meta_data"]["admin_pass"] == "secret-1"
    assert pending(service) == []
    assert service.database.snapshot(audit) == []


def test_a_server_does_not_wait_again_without_another_machine_or_after_its_time(
    service: Service, broken: set[str]
) -> None:
    first = service.add_node("n1")
    broken.add(first)
    alone = boot(service, wait=600)["uuid"]
    service.work()
    assert show(service, alone)["status"] == "ERROR"
    service.work()
    second = service.add_node("n2")
    service.set_columns(second, maintenance=True)
    late = boot(service, wait=600)["uuid"]
    service.database.write(lambda session: session.execute(update(Server).values(wait_until=Server.asked_at)) and None)
    service.work()
    server = show(service, late)
    assert (server["status"], server["tried"]) == ("ERROR", [first])
    assert pending(service) == []


def test_no_more_machines_are_tried_than_the_setting_says(service: Service, broken: set[str]) -> None:
    machines = [service.add_node(f"n{number}") for number in range(4)]
    for node in machines[1:]:
        service.set_columns(node, maintenance=True)
    broken.update(machines)
    server = boot(service, wait=600)["uuid"]
    for node in machines[1:]:
        service.work()
        service.baremetal("DELETE", f"/nodes/{node}/maintenance")
    service.work()
    found = show(service, server)
    assert (found["status"], len(found["tried"]), pending(service)) == ("ERROR", 3, [])
    assert found["fault"] == "No valid host was found. The deployment failed on 3 nodes; no more are tried."


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Exception]]:
    """The refusal of a request to deploy a node (UUID)."""
    refused: dict[str, Exception] = {}
    request = provision.request

    def refuse(session: Any, node: Any, order: Any, *more: Any) -> Any:
        if order.verb == "active" and node.uuid in refused:
            raise refused[node.uuid]
        return request(session, node, order, *more)

    monkeypatch.setattr(provision, "request", refuse)
    return refused


def test_a_node_on_which_it_cannot_begin_is_left_to_others(service: Service, refusing: dict[str, Exception]) -> None:
    service.set_columns(service.add_node("n0"), maintenance=True)
    first, claim = boot(service, wait=600)["uuid"], wait(service, GOLD)
    node = service.add_node("n1", maintenance=True)
    refusing[node] = InvalidValue(message="It has no disk.")
    service.baremetal("DELETE", f"/nodes/{node}/maintenance")
    server = show(service, first)
    assert (server["status"], server["task_state"], server["tried"]) == ("BUILD", "scheduling", [node])
    assert claimed(service, claim) == [node]
    assert events(service, first)[1] == (
        "compute__do_build_and_run_instance", "Error",
        f"The deployment on node {node} could not begin: It has no disk.",
    )  # fmt: skip
    other = service.add_node("n2")
    service.work()
    server = show(service, first)
    assert (server["status"], server["node"]) == ("ACTIVE", other)
    assert config_drive(service, other)["meta_data"]["admin_pass"] == "secret-1"
    assert (service.database.snapshot(audit), pending(service)[0]["uuid"]) == ([], claim)


def test_a_node_on_which_it_cannot_begin_is_followed_by_the_next(
    service: Service, refusing: dict[str, Exception]
) -> None:
    bad = service.add_node("n1", maintenance=True)
    refusing[bad] = InvalidValue(message="It has no disk.")
    server = boot(service, wait=600)["uuid"]
    service.baremetal("DELETE", f"/nodes/{bad}/maintenance")
    # No other could ever fit.
    found = show(service, server)
    assert (found["status"], found["tried"], pending(service)) == ("ERROR", [bad], [])
    assert service.candidates("resources=CUSTOM_GOLD:1") == {bad}


def test_who_asked_is_known_after_a_node_on_which_it_cannot_begin(
    service: Service, refusing: dict[str, Exception]
) -> None:
    service.set_columns(service.add_node("n0"), maintenance=True)
    flavor_id, image_id = add_flavor(service), add_image(service)
    server = post(service, flavor_id, image_id, hints={"wait": 600}).json["server"]["id"]
    asker = service.database.read(lambda session: _asker(session, server))
    node = service.add_node("n1", maintenance=True)
    refusing[node] = InvalidValue(message="It has no disk.")
    service.baremetal("DELETE", f"/nodes/{node}/maintenance")
    assert show(service, server)["tried"] == [node]
    assert service.database.read(lambda session: _asker(session, server)) == asker
    assert asker[0] is not None


def _asker(session: Session, server: str) -> tuple[str | None, str | None]:
    claim = waiting_requests.find(session, server)
    assert claim is not None
    return claim.request_id, claim.user_id


def test_a_deployment_that_has_to_wait_keeps_the_machine(service: Service, refusing: dict[str, Exception]) -> None:
    node = service.add_node("n1", maintenance=True)
    refusing[node] = TooManyAtOnce(most=1, state="deploying")
    server = boot(service, wait=600)["uuid"]
    service.baremetal("DELETE", f"/nodes/{node}/maintenance")
    found = show(service, server)
    assert (found["status"], found["task_state"], found["node"]) == ("BUILD", "spawning", node)
    assert service.candidates("resources=CUSTOM_GOLD:1") == set()
    refusing.clear()
    service.conductors["c1"].run_periodic_task(FOLLOW_UP)
    service.work()
    assert show(service, server)["status"] == "ACTIVE"


def test_a_machine_whose_conductor_is_gone_is_handed_over_when_it_is_back(service: Service) -> None:
    node, holder = service.add_node("n1"), "aaaaaaaa-0000-4000-8000-000000000001"
    service.claim(holder, node)
    server = boot(service, wait=600)["uuid"]
    service.database.write(lambda session: session.execute(update(Conductor).values(online=false())) and None)
    service.placement("DELETE", f"/allocations/{holder}")
    assert show(service, server)["node"] is None
    service.database.write(lambda session: session.execute(update(Conductor).values(online=true())) and None)
    sweep(service)
    assert show(service, server)["node"] == node


def test_a_claim_without_its_server_does_no_harm(service: Service) -> None:
    service.set_columns(service.add_node("n0"), maintenance=True)
    boot(service, wait=600)
    second = boot(service, wait=600)["uuid"]
    service.database.write(lambda session: session.execute(delete(Server).where(Server.uuid != second)) and None)
    node = service.add_node("n1")
    assert (show(service, second)["node"], pending(service)) == (node, [])


def test_a_server_whose_uuid_holds_something_already_is_in_error(service: Service) -> None:
    service.set_columns(service.add_node("n0"), maintenance=True)
    server = boot(service, wait=600)["uuid"]
    free_uuid(service, server)
    service.claim(server, service.add_node("n1", resource_class="silver"), "CUSTOM_SILVER")
    node = service.add_node("n2")
    found = show(service, server)
    assert (found["status"], pending(service)) == ("ERROR", [])
    assert found["fault"] == ("No valid host was found: the server cannot be placed. An administrator can see why.")
    assert service.candidates("resources=CUSTOM_GOLD:1") == {node}


# -- limits ------------------------------------------------------------------------------------------------------------


def test_the_number_that_waits_is_limited(database_url: str) -> None:
    with Service(database_url, scheduling={"most_waiting": 1}) as service:
        service.add_conductor("c1")
        service.set_columns(service.add_node("n0"), maintenance=True)
        boot(service, wait=600)
        with pytest.raises(TooManyServersWait, match="Quota exceeded for waiting servers: Requested 1"):
            create(service, wait=600)
        assert len(pending(service)) == 1
        answer = post(service, add_flavor(service), add_image(service), hints={"wait": 60}, status=202)
        assert service.compute("GET", f"/servers/{answer.json['server']['id']}").json["server"]["status"] == "BUILD"
        answer = post(service, "bm", add_image(service), hints={"wait": 60}, status=400)


def test_nothing_waits_while_a_release_before_may_serve(service: Service) -> None:
    service.set_columns(service.add_node("n0"), maintenance=True)
    service.database.change(lambda connection: schema_state.finish(connection, "0019"))
    with pytest.raises(WaitingNotServed):
        create(service, wait=600)
    assert boot(service)["status"] == "ERROR"
    service.database.change(lambda connection: schema_state.finish(connection, "0020"))
    assert boot(service, wait=600)["status"] == "BUILD"


def test_the_option_lets_servers_wait(database_url: str) -> None:
    with Service(database_url, compute={"wait_for_machine": 500}, scheduling={"max_wait": 400}) as service:
        service.add_conductor("c1")
        service.set_columns(service.add_node("n0"), maintenance=True)
        assert boot(service)["status"] == "BUILD"
        (claim,) = pending(service)
        assert round(claim["deadline"] - claim["asked_at"]) == 400
        assert boot(service, wait=0)["status"] == "ERROR"
        assert {show(service, uuid)["status"] for uuid in create(service, count=2)} == {"ERROR"}
        assert boot(service, flavor={**flavor(), "extra_specs": {}})["status"] == "ERROR"
