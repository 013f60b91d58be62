"""The interfaces of a machine."""

from typing import Any

from baremetal_sched.drivers import registry
from baremetal_sched.drivers.interfaces.bios import BiosInterface
from baremetal_sched.drivers.interfaces.boot import BootInterface
from baremetal_sched.drivers.interfaces.console import ConsoleInterface
from baremetal_sched.drivers.interfaces.deploy import DeployInterface
from baremetal_sched.drivers.interfaces.firmware import FirmwareInterface
from baremetal_sched.drivers.interfaces.inspect import InspectInterface
from baremetal_sched.drivers.interfaces.management import ManagementInterface
from baremetal_sched.drivers.interfaces.network import NetworkInterface
from baremetal_sched.drivers.interfaces.power import PowerInterface
from baremetal_sched.drivers.interfaces.raid import RaidInterface
from baremetal_sched.drivers.interfaces.rescue import RescueInterface
from baremetal_sched.drivers.interfaces.storage import StorageInterface
from baremetal_sched.drivers.interfaces.vendor import VendorInterface
from baremetal_sched.drivers.steps import steps_of
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import STEP_INTERFACES, Step, StepKind
from baremetal_sched.machines.machine import Machine


class Driver:
    """The thirteen interfaces of one machine."""

    bios: BiosInterface
    boot: BootInterface
    console: ConsoleInterface
    deploy: DeployInterface
    firmware: FirmwareInterface
    inspect: InspectInterface
    management: ManagementInterface
    network: NetworkInterface
    power: PowerInterface
    raid: RaidInterface
    rescue: RescueInterface
    storage: StorageInterface
    vendor: VendorInterface

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def __getattr__(self, interface_type: str) -> Any:
        """The interface of this type, loaded when it is needed: one that is missing does not disturb the others.

        Raises InvalidValue if the conductor does not have it.
        """
        name = self._machine.interfaces.get(interface_type)
        if name is None:
            raise AttributeError(interface_type)
        enabled = getattr(self._machine.settings, f"enabled_{interface_type}_interfaces")
        if enabled is not None and name not in enabled:
            raise InvalidValue(
                message=f"Could not find the {interface_type} interface '{name}'. "
                f"Valid interfaces are {sorted(enabled)}."
            )
        found = self.__dict__[interface_type] = registry.interface(interface_type, name)
        return found

    def steps(self, kind: StepKind) -> list[Step]:
        """All steps of this kind that the machine has: by falling priority, then in the order of STEP_INTERFACES."""
        found = [step for name in STEP_INTERFACES for step in steps_of(getattr(self, name), name, kind)]
        return sorted(found, key=lambda step: -step.priority)
