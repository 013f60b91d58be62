"""Hardware types and their interfaces: what a node's driver can do."""

from baremetal_sched.baremetal.drivers.base import INTERFACE_TYPES, HardwareType
from baremetal_sched.baremetal.drivers.fake import FAKE_HARDWARE
from baremetal_sched.baremetal.drivers.manual import MANUAL_MANAGEMENT

#: Every hardware type that this release knows, by name.
HARDWARE_TYPES: dict[str, HardwareType] = {kind.name: kind for kind in (FAKE_HARDWARE, MANUAL_MANAGEMENT)}

__all__ = ["HARDWARE_TYPES", "INTERFACE_TYPES", "HardwareType"]
