"""The driver of a node: its interfaces, and the switching of its power by any power interface."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from baremetal_sched.drivers import registry
from baremetal_sched.drivers.interfaces.hardware import (
    BiosInterface,
    ConsoleInterface,
    FirmwareInterface,
    ManagementInterface,
    PowerInterface,
    RaidInterface,
    VendorInterface,
)
from baremetal_sched.drivers.interfaces.provisioning import (
    BootInterface,
    DeployInterface,
    InspectInterface,
    NetworkInterface,
    RescueInterface,
    StorageInterface,
)
from baremetal_sched.drivers.steps import steps_of
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import STEP_INTERFACES, Step, StepKind
from baremetal_sched.machines.machine import Effect, Machine
from baremetal_sched.machines.states import REBOOT, SOFT_REBOOT


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
        """Return the interface of this type, loaded when it is needed: a missing one does not affect the others.

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
        """Return all steps of this kind: by falling priority, then in the order of STEP_INTERFACES."""
        found = [step for name in STEP_INTERFACES for step in steps_of(getattr(self, name), name, kind)]
        return sorted(found, key=lambda step: -step.priority)


def switch(machine: Machine, target: str, timeout: int | None = None, *, power: PowerInterface | None = None) -> Effect:
    """Call ``set_power_state`` of ``power``, by default the machine's power interface; record that the power changed.

    ``last_power_state_change`` in ``driver_internal_info`` is the time (UTC) when the change began. It is kept if
    the machine was in the requested state already, except for a reboot.
    """
    began = datetime.now(UTC).replace(tzinfo=None).isoformat()
    done = (power or Driver(machine).power).set_power_state(machine, target, timeout)
    effect = done if isinstance(done, Effect) else Effect(fields={"power_state": done})
    if target in (REBOOT, SOFT_REBOOT) or effect.fields["power_state"] != machine.power_state:
        return replace(effect, internal={**effect.internal, "last_power_state_change": began})
    return effect
