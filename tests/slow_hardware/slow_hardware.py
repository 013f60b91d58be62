"""Fake machines whose every method does what the node says, in ``slow`` of its ``driver_info``, before it is run.

``slow`` has instructions by method, ``power.get_power_state``, by interface, ``power``, or for all, ``*``::

    {"seconds": 2}                      it takes so long
    {"fails": "disk 3 is broken"}       a SchedulerError
    {"raises": "oops"}                  an error that nobody expects
    {"unreachable": true}               nobody answers at the address
    {"hangs": true}                     it never returns

In ``driver_info``, ``journal`` is a file that gets a line for each call, and ``power_state`` the state that the machine
is in; without it, that is the one that its node says.
"""

import functools
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from baremetal_sched.drivers import noop
from baremetal_sched.drivers.fake import hardware, provisioning
from baremetal_sched.drivers.registry import HardwareType
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Machine


def obey(machine: Machine, interface_type: str, method: str) -> None:
    """Do what the node says about this method. Raises InvalidValue, RuntimeError, ConnectionError."""
    journal = machine.driver_info.get("journal")
    if journal:
        with Path(journal).open("a") as file:
            file.write(f"{interface_type}.{method}\n")
    told = machine.driver_info.get("slow") or {}
    instruction = told.get(f"{interface_type}.{method}") or told.get(interface_type) or told.get("*") or {}
    if instruction.get("hangs"):
        threading.Event().wait()
    time.sleep(instruction.get("seconds", 0))
    if instruction.get("unreachable"):
        raise ConnectionError("No route to host")
    if "raises" in instruction:
        raise RuntimeError(instruction["raises"])
    if "fails" in instruction:
        raise InvalidValue(message=instruction["fails"])


def _obeying(interface_type: str, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)  # and it is a step if the method is one
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        if arguments and isinstance(arguments[0], Machine):
            obey(arguments[0], interface_type, name)
        return method(self, *arguments, **named)

    return call


def slow(interface_type: str, base: type) -> type:
    """``base``, whose methods do first what the node says."""
    methods = {name: getattr(base, name) for name in dir(base) if not name.startswith("_")}
    obeying = {name: _obeying(interface_type, name, method) for name, method in methods.items() if callable(method)}
    return type(f"Slow{base.__name__}", (base,), obeying)


class Power(hardware.FakePower):
    """Power that may change by itself."""

    only_remembers = False

    def get_power_state(self, machine: Machine) -> str | None:
        state: str | None = machine.driver_info.get("power_state", machine.power_state)
        return state


SlowBios = slow("bios", hardware.FakeBios)
SlowBoot = slow("boot", provisioning.FakeBoot)
SlowConsole = slow("console", hardware.FakeConsole)
SlowDeploy = slow("deploy", provisioning.FakeDeploy)
SlowFirmware = slow("firmware", hardware.FakeFirmware)
SlowInspect = slow("inspect", provisioning.FakeInspect)
SlowManagement = slow("management", hardware.FakeManagement)
SlowNetwork = slow("network", noop.NoopNetwork)
SlowPower = slow("power", Power)
SlowRaid = slow("raid", hardware.FakeRaid)
SlowRescue = slow("rescue", provisioning.FakeRescue)
SlowStorage = slow("storage", provisioning.FakeStorage)
SlowVendor = slow("vendor", hardware.FakeVendor)

_TYPES = (
    *("bios", "boot", "console", "deploy", "firmware", "inspect", "management", "network", "power", "raid", "rescue"),
    *("storage", "vendor"),
)

SLOW_HARDWARE = HardwareType(name="slow-hardware", interfaces=dict.fromkeys(_TYPES, ("slow",)))
