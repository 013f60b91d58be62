"""Steps of cleaning, deploying and servicing that a client names, and the interfaces that do them."""

from typing import Any

import pytest
from sqlalchemy import delete

from baremetal_sched.db.models import NodeWork
from baremetal_sched.drivers.fake.hardware import FakeVendor
from baremetal_sched.machines.machine import Machine
from tests.functional.baremetal.provisioning import (
    LOG_STEP,
    RESET_STEP,
    WAIT_STEP,
    do,
    events,
    put_into,
    state_of,
)
from tests.restored import Rows
from tests.service import Service


def test_steps_that_somebody_asked_for(service: Service, uuid: str) -> None:
    put_into(service, uuid, "manageable")
    settings = [{"name": "a", "value": "1"}]
    steps = [
        {"interface": "bios", "step": "apply_configuration", "args": {"settings": settings}, "order": 2},
        {"interface": "power", "step": "power_on", "order": 1},
        {"interface": "vendor", "step": "wait", "args": {"seconds": 0}, "order": 3},
    ]
    node = do(service, "clean", clean_steps=steps)
    assert (state_of(node), node["power_state"]) == (("manageable", None), "power on")
    assert events(service, "clean_step_start") == [
        "Step power.power_on begins", "Step bios.apply_configuration begins", "Step vendor.wait begins",
    ]  # fmt: skip
    assert events(service, "clean_step_end")[0] == "Step power.power_on is done"


def test_steps_that_the_driver_does_not_have(service: Service, uuid: str, row: Rows) -> None:
    """Found before any of them is begun: the machine is as it was, so the node is not put into maintenance."""
    for steps, text in [
        ([{"interface": "deploy", "step": "nosuch"}], "node does not support this clean step: {'interface': 'deploy'"),
        ([{**LOG_STEP, "args": {"x": 1}}], "unexpected arguments: x"),
        ([{"interface": "bios", "step": "apply_configuration"}], "missing these required arguments: settings"),
        ([{**WAIT_STEP, "args": {"seconds": "x"}}], "seconds must be a number"),
    ]:
        with row(steps, text):
            put_into(service, uuid, "manageable")
            node = do(service, "clean", clean_steps=[LOG_STEP, *steps])
            assert state_of(node) == ("clean failed", "manageable")
            assert (node["maintenance"], node["fault"]) == (False, None)
            assert node["last_error"].startswith(f"Cannot clean node {uuid}: ")
            assert text in node["last_error"]
            assert events(service, "clean_step_start") == []
            put_into(service, uuid, "active")
            node = do(service, "service", service_steps=steps)
            assert (node["provision_state"], node["maintenance"]) == ("service failed", False)


def test_deploy_steps(service: Service, uuid: str) -> None:
    """Over those of the driver; what it lacks is left out, and so is what has no priority."""
    put_into(service, uuid, "available")
    steps = [
        {"interface": "power", "step": "reboot", "args": {}, "priority": "150"},
        {"interface": "deploy", "step": "nosuch", "args": {}, "priority": 50},
    ]
    assert do(service, "active", deploy_steps=steps)["provision_state"] == "active"
    assert events(service, "deploy_step_start") == ["Step power.reboot begins", "Step deploy.deploy begins"]
    none = [{"interface": "deploy", "step": "deploy", "args": {}, "priority": 0}]
    node = do(service, "rebuild", deploy_steps=none)
    assert state_of(node) == ("deploy failed", "active")
    assert "no step of the deploy interface" in node["last_error"]


def test_whoever_lost_the_work_begins_no_further_step(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_into(service, uuid, "manageable")

    def lose(self: FakeVendor, machine: Machine) -> Any:
        service.database.write(lambda session: session.execute(delete(NodeWork)))
        return original(self, machine)

    original = FakeVendor.log_passthrough
    lose.__dict__.update(original.__dict__)
    monkeypatch.setattr(FakeVendor, "log_passthrough", lose)
    node = do(service, "clean", clean_steps=[RESET_STEP, LOG_STEP, RESET_STEP])
    assert (state_of(node), node["clean_step"]["step"]) == (("cleaning", "manageable"), "log_passthrough")
    assert events(service, "clean_step_start") == [
        "Step bios.factory_reset begins",
        "Step vendor.log_passthrough begins",
    ]
