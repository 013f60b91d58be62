"""Logical disks as Ironic describes them, for all RAID interfaces that accept this description."""

from collections.abc import Mapping
from typing import Any

from baremetal_sched.drivers.interfaces.hardware import RaidInterface
from baremetal_sched.machines.machine import Machine, check_raid_config

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


_SCHEMA: dict[str, Any] = {
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


class CommonRaid(RaidInterface):
    """Accepts logical disks in this description."""

    def validate(self, machine: Machine) -> None:
        if machine.target_raid_config:
            check_raid_config(machine.target_raid_config, _SCHEMA)

    def get_raid_config_schema(self) -> Mapping[str, Any]:
        return _SCHEMA

    def get_logical_disk_properties(self) -> dict[str, str]:
        return {name: schema["description"] for name, schema in _DISK_PROPERTIES.items()}
