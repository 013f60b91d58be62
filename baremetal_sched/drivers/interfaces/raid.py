"""RAID interfaces: logical disks."""

from collections.abc import Mapping
from typing import Any, Protocol

from baremetal_sched.drivers.interfaces.polled import PolledInterface
from baremetal_sched.machines.machine import Machine


class RaidInterface(PolledInterface, Protocol):
    """Makes logical disks, by steps of cleaning, from the node's ``target_raid_config``."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless logical disks are supported, and the requested ones are valid."""
        raise machine.unsupported("raid")

    def get_raid_config_schema(self) -> Mapping[str, Any]:
        """The JSON Schema of ``target_raid_config``; empty if the interface makes no logical disks."""
        return {}

    def get_logical_disk_properties(self) -> dict[str, str]:
        """Return the properties of a logical disk, with a description each; empty if they are not supported."""
        return {}
