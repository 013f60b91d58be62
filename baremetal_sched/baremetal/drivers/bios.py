"""BIOS interfaces: settings of the firmware that runs first."""

import json
from typing import Any, Protocol

from baremetal_sched.baremetal.drivers.machine import NOTHING, Effect, Machine
from baremetal_sched.baremetal.drivers.steps import Argument, clean_step
from baremetal_sched.errors import InvalidValue

_SETTINGS = {"settings": Argument("List of settings, each an object with a name and a value.", required=True)}

#: In characters.
LONGEST_NAME = 255


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
    """Takes its time, ``[fake] bios_delay`` seconds a step, and has those settings that were applied last."""

    def validate(self, machine: Machine) -> None:
        pass

    @clean_step(arguments=_SETTINGS)
    def apply_configuration(self, machine: Machine, settings: list[dict[str, Any]]) -> Effect:
        values = _values(settings)
        machine.pause("bios")
        return Effect(bios=values)

    @clean_step()
    def factory_reset(self, machine: Machine) -> Effect:
        machine.pause("bios")
        return Effect(bios={})

    @clean_step()
    def cache_bios_settings(self, machine: Machine) -> Effect:
        machine.pause("bios")
        return NOTHING


def _values(settings: Any) -> dict[str, str | None]:
    """What a client wants set, by name. Raises InvalidValue."""
    values = {}
    for setting in settings if isinstance(settings, list) else [settings]:
        name = setting.get("name") if isinstance(setting, dict) else None
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or "value" not in setting:
            raise InvalidValue(
                message="settings has to be a list of objects with a name, a text of up to "
                f"{LONGEST_NAME} characters, and a value"
            )
        value = setting["value"]
        values[name] = value if isinstance(value, str | None) else json.dumps(value)
    return values


class NoBios(BiosInterface):
    """There is nothing to set."""


BIOS_INTERFACES: dict[str, BiosInterface] = {"fake": FakeBios(), "no-bios": NoBios()}
