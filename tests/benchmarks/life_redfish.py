"""What ``node_life --redfish`` measures: emulated systems that are managed, switched, and asked for their power.

Both Ironic and we have the hardware type ``redfish`` and these interfaces. The emulator is another process, whose
processor is not counted.
"""

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from tests.benchmarks.baremetal import original
from tests.benchmarks.life_sides import Side
from tests.emulators import Emulator

#: Interfaces of the nodes. The emulated systems have no BIOS settings and no firmware.
INTERFACES = {
    "bios": "no-bios",
    "boot": "redfish-virtual-media",
    "deploy": "ramdisk",
    "firmware": "no-firmware",
    "inspect": "no-inspect",
    "management": "redfish",
    "power": "redfish",
    "raid": "no-raid",
    "rescue": "no-rescue",
    "vendor": "no-vendor",
}
#: Phases of a turn, in order: the emulated systems are off at first.
PHASES = ("manage", "power on", "power off")

#: Takes nodes of a side through a phase; returns the milliseconds of a processor for each of them.
Phase = Callable[[Side, str, list[str]], float]


def options_of_ours(interval: int) -> dict[str, str]:
    """Return the environment of our services; the power is asked every ``interval`` seconds, if that is not 0."""
    return {
        "OS_DEFAULT__ENABLED_HARDWARE_TYPES": "redfish",
        "OS_CONDUCTOR__SYNC_POWER_STATE_INTERVAL": str(interval),
    }


def settings_of_ironic(interval: int) -> str:
    """Return the template of Ironic's settings; for ``interval`` see ``options_of_ours``."""
    text = original.SETTINGS.replace("enabled_hardware_types = fake-hardware", "enabled_hardware_types = redfish")
    for kind, name in {**INTERFACES, "console": "no-console"}.items():
        text = text.replace(f"enabled_{kind}_interfaces = fake", f"enabled_{kind}_interfaces = {name}")
    return text.replace("sync_power_state_interval = 0", f"sync_power_state_interval = {interval}")


class Systems:
    """Nodes of a side, one for each system of ``emulator``: those of the turn before are deleted."""

    def __init__(self, emulator: Emulator, phase: Phase) -> None:
        self._emulator = emulator
        self._phase = phase
        self._nodes: dict[str, list[str]] = {}

    def __call__(self, side: Side, nodes: int) -> dict[str, float]:
        """Return the milliseconds of a processor for a node, by phase."""
        return self._take(side, nodes, PHASES)

    def manage(self, side: Side, nodes: int) -> None:
        """Create this number of nodes and bring them to the state manageable."""
        self._take(side, nodes, PHASES[:1])

    def _take(self, side: Side, nodes: int, phases: Sequence[str]) -> dict[str, float]:
        side.client = side.client.another()  # servers close connections that rest
        for node in self._nodes.pop(side.name, ()):
            side.client.call("DELETE", f"/v1/nodes/{node}", expect=204)
        names = self._nodes[side.name] = side.new_names(nodes)
        for number, node in enumerate(names):
            body: dict[str, Any] = {f"{kind}_interface": name for kind, name in INTERFACES.items()}
            body |= {"driver": "redfish", "name": node, "driver_info": self._emulator.driver_info(number)}
            side.client.call("POST", "/v1/nodes", body, expect=201)
        return {name: self._phase(side, name, names) for name in phases}


def windows(sides: Sequence[Side], seconds: int, times: int) -> dict[str, float]:
    """Send nothing for some seconds; return the processor seconds that each side used, medians of ``times``."""
    found: dict[str, list[float]] = {side.name: [] for side in sides}
    for _ in range(times):
        before = {side.name: side.processor() for side in sides}
        time.sleep(seconds)
        for side in sides:
            found[side.name].append(side.processor() - before[side.name])
    return {name: median(each) for name, each in found.items()}


def rounds(asked: dict[str, float], alone: dict[str, float], nodes: int) -> dict[str, dict[str, float]]:
    """Return the rows of the table about the power sync, from windows with a round and without one, by side."""
    return {
        name: {
            "one round of the power sync": 1000 * (asked[name] - alone[name]) / nodes,
            "at rest, as long as between two rounds": 1000 * alone[name] / nodes,
        }
        for name in asked
    }
