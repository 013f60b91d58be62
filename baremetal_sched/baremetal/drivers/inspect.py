"""Inspect interfaces: what is in a machine."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from baremetal_sched.baremetal.drivers.machine import Machine


@dataclass(frozen=True)
class Finding:
    """What an inspection found. ``inventory`` is as Ironic's agent reports it: cpu, memory, disks, interfaces, …."""

    inventory: dict[str, Any] = field(default_factory=dict)
    plugin_data: dict[str, Any] = field(default_factory=dict)


class InspectInterface(Protocol):
    """Finds out what is in a machine."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the machine can be inspected."""
        raise machine.unsupported("inspect")

    def inspect_hardware(self, machine: Machine) -> Finding | None:
        """What is in the machine; None if an agent on it will report."""
        raise machine.unsupported("inspect")


class FakeInspect(InspectInterface):
    """Takes its time, ``[fake] inspect_delay`` seconds, and finds what the node's ``properties`` say."""

    def validate(self, machine: Machine) -> None:
        pass

    def inspect_hardware(self, machine: Machine) -> Finding | None:
        machine.pause("inspect")
        properties = machine.properties
        inventory = {
            "cpu": {
                "count": _count(properties.get("cpus")),
                "architecture": properties.get("cpu_arch", "x86_64"),
                "model_name": "Fake CPU",
                "flags": [],
            },
            "memory": {"physical_mb": _count(properties.get("memory_mb")), "total": None},
            "disks": [{"name": "/dev/fake", "size": _count(properties.get("local_gb")) * 2**30, "model": "Fake disk"}],
            "interfaces": [],
            "system_vendor": {"manufacturer": "Fake", "product_name": machine.driver, "serial_number": machine.uuid},
            "boot": {"current_boot_mode": machine.boot_mode or "bios"},
        }
        return Finding(inventory)


def _count(value: Any) -> int:
    return int(value) if str(value).strip().isdecimal() else 0


class NoInspect(InspectInterface):
    """The machine cannot be inspected."""


INSPECT_INTERFACES: dict[str, InspectInterface] = {"fake": FakeInspect(), "no-inspect": NoInspect()}
