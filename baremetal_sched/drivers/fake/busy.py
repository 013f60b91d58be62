"""Machines that are busy with a step for as long as the settings say."""

from collections.abc import Mapping
from typing import Any

from baremetal_sched.drivers.interfaces.polled import PolledInterface
from baremetal_sched.machines.machine import Effect, Machine


def busy(
    interface: PolledInterface, machine: Machine, kind: str, step: str, remember: Mapping[str, Any] | None = None
) -> Effect:
    """Let the machine be busy with a step for ``[fake] <kind>_delay`` seconds; what comes of it is up to ``poll``."""
    seconds: float = getattr(machine.settings.fake, f"{kind}_delay")
    if seconds:
        return Effect(poll_after=seconds, remember=remember or {})
    return interface.poll(machine, step, remember or {})
