"""A node of a machine behind our own Redfish service, and steps on it."""

from typing import Any

import pytest

from baremetal_sched.drivers.redfish import power
from baremetal_sched.machines.machine import Machine
from baremetal_sched.machines.states import POWER_OFF, POWER_ON
from tests.redfish_service import Controller, RedfishService
from tests.service import Service

#: Steps are looked at all the time.
QUICK = {
    "firmware_update_status_interval": 0.02,
    "firmware_update_bmc_version_check_interval": 0.02,
    "firmware_update_validation_interval": 0.0,
    "firmware_update_nic_starting_wait": 0.05,
    "firmware_update_resource_validation_timeout": 2,
    "firmware_update_overall_timeout": 20,
    "connection_attempts": 1,
    "read_timeout": 0.5,
}
SETTINGS: dict[str, dict[str, Any]] = {"DEFAULT": {"enabled_hardware_types": "fake-hardware,redfish"}, "redfish": QUICK}


def switch_at_once(monkeypatch: pytest.MonkeyPatch, controller: Controller) -> None:
    """Let the power interface switch the machine past the controller's waiting times; its own tests are elsewhere."""

    def set_power_state(self: Any, machine: Machine, target: str, timeout: int | None = None) -> str:
        with controller.lock:
            controller.note("SWITCH", target, None)
            controller.reset("ForceOff" if target == "power off" else "ForceRestart")
        return POWER_OFF if target == "power off" else POWER_ON

    monkeypatch.setattr(power.RedfishPower, "set_power_state", set_power_state)


def manageable(service: Service, running: RedfishService, **driver_info: Any) -> str:
    """The node n1 of the machine, which is manageable."""
    body = {
        "driver": "redfish",
        "name": "n1",
        "resource_class": "gold",
        "driver_info": running.driver_info(**driver_info),
    }
    uuid: str = service.baremetal("POST", "/nodes", body).json["uuid"]
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "manage"}, status=202)
    service.work()
    node = service.node("n1")
    assert node["provision_state"] == "manageable", node["last_error"]
    return uuid


def clean(service: Service, *steps: dict[str, Any]) -> dict[str, Any]:
    """Do steps on n1, until that has ended; returns the node."""
    begin(service, *steps)
    while service.node("n1")["reservation"] is not None:
        service.work()
    return service.node("n1")


def begin(service: Service, *steps: dict[str, Any], verb: str = "clean") -> None:
    """Ask for steps on n1."""
    body = {"target": verb, f"{verb}_steps": list(steps)}
    service.baremetal("PUT", "/nodes/n1/states/provision", body, status=202)


def apply(**values: Any) -> dict[str, Any]:
    """The step that sets these BIOS settings."""
    settings = [{"name": name, "value": value} for name, value in values.items()]
    return {"interface": "bios", "step": "apply_configuration", "args": {"settings": settings}}


def update(*updates: dict[str, Any]) -> dict[str, Any]:
    """The step that does these updates of firmware."""
    return {"interface": "firmware", "step": "update", "args": {"settings": list(updates)}}


def flash(component: str, version: str = "2.0.0", **more: Any) -> dict[str, Any]:
    """An update of a component to this version; see ``tests.redfish_service.updates``."""
    file = f"{component.partition(':')[0]}-{version}.bin"
    return {"component": component, "url": f"http://images.example.com/{file}", **more}
