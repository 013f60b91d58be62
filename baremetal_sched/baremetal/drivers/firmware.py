"""Firmware interfaces: updates of firmware."""

from typing import Any, Protocol

from baremetal_sched.baremetal.drivers.machine import NOTHING, Effect, Machine
from baremetal_sched.baremetal.drivers.steps import Argument, clean_step

_SETTINGS = {"settings": Argument("List of updates, each an object with a component and a url.", required=True)}


class FirmwareInterface(Protocol):
    """Updates firmware, by steps of cleaning."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless firmware can be updated."""
        raise machine.unsupported("firmware")

    def update(self, machine: Machine, settings: list[dict[str, Any]]) -> Effect:
        """Update some components."""
        raise machine.unsupported("update")


class FakeFirmware(FirmwareInterface):
    """Takes its time, ``[fake] firmware_delay`` seconds an update."""

    def validate(self, machine: Machine) -> None:
        pass

    @clean_step(arguments=_SETTINGS)
    def update(self, machine: Machine, settings: list[dict[str, Any]]) -> Effect:
        machine.pause("firmware")
        return NOTHING


class NoFirmware(FirmwareInterface):
    """There is nothing to update."""


FIRMWARE_INTERFACES: dict[str, FirmwareInterface] = {"fake": FakeFirmware(), "no-firmware": NoFirmware()}
