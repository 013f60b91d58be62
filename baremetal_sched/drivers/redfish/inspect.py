"""Inspections out of band, by Redfish: what the controller says is in its machine."""

from collections.abc import Sequence

from baremetal_sched.drivers.interfaces.inspect import InspectInterface
from baremetal_sched.drivers.redfish import hardware_found
from baremetal_sched.drivers.redfish.documents import documents_of
from baremetal_sched.drivers.redfish.driver_info import Target
from baremetal_sched.machines.machine import Finding, Machine

#: Hooks that would fail for want of something that not all controllers say, by what that is in the inventory.
_NEED_INTERFACES = frozenset(("validate-interfaces", "ports", "local-link-connection", "physical-network"))
_NEED_ARCHITECTURE = frozenset(("architecture",))
_NEED_MEMORY = frozenset(("memory",))


class RedfishInspect(InspectInterface):
    """Asks the controller; what it does not say is left out."""

    def validate(self, machine: Machine) -> None:
        Target.of(machine)

    def inspect_hardware(self, machine: Machine) -> Finding:
        with documents_of(machine) as documents:
            found = hardware_found.read(documents)
        hooks = [name.strip() for name in machine.settings.redfish.inspection_hooks.split(",")]
        return Finding(found.inventory, {}, found.properties, found.capabilities, _possible(hooks, found))


def _possible(hooks: Sequence[str], found: hardware_found.Hardware) -> tuple[str, ...]:
    """The hooks that have what they need."""
    without: frozenset[str] = frozenset()
    if not found.inventory["interfaces"]:
        without |= _NEED_INTERFACES
    if not found.inventory["cpu"]["architecture"]:
        without |= _NEED_ARCHITECTURE
    if "memory" not in found.inventory:
        without |= _NEED_MEMORY
    return tuple(name for name in hooks if name and name not in without)
