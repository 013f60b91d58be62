"""Logical disks: which ones a node is to have, and what can be said about them."""

from collections.abc import Mapping
from typing import Any

from baremetal_sched.baremetal.drivers.base import HardwareType
from baremetal_sched.baremetal.drivers.interfaces import Driver
from baremetal_sched.baremetal.drivers.machine import Machine
from baremetal_sched.baremetal.drivers.raid import RAID_INTERFACES
from baremetal_sched.db.models import Node
from baremetal_sched.errors.baremetal import RaidNotSupported, UnsupportedByDriver
from baremetal_sched.settings import Settings


def set_target(node: Node, config: Mapping[str, Any], settings: Settings) -> None:
    """The node (its row locked) is to have these logical disks; ``{}`` means that nothing is wanted any more.

    Raises RaidNotSupported, InvalidValue.
    """
    machine = Machine.of(node, settings)
    interface = Driver(machine).raid
    try:
        if config:
            interface.validate_raid_config(machine, config)
    except UnsupportedByDriver as error:
        raise RaidNotSupported(driver=node.driver) from error
    node.target_raid_config = dict(config)
    node.touch()


def logical_disk_properties(hardware_type: HardwareType) -> dict[str, str]:
    """What can be said about a logical disk of a machine of this type, with a description each.

    Raises RaidNotSupported.
    """
    for name in hardware_type.interfaces["raid"]:
        properties = RAID_INTERFACES[name].get_logical_disk_properties()
        if properties:
            return properties
    raise RaidNotSupported(driver=hardware_type.name)
