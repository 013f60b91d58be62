"""One truth: a server follows every change of its node; and deleting servers."""

from collections.abc import Iterator

import pytest
from sqlalchemy import delete as sql_delete
from sqlalchemy import select

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.conductor import servers as conductor_servers
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.db.models import Node, NodeWork
from baremetal_sched.drivers.fake.provisioning import FakeDeploy
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Effect, Machine
from tests.functional.compute.world import boot, delete, flavor, held, show
from tests.service import Service, fault

GOLD = "resources=CUSTOM_GOLD:1"


def active(service: Service, **asked: object) -> tuple[str, str]:
    """A server that is active, and its node."""
    server = boot(service, **asked)
    service.work()
    assert show(service, server["uuid"])["status"] == "ACTIVE"
    return server["uuid"], server["node"]


def follow_up(service: Service) -> None:
    """The periodic task of conductors about servers."""
    settings = service.app.settings
    for name in service.conductors:
        conductor_servers.follow_up_all(ConductorHost(name, service.database, settings))


# -- deleting ----------------------------------------------------------------------------------------------------------


def test_a_deleted_server_is_gone_when_its_machine_is_undeployed(service: Service) -> None:
    node = service.add_node("n1")
    uuid, _ = active(service)
    delete(service, uuid)
    assert show(service, uuid)["task_state"] == "deleting"
    assert held(service, uuid) == {node: {"CUSTOM_GOLD": 1}}
    service.work()
    assert show(service, uuid) == {}
    assert held(service, uuid) == {}
    shown = service.node(node)
    assert (shown["provision_state"], shown["instance_uuid"], shown["instance_info"]) == ("available", None, {})
    assert service.candidates(GOLD) == {node}
    assert service.database.read(audit) == []


def test_a_server_without_a_machine_is_gone_at_once(service: Service) -> None:
    uuid = boot(service)["uuid"]
    delete(service, uuid)
    assert show(service, uuid) == {}


def test_a_server_that_is_being_deployed_is_taken_off_when_that_has_ended(service: Service) -> None:
    node = service.add_node("n1")
    uuid = boot(service)["uuid"]
    delete(service, uuid)
    assert (show(service, uuid)["task_state"], service.node(node)["provision_state"]) == ("deleting", "deploying")
    service.work()
    assert show(service, uuid) == {}
    assert service.candidates(GOLD) == {node}


@pytest.fixture
def stubborn(monkeypatch: pytest.MonkeyPatch) -> None:
    """No machine can be undeployed."""

    def fail(self: FakeDeploy, machine: Machine) -> Effect:
        raise InvalidValue(message="The machine does not answer.")

    monkeypatch.setattr(FakeDeploy, "tear_down", fail)


