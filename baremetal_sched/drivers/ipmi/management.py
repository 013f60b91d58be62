"""Management by ipmitool."""

from typing import Any

from baremetal_sched.drivers.interfaces.management import ManagementInterface
from baremetal_sched.drivers.ipmi import boot_device, ipmitool
from baremetal_sched.machines.machine import Effect, Machine


class IpmitoolManagement(ManagementInterface):
    """Boot devices, and interrupts."""

    def validate(self, machine: Machine) -> None:
        ipmitool.validate(machine)

    def get_supported_boot_devices(self, machine: Machine) -> list[str]:
        return list(boot_device.SUPPORTED)

    def get_boot_device(self, machine: Machine) -> dict[str, Any]:
        return boot_device.get(machine)

    def set_boot_device(self, machine: Machine, device: str, *, persistent: bool) -> Effect:
        return boot_device.choose(machine, device, persistent=persistent)

    def inject_nmi(self, machine: Machine) -> None:
        ipmitool.run(machine, "power", "diag", only_once=True, until=ipmitool.soon(machine))
