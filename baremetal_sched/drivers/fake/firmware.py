"""Updates of firmware that only change version numbers."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from baremetal_sched.drivers.fake.busy import busy
from baremetal_sched.drivers.interfaces.firmware import FirmwareInterface
from baremetal_sched.drivers.steps import clean_step
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import Argument
from baremetal_sched.machines.machine import Effect, Flashed, Machine

_SETTINGS = {"settings": Argument("List of updates, each an object with a component and a url.", required=True)}


#: In characters.
LONGEST_TEXT = 255


class FakeFirmware(FirmwareInterface):
    """Takes its time, ``[fake] firmware_delay`` seconds an update.

    The version of new firmware is the name of its file, without the ending; what a machine came with is 1.0.0.
    """

    def validate(self, machine: Machine) -> None:
        pass

    @clean_step(arguments=_SETTINGS)
    def update(self, machine: Machine, settings: list[dict[str, Any]]) -> Effect:
        return busy(self, machine, "firmware", "update", {"versions": dict(_versions(settings))})

    def poll(self, machine: Machine, step: str, remembered: Mapping[str, Any]) -> Effect:
        versions = remembered["versions"].items()
        return Effect(firmware={name: Flashed("1.0.0", now, vendor="Fake", model=name) for name, now in versions})


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
