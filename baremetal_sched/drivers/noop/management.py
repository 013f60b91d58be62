"""Management by hand."""

from typing import Any

from baremetal_sched.drivers.interfaces.management import ManagementInterface, require_boot_device
from baremetal_sched.machines.machine import NOTHING, Effect, Machine


class NoopManagement(ManagementInterface):
    """The machine is set up by hand: to boot from the network first, and from its disk after that."""

    def validate(self, machine: Machine) -> None:
        pass

    def get_supported_boot_devices(self, machine: Machine) -> list[str]:
        return ["disk", "pxe"]

    def get_boot_device(self, machine: Machine) -> dict[str, Any]:
        return {"boot_device": "pxe", "persistent": True}

    def set_boot_device(self, machine: Machine, device: str, *, persistent: bool) -> Effect:
        require_boot_device(device, self.get_supported_boot_devices(machine))
        return NOTHING
