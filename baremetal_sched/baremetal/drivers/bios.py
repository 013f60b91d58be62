"""BIOS interfaces: settings of the firmware that runs first."""

from typing import Any, Protocol

from baremetal_sched.baremetal.drivers.machine import NOTHING, Effect, Machine
from baremetal_sched.baremetal.drivers.steps import Argument, clean_step

_SETTINGS = {"settings": Argument("List of settings, each an object with a name and a value.", required=True)}


class BiosInterface(Protocol):
    """Changes BIOS settings, by steps of cleaning."""

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


class FakeBios(BiosInterface):
    """Takes its time, ``[fake] bios_delay`` seconds a step."""

    def validate(self, machine: Machine) -> None:
        pass

    @clean_step(arguments=_SETTINGS)
    def apply_configuration(self, machine: Machine, settings: list[dict[str, Any]]) -> Effect:
        machine.pause("bios")
        return NOTHING

    @clean_step()
    def factory_reset(self, machine: Machine) -> Effect:
        machine.pause("bios")
        return NOTHING

    @clean_step()
    def cache_bios_settings(self, machine: Machine) -> Effect:
        machine.pause("bios")
        return NOTHING


class NoBios(BiosInterface):
    """There is nothing to set."""


BIOS_INTERFACES: dict[str, BiosInterface] = {"fake": FakeBios(), "no-bios": NoBios()}
