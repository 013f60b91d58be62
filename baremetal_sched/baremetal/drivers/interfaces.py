"""The interfaces of a machine: every implementation of every type, by name."""

from collections.abc import Mapping
from typing import Any

from baremetal_sched.baremetal.drivers.bios import BIOS_INTERFACES, BiosInterface
from baremetal_sched.baremetal.drivers.boot import BOOT_INTERFACES, BootInterface
from baremetal_sched.baremetal.drivers.console import CONSOLE_INTERFACES, ConsoleInterface
from baremetal_sched.baremetal.drivers.deploy import DEPLOY_INTERFACES, DeployInterface
from baremetal_sched.baremetal.drivers.firmware import FIRMWARE_INTERFACES, FirmwareInterface
from baremetal_sched.baremetal.drivers.inspect import INSPECT_INTERFACES, InspectInterface
from baremetal_sched.baremetal.drivers.machine import Machine
from baremetal_sched.baremetal.drivers.management import MANAGEMENT_INTERFACES, ManagementInterface
from baremetal_sched.baremetal.drivers.network import NETWORK_INTERFACES, NetworkInterface
from baremetal_sched.baremetal.drivers.power import POWER_INTERFACES, PowerInterface
from baremetal_sched.baremetal.drivers.raid import RAID_INTERFACES, RaidInterface
from baremetal_sched.baremetal.drivers.rescue import RESCUE_INTERFACES, RescueInterface
from baremetal_sched.baremetal.drivers.steps import STEP_INTERFACES, Kind, Step, steps_of
from baremetal_sched.baremetal.drivers.storage import STORAGE_INTERFACES, StorageInterface
from baremetal_sched.baremetal.drivers.vendor import VENDOR_INTERFACES, VendorInterface

#: interface type: {name: interface}
INTERFACES: Mapping[str, Mapping[str, Any]] = {
    "bios": BIOS_INTERFACES,
    "boot": BOOT_INTERFACES,
    "console": CONSOLE_INTERFACES,
    "deploy": DEPLOY_INTERFACES,
    "firmware": FIRMWARE_INTERFACES,
    "inspect": INSPECT_INTERFACES,
    "management": MANAGEMENT_INTERFACES,
    "network": NETWORK_INTERFACES,
    "power": POWER_INTERFACES,
    "raid": RAID_INTERFACES,
    "rescue": RESCUE_INTERFACES,
    "storage": STORAGE_INTERFACES,
    "vendor": VENDOR_INTERFACES,
}


class Driver:
    """The thirteen interfaces of one machine."""

    def __init__(self, machine: Machine) -> None:
        names = machine.interfaces
        self.bios: BiosInterface = BIOS_INTERFACES[names["bios"]]
        self.boot: BootInterface = BOOT_INTERFACES[names["boot"]]
        self.console: ConsoleInterface = CONSOLE_INTERFACES[names["console"]]
        self.deploy: DeployInterface = DEPLOY_INTERFACES[names["deploy"]]
        self.firmware: FirmwareInterface = FIRMWARE_INTERFACES[names["firmware"]]
        self.inspect: InspectInterface = INSPECT_INTERFACES[names["inspect"]]
        self.management: ManagementInterface = MANAGEMENT_INTERFACES[names["management"]]
        self.network: NetworkInterface = NETWORK_INTERFACES[names["network"]]
        self.power: PowerInterface = POWER_INTERFACES[names["power"]]
        self.raid: RaidInterface = RAID_INTERFACES[names["raid"]]
        self.rescue: RescueInterface = RESCUE_INTERFACES[names["rescue"]]
        self.storage: StorageInterface = STORAGE_INTERFACES[names["storage"]]
        self.vendor: VendorInterface = VENDOR_INTERFACES[names["vendor"]]

    def steps(self, kind: Kind) -> list[Step]:
        """All steps of this kind that the machine has: by falling priority, then in the order of STEP_INTERFACES."""
        found = [step for name in STEP_INTERFACES for step in steps_of(getattr(self, name), name, kind)]
        return sorted(found, key=lambda step: -step.priority)
