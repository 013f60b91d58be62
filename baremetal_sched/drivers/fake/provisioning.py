"""Booting, deploying, inspecting and rescuing of fake machines, which only take time."""

from collections.abc import Mapping
from typing import Any

from baremetal_sched.drivers import ramdisk
from baremetal_sched.drivers.fake.hardware import FAKE_INVENTORY, busy
from baremetal_sched.drivers.interfaces.provisioning import (
    BootInterface,
    DeployInterface,
    InspectInterface,
    RescueInterface,
    StorageInterface,
)
from baremetal_sched.drivers.steps import deploy_step
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import NOTHING, Effect, Machine, MachineFinding


class FakeBoot(BootInterface):
    """Takes its time, ``[fake] boot_delay`` seconds."""

    def validate_ramdisk_instance(self, machine: Machine) -> None:
        ramdisk.require_boot_iso(machine)

    def prepare_ramdisk(self, machine: Machine) -> None:
        machine.pause("boot")

    def prepare_instance(self, machine: Machine) -> None:
        machine.pause("boot")

    def clean_up_instance(self, machine: Machine) -> None:
        machine.pause("boot")


class FakeDeploy(DeployInterface):
    """Takes its time, ``[fake] deploy_delay`` seconds, and leaves the power as it is."""

    @deploy_step(100)
    def deploy(self, machine: Machine) -> Effect:
        """Pretend to deploy an instance on the machine."""
        return busy(self, machine, "deploy", "deploy")

    def poll(self, machine: Machine, step: str, remembered: Mapping[str, Any]) -> Effect:
        return NOTHING

    def tear_down(self, machine: Machine) -> Effect:
        machine.pause("deploy")
        return NOTHING


class FakeInspect(InspectInterface):
    """Sleeps for ``[fake] inspect_delay`` seconds, and returns the node's ``properties``, overridden by
    ``fake_inventory`` in its ``driver_info``."""

    def validate(self, machine: Machine) -> None:
        if not isinstance(machine.driver_info.get(FAKE_INVENTORY, {}), dict):
            raise InvalidValue(message=f"driver_info/{FAKE_INVENTORY} must be an object, like an inventory.")

    def inspect_hardware(self, machine: Machine) -> MachineFinding | Effect:
        self.validate(machine)
        machine.pause("inspect")
        return MachineFinding(_merged(_inventory(machine), machine.driver_info.get(FAKE_INVENTORY, {})))


def _inventory(machine: Machine) -> dict[str, Any]:
    """Return the inventory of a small server with the node's properties, one disk and one network interface."""
    properties = machine.properties
    memory, serial = _count(properties.get("memory_mb"), 16384), machine.uuid.replace("-", "")
    mac_address = ":".join(("52", "54", "00", serial[-6:-4], serial[-4:-2], serial[-2:]))
    size = _count(properties.get("local_gb"), 100) * 2**30
    return {
        "hostname": f"fake-{serial[:12]}",
        "cpu": {
            "count": _count(properties.get("cpus"), 8),
            "architecture": properties.get("cpu_arch") or "x86_64",
            "model_name": "Fake CPU",
            "frequency": "2000.0",
            "flags": [],
        },
        "memory": {"physical_mb": memory, "total": memory * 2**20},
        "disks": [{"name": "/dev/fake", "size": size, "model": "Fake disk", "rotational": False, "serial": serial}],
        "interfaces": [{"name": "eth0", "mac_address": mac_address, "has_carrier": True, "speed_mbps": 10000}],
        "system_vendor": {"manufacturer": "Fake", "product_name": machine.driver, "serial_number": machine.uuid},
        "boot": {"current_boot_mode": machine.boot_mode or "bios", "pxe_interface": mac_address},
    }


def _merged(data: dict[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``data`` with the values of ``said``: objects are merged, other values are replaced."""
    merged = dict(data)
    for name, value in said.items():
        present = merged.get(name)
        merged[name] = _merged(present, value) if isinstance(present, dict) and isinstance(value, dict) else value
    return merged


def _count(value: Any, default: int) -> int:
    """Return the number that ``value`` is or contains as text, or else the default."""
    return int(value) if str(value).strip().isdecimal() else default


class FakeRescue(RescueInterface):
    """Takes its time, ``[fake] rescue_delay`` seconds."""

    def validate(self, machine: Machine) -> None:
        pass

    def rescue(self, machine: Machine) -> Effect:
        machine.pause("rescue")
        return NOTHING

    def unrescue(self, machine: Machine) -> Effect:
        machine.pause("rescue")
        return NOTHING


class FakeStorage(StorageInterface):
    """Takes its time, ``[fake] storage_delay`` seconds."""

    def attach_volumes(self, machine: Machine) -> None:
        machine.pause("storage")

    def detach_volumes(self, machine: Machine) -> None:
        machine.pause("storage")
