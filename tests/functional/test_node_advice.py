"""The service accepts the remedies that it gives for a machine that is not offered."""

import re
from typing import Any

import pytest

from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.state_machine import HELD, TABLE, TRANSIENT, WAITING
from baremetal_sched.machines import states
from tests.functional.baremetal.provisioning import ask, do, enrol, put_into
from tests.functional.compute.world import boot
from tests.service import Service

CONSUMER = "cccccccc-0000-4000-8000-000000000001"
AT_REST = sorted(TABLE.keys() - TRANSIENT.keys() - WAITING - HELD - {states.AVAILABLE})


@pytest.fixture
def uuid(service: Service) -> str:
    return enrol(service)


def reasons(service: Service) -> dict[str, tuple[str, str]]:
    """The sentences about n1, by label: what it is, and what to do."""
    found = service.http.get("/scheduling/v1/nodes/n1/availability").json["reasons"]
    return {each["label"]: (each["reason"], each["remedy"]) for each in found}


def test_the_verbs_that_are_named_make_it_available(service: Service, uuid: str, subtests: pytest.Subtests) -> None:
    for state in AT_REST:
        with subtests.test(state=state):
            put_into(service, uuid, state, power_state="power on")
            reason, remedy = reasons(service)["provision state"]
            assert reason == f"Its provision state is '{state}', not 'available'."
            for verb in re.findall("'([a-z]+)'", remedy):
                do(service, verb)
            assert service.node("n1")["provision_state"] == "available"
            assert remedy.endswith(f" Possible now: {', '.join(state_machine.verbs_of(state))}.")
            assert remedy.startswith("Nothing is wrong") == (state in ("active", "rescue"))


def test_while_an_operation_is_in_progress(service: Service, uuid: str) -> None:
    for state in (*TRANSIENT, *WAITING):
        put_into(service, uuid, state)
        assert reasons(service)["provision state"][1].startswith("Wait until the operation in progress has finished.")
    for state in HELD:
        put_into(service, uuid, state)
        assert reasons(service)["provision state"][1].startswith("Continue the operation with 'unhold'.")


def test_flags_that_are_in_the_way(service: Service, uuid: str, subtests: pytest.Subtests) -> None:
    for state, flags, unset in [
        ("active", {"protected": True}, "protected"),
        ("active", {"protected": True, "retired": True}, "protected and retired"),
        ("manageable", {"retired": True}, "retired"),
    ]:
        with subtests.test(state=state, flags=flags):
            put_into(service, uuid, state, power_state="power on", **flags)
            remedy = reasons(service)["provision state"][1]
            assert remedy.startswith(f"Unset {unset} first. ")
            for flag in flags:
                service.patch("n1", ("add", f"/{flag}", False))
            for verb in re.findall("'([a-z]+)'", remedy):
                do(service, verb)
            assert service.node("n1")["provision_state"] == "available"


def test_a_machine_in_use_has_no_fault(service: Service) -> None:
    service.add_node("n1")
    server = boot(service)
    for work in (lambda: None, service.work):  # while it is deployed, and after that
        work()
        (label,) = found = reasons(service)
        assert (label, found[label][0]) == ("instance", f"It is in use by instance {server['uuid']}.")
    assert found[label][1].startswith("Nothing is wrong: when the machine is no longer needed, delete its server")
    service.patch("n1", ("add", "/protected", True))
    assert "no longer needed, unset protected, and then delete its server" in reasons(service)[label][1]
    service.patch("n1", ("add", "/protected", False))
    service.compute("DELETE", f"/servers/{server['uuid']}")
    service.work()
    assert reasons(service) == {}


def test_an_allocation_is_deleted(service: Service) -> None:
    service.add_node("n1")
    created = service.baremetal("POST", "/allocations", {"resource_class": "gold"}, status=201).json
    (remedy,) = [remedy for _, remedy in reasons(service).values()]
    assert "delete its allocation" in remedy
    service.baremetal("DELETE", f"/allocations/{created['uuid']}", status=204)
    assert reasons(service) == {}


def test_what_has_failed_while_it_was_in_use_is_a_fault(service: Service, uuid: str) -> None:
    put_into(service, uuid, "deploy failed", instance_uuid=CONSUMER, power_state="error")
    found = reasons(service)
    assert list(found) == ["provision state", "instance", "power state"]
    assert found["provision state"][1].startswith("Make it available with 'deleted'.")
    assert found["instance"][1] == "Delete its server, or undeploy it:\nopenstack baremetal node undeploy n1"
    assert "'manage'" not in found["power state"][1]
    ask(service, "manage", status=400)


def test_a_fault_that_ends_by_itself_needs_nobody_to_unset_maintenance(service: Service, uuid: str) -> None:
    put_into(service, uuid, "available", power_state="error", maintenance=True, fault="power failure")
    assert "ends by itself" in reasons(service)["maintenance"][1]
    service.set_columns(uuid, fault=None)
    assert reasons(service)["maintenance"][1].startswith("Unset maintenance")


def test_a_claim_of_somebody_else_is_told_besides(service: Service) -> None:
    uuid = service.add_node("n1")
    service.claim(CONSUMER, uuid)
    service.set_columns(uuid, instance_uuid="cccccccc-0000-4000-8000-000000000002")
    assert list(reasons(service)) == ["instance", "allocation in placement"]


def test_who_was_faster(service: Service) -> None:
    """The message of a refused claim says who has the machine; or that it has no consumer, but is not available."""
    uuid = service.add_node("n1")
    child: dict[str, Any] = {"name": "c", "parent_provider_uuid": uuid}

    def refused() -> str:
        answer = service.claim("cccccccc-0000-4000-8000-000000000009", uuid, status=409)
        detail: str = answer.json["errors"][0]["detail"]
        return detail

    for number in (1, 2):  # without and with providers below it
        consumer = f"cccccccc-0000-4000-8000-00000000000{number}"
        service.claim(consumer, uuid)
        assert refused().rstrip().endswith(f"It is in use by consumer {consumer}.")
        service.placement("DELETE", f"/allocations/{consumer}")
        service.baremetal("PUT", "/nodes/n1/maintenance")
        assert refused().rstrip().endswith("The node is not available.")
        service.baremetal("DELETE", "/nodes/n1/maintenance")
        if number == 1:
            service.placement("POST", "/resource_providers", child)
