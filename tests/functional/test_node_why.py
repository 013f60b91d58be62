# tier: first
"""A machine that is not offered: ``node why``, a metric and the log say why."""

import io
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session

from baremetal_sched import logs
from baremetal_sched.baremetal.conductors.ownership import live_members
from baremetal_sched.baremetal.matching.node_explanation import explain
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.cli import main
from baremetal_sched.db.models import Inventory
from tests.functional.test_metrics import value
from tests.restored import restored
from tests.service import Service

CONSUMER = "cccccccc-0000-4000-8000-000000000001"

Why = Callable[..., tuple[int, str, str]]


@pytest.fixture
def why(service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Why:
    """Runs ``node why`` with some arguments; returns the exit status, what it printed, and what it complained of."""
    monkeypatch.setattr(logs, "configure", lambda settings: None)

    def run(*arguments: str) -> tuple[int, str, str]:
        command = ["baremetal-sched", "node", "why", "--database", service.database_url, *arguments]
        monkeypatch.setattr(sys, "argv", command)
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed, complaints = capsys.readouterr()
        said, complaints = complaints[: complaints.index("\n") + 1], complaints[complaints.index("\n") + 1 :]
        assert said.startswith("Database: ")
        return ended.value.code or 0, printed, complaints  # type: ignore[return-value]

    return run


def labels(service: Service, ident: str) -> tuple[list[str], list[str]]:
    """The labels of the reasons, and of the remarks."""

    def read(session: Session) -> Any:
        return explain(session, nodes.find(session, ident), live_members(session, service.app.settings))

    found = service.database.read(read)
    return [each.label for each in found.reasons], [each.label for each in found.remarks]


def test_a_machine_that_is_offered(service: Service, why: Why) -> None:
    uuid = service.add_node("n1")
    assert why("n1") == (0, f"Node n1 ({uuid}) is offered, as one CUSTOM_GOLD.\n", "")
    assert service.candidates("resources=CUSTOM_GOLD:1") == {uuid}


def test_each_reason_has_a_sentence_and_what_to_do(service: Service, why: Why) -> None:
    uuid = service.add_node("n1", resource_class=None, power=False)
    status, text, complaints = why(uuid)
    assert (status, complaints) == (0, "")
    first, *lines = text.splitlines()
    assert first == f"Node n1 ({uuid}) is not offered."
    assert lines[0].startswith("- It has no resource class")
    assert lines[1:3] == ["  To do: Set one:", "    openstack baremetal node set --resource-class CLASS n1"]
    assert lines[3] == "- Its power state is unknown, so it may be out of reach."
    assert len(lines) == 5


def test_the_same_for_programs(service: Service, why: Why) -> None:
    uuid = service.add_node("n1", resource_class=None)
    document = json.loads(why("n1", "--format", "json")[1])
    (reason,) = document.pop("reasons")
    assert set(reason) == {"label", "reason", "remedy"}
    assert reason["label"] == "resource class"
    assert document == {"uuid": uuid, "name": "n1", "offered": False, "resource_class": None, "remarks": []}


def test_a_node_that_is_not_there(why: Why) -> None:
    assert why("nosuch") == (1, "", "Error: Node nosuch could not be found.\n")


def test_reasons_agree_with_what_placement_offers(service: Service, subtests: pytest.Subtests) -> None:
    for columns, expected in [
        ({"resource_class": None}, ["resource class"]),
        ({"power_state": None}, ["power state"]),
        ({"power_state": "error"}, ["power state"]),
        ({"maintenance": True}, ["maintenance"]),
        ({"provision_state": "manageable"}, ["provision state"]),
        ({"instance_uuid": CONSUMER}, ["instance"]),
        ({"maintenance": True, "power_state": None, "resource_class": None}, None),
        ({}, []),
    ]:
        with subtests.test(columns=columns), restored(service):
            uuid = service.add_node("n1")
            service.set_columns(uuid, **columns)
            reasons, _ = labels(service, "n1")
            assert sorted(reasons) == (
                ["maintenance", "power state", "resource class"] if expected is None else expected
            )
            assert bool(reasons) is not bool(service.candidates("resources=CUSTOM_GOLD:1"))


def test_a_claim_is_a_reason(service: Service, why: Why) -> None:
    uuid = service.add_node("n1")
    service.claim(CONSUMER, uuid, "CUSTOM_GOLD")
    assert labels(service, "n1") == (["allocation in placement"], [])
    assert f"is claimed by consumer {CONSUMER}" in why("n1")[1]


def test_a_claim_of_a_child_provider_is_a_reason(service: Service) -> None:
    uuid = service.add_node("n1")
    child = "dddddddd-0000-4000-8000-000000000001"
    body = {"name": "child", "uuid": child, "parent_provider_uuid": uuid}
    service.placement("POST", "/resource_providers", body)
    inventory = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1}}}
    service.placement("PUT", f"/resource_providers/{child}/inventories", inventory)
    assert labels(service, "n1") == ([], [])
    service.claim(CONSUMER, child, "VCPU")
    assert labels(service, "n1") == (["allocation in placement"], [])
    assert service.candidates("resources=CUSTOM_GOLD:1") == set()


