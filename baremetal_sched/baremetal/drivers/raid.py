"""RAID interfaces: logical disks."""

from collections.abc import Mapping
from typing import Any, Protocol

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from baremetal_sched.baremetal.drivers.machine import Effect, Machine
from baremetal_sched.errors import InvalidValue

_DISK_PROPERTIES: dict[str, dict[str, Any]] = {
    "raid_level": {
        "enum": ["JBOD", "0", "1", "2", "5", "6", "1+0", "5+0", "6+0"],
        "description": "RAID level of the logical disk: JBOD, 0, 1, 2, 5, 6, 1+0, 5+0 or 6+0. Required.",
    },
    "size_gb": {
        "anyOf": [{"type": "integer", "minimum": 0}, {"const": "MAX"}],
        "description": "Size of the logical disk in GiB, an integer, or MAX for all that is free. Required.",
    },
    "volume_name": {
        "type": "string",
        "description": "Name of the logical disk; one is made up if it is left out. Optional.",
    },
    "is_root_volume": {
        "type": "boolean",
        "description": "Is this the disk that an instance is put on? Only one disk may be. Optional.",
    },
    "share_physical_disks": {
        "type": "boolean",
        "description": "May other logical disks be on the same physical disks? Not so unless set. Optional.",
    },
    "disk_type": {
        "enum": ["hdd", "ssd"],
        "description": "Kind of physical disks to use: hdd or ssd; any if it is left out. Optional.",
    },
    "interface_type": {
        "enum": ["sata", "scsi", "sas"],
        "description": "Interface of physical disks to use: sata, scsi or sas; any if it is left out. Optional.",
    },
    "number_of_physical_disks": {
        "type": "integer",
        "minimum": 0,
        "description": "How many physical disks to use; as few as the level needs if it is left out. Optional.",
    },
    "controller": {
        "type": "string",
        "description": "Name of the RAID controller, in the driver's words. Optional.",
    },
    "physical_disks": {
        "type": "array",
        "items": {"anyOf": [{"type": "string"}, {"type": "object"}]},
        "description": "Names of the physical disks to use, in the driver's words, or what to look for. Optional.",
    },
}

_SCHEMA = Draft202012Validator(
    {
        "type": "object",
        "properties": {
            "logical_disks": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": _DISK_PROPERTIES,
                    "required": ["raid_level", "size_gb"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["logical_disks"],
        "additionalProperties": False,
    }
)


class RaidInterface(Protocol):
    """Makes logical disks, by steps of cleaning, from the node's ``target_raid_config``."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless logical disks can be made, and those that are wanted are sound."""
        raise machine.unsupported("raid")

    def validate_raid_config(self, machine: Machine, config: Mapping[str, Any]) -> None:
        """Raise InvalidValue unless ``config`` says which logical disks are wanted."""
        raise machine.unsupported("raid")

    def get_logical_disk_properties(self) -> dict[str, str]:
        """What may be said about a logical disk, with a description each; empty if there are none."""
        return {}


class _CommonRaid(RaidInterface):
    def validate(self, machine: Machine) -> None:
        if machine.target_raid_config:
            self.validate_raid_config(machine, machine.target_raid_config)

    def validate_raid_config(self, machine: Machine, config: Mapping[str, Any]) -> None:
        error = best_match(_SCHEMA.iter_errors(config))
        if error is not None:
            raise InvalidValue(message=f"RAID config validation error: {error.message}")
        roots = [disk for disk in config["logical_disks"] if disk.get("is_root_volume")]
        if len(roots) > 1:
            raise InvalidValue(
                message="RAID config validation error: Raid config cannot have more than one root volume. "
                f"{len(roots)} root volumes were specified"
            )

    def get_logical_disk_properties(self) -> dict[str, str]:
        return {name: schema["description"] for name, schema in _DISK_PROPERTIES.items()}


class FakeRaid(_CommonRaid):
    """Keeps what is wanted; makes nothing of it."""


class AgentRaid(_CommonRaid):
    """The agent on the machine makes the disks, while it cleans."""


class NoRaid(RaidInterface):
    """There are no logical disks."""


def no_disks() -> Effect:
    """Nothing is wanted any more."""
    return Effect(fields={"target_raid_config": {}})


RAID_INTERFACES: dict[str, RaidInterface] = {"agent": AgentRaid(), "fake": FakeRaid(), "no-raid": NoRaid()}
