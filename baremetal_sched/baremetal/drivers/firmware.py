"""Firmware interfaces: updates of firmware."""

from pathlib import PurePosixPath
from typing import Any, Protocol
from urllib.parse import urlsplit

from baremetal_sched.baremetal.drivers.machine import Effect, Flashed, Machine
from baremetal_sched.baremetal.drivers.steps import Argument, clean_step
from baremetal_sched.errors import InvalidValue

_SETTINGS = {"settings": Argument("List of updates, each an object with a component and a url.", required=True)}

#: In characters.
LONGEST_TEXT = 255


class FirmwareInterface(Protocol):
    """Updates firmware, by steps of cleaning."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless firmware can be updated."""
        raise machine.unsupported("firmware")

    def update(self, machine: Machine, settings: list[dict[str, Any]]) -> Effect:
        """Update some components."""
        raise machine.unsupported("update")


class FakeFirmware(FirmwareInterface):
    """Takes its time, ``[fake] firmware_delay`` seconds an update.

    The version of new firmware is the name of its file, without the ending; what a machine came with is 1.0.0.
    """

    def validate(self, machine: Machine) -> None:
        pass

    @clean_step(arguments=_SETTINGS)
    def update(self, machine: Machine, settings: list[dict[str, Any]]) -> Effect:
        flashed = {name: Flashed("1.0.0", version, vendor="Fake", model=name) for name, version in _versions(settings)}
        machine.pause("firmware")
        return Effect(firmware=flashed)


def _versions(settings: Any) -> list[tuple[str, str]]:
    """Components that a client wants updated, with the version of each. Raises InvalidValue."""
    found = []
    for setting in settings if isinstance(settings, list) else [settings]:
        wanted = setting if isinstance(setting, dict) else {}
        name, version = wanted.get("component"), _file_name(wanted.get("url"))
        if not isinstance(name, str) or not (0 < len(name) <= LONGEST_TEXT and 0 < len(version) <= LONGEST_TEXT):
            raise InvalidValue(
                message="settings has to be a list of objects with a component and the url of a file, whose names have "
                f"up to {LONGEST_TEXT} characters"
            )
        found.append((name, version))
    return found


def _file_name(url: Any) -> str:
    try:
        return PurePosixPath(urlsplit(url).path).stem if isinstance(url, str) else ""
    except ValueError:
        return ""


class NoFirmware(FirmwareInterface):
    """There is nothing to update."""


FIRMWARE_INTERFACES: dict[str, FirmwareInterface] = {"fake": FakeFirmware(), "no-firmware": NoFirmware()}
