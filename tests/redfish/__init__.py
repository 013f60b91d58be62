"""Machines behind Redfish controllers, for tests."""

from typing import Any

from baremetal_sched.db.models import Node
from baremetal_sched.machines.interface_types import INTERFACE_TYPES
from baremetal_sched.machines.machine import Machine
from baremetal_sched.settings import Settings, load
from tests.waiting import PATIENCE

PASSWORD = "Bmc-Passw0rd"


def machine(address: str = "https://bmc1.example.com", *, settings: Settings | None = None, **info: Any) -> Machine:
    """A machine at ``address``, with more in its ``driver_info``; what is None there is left out.

    Its node has been written nowhere. Attempts to connect are not repeated unless the settings say so.
    """
    interfaces = dict.fromkeys(INTERFACE_TYPES, "redfish")
    node = Node(
        uuid="5a2f8f52-5d5d-4b5d-9f0a-3c1f5a2f8f52",
        driver="redfish",
        provision_state="manageable",
        retired=False,
        automated_clean=False,
        console_enabled=False,
        disable_power_off=False,
        driver_info={name: value for name, value in {"redfish_address": address, **info}.items() if value is not None},
        **{f"{kind}_interface": name for kind, name in interfaces.items()},
    )
    return Machine.of(node, settings or quick())


def quick(**options: Any) -> Settings:
    """Settings with which nothing is tried again; ``options`` are those of [redfish]."""
    waits = {"connect_timeout": PATIENCE, "read_timeout": PATIENCE}
    return load(overrides={"redfish": {"connection_attempts": 1, **waits, **options}})
