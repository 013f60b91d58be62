"""The nodes that the originals' databases are filled with. Standard library only: three Pythons import it."""

import uuid
from datetime import datetime, timedelta
from typing import Any

NODES = 120
#: Names of all rows are derived from these, so that both originals and tests agree on UUIDs.
SPACE = uuid.UUID("5d2c0c2e-0000-4000-8000-000000000000")
NOW = datetime(2026, 5, 1, 12, 0, 0)

STATES = (
    *("enroll", "verifying", "manageable", "available", "active", "error"),
    *("cleaning", "clean wait", "clean hold", "clean failed"),
    *("inspecting", "inspect wait", "inspect failed", "adopting", "adopt failed"),
    *("deploying", "wait call-back", "deploy hold", "deploy failed", "deleting"),
    *("rescue", "rescuing", "rescue wait", "rescue failed", "unrescuing", "unrescue failed"),
    *("servicing", "service wait", "service hold", "service failed"),
)
#: With an instance.
IN_USE = frozenset(STATES[15:]) | {"active"}
#: As long as a node is not known to be fit, nothing of it is offered: not every state needs a target.
TARGETS = {"clean failed": "available", "deploy failed": "active", "cleaning": "available"}
INTERFACES = (
    *("bios", "boot", "console", "deploy", "firmware", "inspect", "management"),
    *("power", "raid", "rescue", "storage", "vendor"),
)


def name_of(kind: str, number: int) -> str:
    """The UUID of a row."""
    return str(uuid.uuid5(SPACE, f"{kind} {number}"))


def class_of(number: int) -> str:
    """The resource class of a node."""
    return ("gold", "silver.v2")[number % 2]


def state_of(number: int) -> str:
    """The provision state of a node."""
    return STATES[number % len(STATES)] if number < 2 * len(STATES) else ("available", "active")[number % 2]


def instance_of(number: int) -> str | None:
    """The instance of a node."""
    return name_of("instance", number) if state_of(number) in IN_USE else None


def traits_of(number: int) -> list[str]:
    """The traits of a node."""
    return [f"CUSTOM_RACK_{number % 7}", *(["HW_CPU_X86_VMX"] if number % 3 else [])]


def node_values(number: int) -> dict[str, Any]:
    """The fields of a node."""
    state = state_of(number)
    values = {
        "uuid": name_of("node", number),
        "name": f"node-{number}" if number % 5 else None,
        "driver": "fake-hardware",
        "driver_info": {"ipmi_address": f"10.0.0.{number}", "ipmi_password": f"secret {number}", "n": 1.0},
        "driver_internal_info": {
            "last_power_state_change": "2026-04-01T00:00:00.000000",
            "agent_url": "http://10.0.0.1:9999",
            "agent_secret_token": "of the agent",
        },
        "properties": {"cpus": 8, "memory_mb": 1024, "local_gb": 10, "cpu_arch": "x86_64", "capabilities": "a:b"},
        "extra": {"text": "ä€𝄞", "list": [1, {"two": None}]},
        "resource_class": class_of(number),
        "provision_state": state,
        "target_provision_state": TARGETS.get(state),
        "provision_updated_at": NOW - timedelta(hours=number),
        "power_state": "power on" if number % 4 else "power off",
        "conductor_group": ("", "rack-a")[number % 2],
        "automated_clean": (None, True, False)[number % 3],
        "protected": False,
        "network_interface": "noop",
        **{f"{kind}_interface": "fake" for kind in INTERFACES},
        "boot_mode": "uefi" if number % 2 else None,
        "secure_boot": bool(number % 3),
        "disable_power_off": number % 11 == 0,
        "inspection_finished_at": NOW if number % 2 else None,
        "inspection_started_at": NOW - timedelta(minutes=10) if number % 2 else None,
        "raid_config": {"logical_disks": [{"size_gb": 100, "raid_level": "1"}]} if number % 3 else {},
        "target_raid_config": {"logical_disks": []} if number % 3 else {},
        "description": f"Machine {number}" if number % 2 else None,
        "owner": f"project-{number % 3}" if number % 4 else None,
        "lessee": "project-9" if number % 6 == 0 else None,
        "shard": f"shard-{number % 2}" if number % 3 else None,
        "network_data": {"links": []} if number % 5 == 0 else {},
        "health": "OK" if number % 2 else None,
        "last_error": "It failed" if "fail" in state else None,
    }
    if number % 10 == 1:
        values |= {"maintenance": True, "maintenance_reason": "a fan", "fault": "power failure"}
    if number % 12 == 2:
        values |= {"retired": True, "retired_reason": "old"}
    if instance := instance_of(number):
        values |= {
            "instance_uuid": instance,
            "instance_info": {"image_source": "http://images/a?sig=1", "root_gb": 10},
            "instance_name": f"server-{number}",
        }
        if state == "active" and number % 2:
            values |= {"protected": True, "protected_reason": "needed", "console_enabled": True}
    return values