def test_a_teardown_that_fails_is_an_error_and_keeps_the_claim(
    service: Service, stubborn: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = service.add_node("n1")
    uuid, _ = active(service)
    delete(service, uuid)
    service.work()
    server = show(service, uuid)
    assert (server["status"], server["task_state"], server["node"]) == ("ERROR", None, node)
    assert server["fault"] == "The server could not be taken off its machine. An administrator can see why."
    assert "The machine does not answer." in server["details"]
    assert held(service, uuid) == {node: {"CUSTOM_GOLD": 1}}
    follow_up(service)
    service.work()
    assert service.node(node)["provision_state"] == "error"
    monkeypatch.undo()
    delete(service, uuid)
    service.work()
    assert show(service, uuid) == {}
    assert service.candidates(GOLD) == {node}


def test_what_was_left_undone_is_done_by_the_conductor_later(service: Service) -> None:
    node = service.add_node("n1")
    uuid, _ = active(service)
    service.conductors["c1"].sign_off()
    delete(service, uuid)
    assert (show(service, uuid)["task_state"], service.node(node)["provision_state"]) == ("deleting", "active")
    service.conductors["c1"].register()
    follow_up(service)
    service.work()
    assert show(service, uuid) == {}
    assert service.candidates(GOLD) == {node}


def test_a_deletion_that_turns_out_to_be_impossible_is_given_up(service: Service) -> None:
    node = service.add_node("n1")
    uuid, _ = active(service)
    service.set_columns(node, reservation="elsewhere")
    delete(service, uuid)
    assert show(service, uuid)["task_state"] == "deleting"
    service.set_columns(node, reservation=None, protected=True)
    follow_up(service)
    server = show(service, uuid)
    assert (server["status"], server["task_state"], server["node"]) == ("ACTIVE", None, node)
    (result, details) = server["actions"][0][1][0]
    assert (result, "is protected" in details) == ("Error", True)


@pytest.fixture
def one_at_a_time(service: Service) -> Iterator[None]:
    """One deployment at a time. Other tests get the application afterwards."""
    settings = service.app.settings
    settings.set_override("max_concurrent_deploy", 1, group="conductor")
    yield
    settings.clear_override("max_concurrent_deploy", group="conductor")


@pytest.mark.usefixtures("one_at_a_time")
def test_a_deployment_that_has_to_wait_begins_later(service: Service) -> None:
    nodes = {service.add_node(f"n{number}") for number in range(2)}
    uuids = [boot(service)["uuid"] for _ in range(2)]
    assert {show(service, uuid)["node"] for uuid in uuids} == nodes
    assert {show(service, uuid)["status"] for uuid in uuids} == {"BUILD"}
    assert sorted(service.node(node)["provision_state"] for node in nodes) == ["available", "deploying"]
    assert service.candidates(GOLD) == set()
    service.work()
    follow_up(service)
    service.work()
    assert {show(service, uuid)["status"] for uuid in uuids} == {"ACTIVE"}


def test_a_conductor_that_dies_while_it_deploys(service: Service) -> None:
    from baremetal_sched.conductor import orphaned_reservations

    service.add_node("n1")
    second = service.add_node("n2")
    server = boot(service, node="n1")
    other = boot(service)
    host = ConductorHost("c1", service.database, service.app.settings)
    service.set_columns(server["node"], reservation=None)
    node = select(Node.id).where(Node.uuid == server["node"]).scalar_subquery()
    over = sql_delete(NodeWork).where(NodeWork.node_id == node)
    service.database.write(lambda session: session.execute(over))
    orphaned_reservations.fail_unfinished(host)
    assert show(service, server["uuid"])["status"] == "BUILD"
    follow_up(service)
    service.work()
    assert show(service, server["uuid"])["status"] == "ERROR"
    server = show(service, other["uuid"])
    assert (server["status"], server["node"]) == ("ACTIVE", second)
    assert service.database.read(audit) == []


# -- the bare metal API ------------------------------------------------------------------------------------------------


def test_undeploying_in_the_bare_metal_api_leaves_an_error_and_no_claim(service: Service) -> None:
    uuid, node = _one(service)
    service.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": "deleted"}, status=202)
    assert show(service, uuid)["task_state"] == "deleting"
    service.work()
    server = show(service, uuid)
    assert (server["status"], server["node"]) == ("ERROR", None)
    assert server["fault"] == "The server's machine was undeployed in the bare metal API."
    assert server["details"] == f"Node {node}, its machine, was undeployed in the bare metal API."
    assert held(service, uuid) == {}
    assert service.candidates(GOLD) == {node}
    assert service.database.read(audit) == []


def test_a_node_that_is_deleted_leaves_an_error(service: Service) -> None:
    uuid, node = _one(service)
    service.baremetal("DELETE", f"/nodes/{node}", status=409)
    service.baremetal("PUT", f"/nodes/{node}/maintenance", {}, status=202)
    service.baremetal("DELETE", f"/nodes/{node}", status=204)
    server = show(service, uuid)
    assert (server["status"], server["fault"]) == ("ERROR", "The server's machine was deleted.")
    assert server["details"] == f"Node {node}, its machine, was deleted."
    assert held(service, uuid) == {}
    delete(service, uuid)
    assert show(service, uuid) == {}


def test_the_bare_metal_api_takes_no_instance_off_a_server_and_gives_it_to_no_other_node(service: Service) -> None:
    uuid, node = _one(service)
    other = service.add_node("n2", resource_class="silver")
    for state in ({}, {"maintenance": True}):
        service.set_columns(node, **state)
        refused = service.patch(node, ("remove", "/instance_uuid"), status=409)
        assert uuid in fault(refused)
    assert service.patch(other, ("add", "/instance_uuid", uuid), status=409)
    errored = boot(service)["uuid"]
    assert errored in fault(service.patch(other, ("add", "/instance_uuid", errored), status=409))
    body = {"resource_class": "silver", "uuid": errored}
    service.baremetal("POST", "/allocations", body, status=409)
    body = {"driver": "fake-hardware", "instance_uuid": errored}
    service.baremetal("POST", "/nodes", body, status=409)
    assert show(service, uuid)["status"] == "ACTIVE"
    assert service.node(other)["instance_uuid"] is None


def test_maintenance_changes_no_server(service: Service) -> None:
    uuid, node = _one(service)
    service.baremetal("PUT", f"/nodes/{node}/maintenance", {}, status=202)
    assert show(service, uuid)["status"] == "ACTIVE"
    delete(service, uuid)
    service.work()
    assert show(service, uuid) == {}
    assert service.candidates(GOLD) == set()


def test_power_in_the_bare_metal_api_is_the_power_of_the_server(service: Service) -> None:
    uuid, node = _one(service)
    service.baremetal("PUT", f"/nodes/{node}/states/power", {"target": "power off"}, status=202)
    assert show(service, uuid)["task_state"] == "powering-off"
    service.work()
    assert show(service, uuid)["status"] == "SHUTOFF"
    service.baremetal("PUT", f"/nodes/{node}/states/power", {"target": "power on"}, status=202)
    service.work()
    assert show(service, uuid)["status"] == "ACTIVE"


def test_a_rebuild_in_the_bare_metal_api_is_one_of_the_server(service: Service) -> None:
    uuid, node = _one(service)
    service.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": "rebuild"}, status=202)
    assert show(service, uuid)["status"] == "REBUILD"
    service.work()
    assert show(service, uuid)["status"] == "ACTIVE"


# -- placement ---------------------------------------------------------------------------------------------------------


def test_a_claim_that_is_given_back_in_placement_leaves_the_machine_to_its_server(service: Service) -> None:
    uuid, node = _one(service)
    service.placement("DELETE", f"/allocations/{uuid}", status=204)
    assert show(service, uuid)["status"] == "ACTIVE"
    assert service.candidates(GOLD) == set()
    assert service.claim("aaaaaaaa-0000-4000-8000-000000000001", node, status="*").status_code == 409
    assert boot(service, flavor=flavor())["status"] == "ERROR"
    delete(service, uuid)
    service.work()
    assert show(service, uuid) == {}
    assert service.candidates(GOLD) == {node}


def _one(service: Service) -> tuple[str, str]:
    service.add_node("n1")
    return active(service)