def test_a_child_node_is_not_offered(lines: io.StringIO, service: Service) -> None:
    parent, uuid = service.add_node("n1", resource_class="iron"), service.add_node("n2")
    service.set_columns(uuid, parent_node=parent)
    assert labels(service, "n2") == (["parent node"], [])
    assert service.candidates("resources=CUSTOM_GOLD:1") == set()


def test_what_is_in_the_way_besides(service: Service, why: Why) -> None:
    uuid = service.add_node("n1")
    service.set_columns(uuid, reservation="c1", retired=True)
    service.conductors["c1"].sign_off()
    assert labels(service, "n1") == ([], ["lock", "conductor", "retired"])
    text = why("n1")[1]
    assert "is offered" in text
    assert "Besides:\n- Conductor c1 is working on it" in text


def test_a_provider_that_was_changed_directly_is_a_reason(service: Service) -> None:
    service.add_node("n1")
    service.database.write(lambda session: session.execute(update(Inventory).values(reserved=1, capacity=0)))
    assert labels(service, "n1") == (["resource provider"], [])


def test_available_machines_that_are_not_offered_are_counted(service: Service) -> None:
    def count(reason: str) -> float | None:
        return value(service, "available_nodes_not_offered", reason=reason)

    service.add_node("n1")
    for name in ("a", "b"):
        service.add_node(name, resource_class=None)
    service.add_node("c", power=False)
    in_maintenance, in_use = service.add_node("d"), service.add_node("e")
    service.set_columns(in_maintenance, maintenance=True, power_state=None)
    service.set_columns(in_use, instance_uuid=CONSUMER)
    enrolled = service.add_node("f")
    service.set_columns(enrolled, provision_state="manageable", resource_class=None)
    found = [count(reason) for reason in ("resource class", "power state", "maintenance", "parent node")]
    assert found == [2, 1, 1, 0]


def test_provide_says_in_the_log_that_the_machine_is_not_offered(lines: io.StringIO, service: Service) -> None:
    for name, resource_class in (("n1", None), ("n2", "gold")):
        body = {"driver": "fake-hardware", "name": name, "resource_class": resource_class}
        service.baremetal("POST", "/nodes", body)
        before = len(lines.getvalue())
        for state, target in (("provision", "manage"), ("power", "power on"), ("provision", "provide")):
            service.baremetal("PUT", f"/nodes/{name}/states/{state}", {"target": target})
            service.work()
        assert service.node(name)["provision_state"] == "available"
        logged = map(json.loads, lines.getvalue()[before:].splitlines())
        told = [line for line in logged if line["event"] == "node is available, but not offered"]
        if name == "n1":
            assert told[0]["level"] == "warning"
            assert "It has no resource class" in told[0]["reasons"][0]
        else:
            assert told == []
