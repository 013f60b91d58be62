"""BIOS interfaces: settings of the firmware that runs first."""

from typing import Any, Protocol

from baremetal_sched.drivers.interfaces.polled import PolledInterface
from baremetal_sched.machines.machine import Effect, Machine


class BiosInterface(PolledInterface, Protocol):
    """Changes BIOS settings, by steps of cleaning."""

    #: Whether ``cache_bios_settings`` can be called at any time, and returns the settings.
    reads_settings: bool = False

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the settings can be changed."""
        raise machine.unsupported("bios")

    def apply_configuration(self, machine: Machine, settings: list[dict[str, Any]]) -> Effect:
        """Set some settings."""
        raise machine.unsupported("apply_configuration")

    def factory_reset(self, machine: Machine) -> Effect:
        """Set all settings to what they were when the machine was new."""
        raise machine.unsupported("factory_reset")

    def cache_bios_settings(self, machine: Machine) -> Effect:
        """Read all settings."""
        raise machine.unsupported("cache_bios_settings")
