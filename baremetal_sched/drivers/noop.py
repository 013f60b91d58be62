"""Interfaces of machines that lack a feature, or whose feature is managed elsewhere."""

from collections.abc import Mapping
from typing import Any

from baremetal_sched.drivers.interfaces.hardware import (
    BiosInterface,
    ConsoleInterface,
    FirmwareInterface,
    ManagementInterface,
    RaidInterface,
    VendorInterface,
    require_boot_device,
)
from baremetal_sched.drivers.interfaces.provisioning import (
    DeployInterface,
    InspectInterface,
    NetworkInterface,
    RescueInterface,
    StorageInterface,
)
from baremetal_sched.drivers.steps import deploy_step
from baremetal_sched.machines.interface_types import VendorMethod
from baremetal_sched.machines.machine import NOTHING, Effect, Machine


class NoopManagement(ManagementInterface):
    """The machine is set up by hand: to boot from the network first, and from its disk after that."""

    def get_supported_boot_devices(self, machine: Machine) -> list[str]:
        return ["disk", "pxe"]

    def get_boot_device(self, machine: Machine) -> dict[str, Any]:
        return {"boot_device": "pxe", "persistent": True}

    def set_boot_device(self, machine: Machine, device: str, *, persistent: bool) -> Effect:
        require_boot_device(device, self.get_supported_boot_devices(machine))
        return NOTHING


class NoBios(BiosInterface):
    """There is nothing to set."""


class NoFirmware(FirmwareInterface):
    """There is nothing to update."""


class NoRaid(RaidInterface):
    """There are no logical disks."""


class NoConsole(ConsoleInterface):
    """There is no console."""


class NoVendor(VendorInterface):
    """Has no methods."""

    methods: Mapping[str, VendorMethod] = {}

    def validate_call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> None:
        raise machine.unsupported("vendor passthru")

    def call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> Any:
        raise machine.unsupported("vendor passthru")


class NoopDeploy(DeployInterface):
    """The instance is deployed outside of this service."""

    @deploy_step(100)
    def deploy(self, machine: Machine) -> Effect:
        """Nothing is to be done."""
        return NOTHING


class NoInspect(InspectInterface):
    """The machine cannot be inspected."""


class NoRescue(RescueInterface):
    """The machine cannot be rescued."""


class NoopStorage(StorageInterface):
    """There are no remote volumes."""


class NoopNetwork(NetworkInterface):
    """The network is managed elsewhere: attached interfaces are ignored."""

    def vif_list(self, machine: Machine) -> list[dict[str, str]]:
        return []

    def vif_attach(self, machine: Machine, vif: Mapping[str, Any]) -> Effect:
        return NOTHING

    def vif_detach(self, machine: Machine, vif_id: str) -> Effect:
        return NOTHING
