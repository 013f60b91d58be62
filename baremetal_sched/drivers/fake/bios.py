"""BIOS settings that are only remembered."""

import json
from collections.abc import Mapping
from typing import Any

from baremetal_sched.drivers.fake.busy import busy
from baremetal_sched.drivers.interfaces.bios import BiosInterface
from baremetal_sched.drivers.steps import clean_step
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import Argument
from baremetal_sched.machines.machine import Effect, Machine

_SETTINGS = {"settings": Argument("List of settings, each an object with a name and a value.", required=True)}


#: In characters.
LONGEST_NAME = 255


class FakeBios(BiosInterface):
    """Sleeps for ``[fake] bios_delay`` seconds a step, and has the settings that were applied last."""

    def validate(self, machine: Machine) -> None:
        pass

    @clean_step(arguments=_SETTINGS)
    def apply_configuration(self, machine: Machine, settings: list[dict[str, Any]]) -> Effect:
        return busy(self, machine, "bios", "apply_configuration", {"settings": _values(settings)})

    @clean_step()
    def factory_reset(self, machine: Machine) -> Effect:
        return busy(self, machine, "bios", "factory_reset", {"settings": {}})

    @clean_step()
    def cache_bios_settings(self, machine: Machine) -> Effect:
        return busy(self, machine, "bios", "cache_bios_settings")

    def poll(self, machine: Machine, step: str, remembered: Mapping[str, Any]) -> Effect:
        return Effect(bios=remembered.get("settings"))


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
