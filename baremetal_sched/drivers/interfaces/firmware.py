"""Firmware interfaces: updates of firmware."""

from typing import Any, Protocol

from baremetal_sched.drivers.interfaces.polled import PolledInterface
from baremetal_sched.machines.machine import Effect, Machine


class FirmwareInterface(PolledInterface, Protocol):
    """Updates firmware, by steps of cleaning."""

    #: Whether ``cache_firmware_components`` can be called.
    reads_components: bool = False

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless firmware can be updated."""
        raise machine.unsupported("firmware")

    def update(self, machine: Machine, settings: list[dict[str, Any]]) -> Effect:
        """Update some components."""
        raise machine.unsupported("update")

    def cache_firmware_components(self, machine: Machine) -> Effect:
        """Look which components have firmware, and which."""
        raise machine.unsupported("cache_firmware_components")
