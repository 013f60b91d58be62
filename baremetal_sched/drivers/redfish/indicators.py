"""Lamps of a machine, its chassis and its drives, by Redfish."""

from collections.abc import Iterator
from typing import Any

from sushy import IndicatorLED
from sushy.exceptions import AccessError, SushyError
from sushy.exceptions import ConnectionError as NoConnection
from sushy.resources.system.system import System

from baremetal_sched.errors import InvalidValue

_STATES = {IndicatorLED.LIT: "on", IndicatorLED.OFF: "off", IndicatorLED.BLINKING: "blinking"}
_LAMPS = {name: state for state, name in _STATES.items()}
_PROPERTIES = {"readonly": False, "states": ["blinking", "off", "on"]}


def supported(system: System) -> dict[str, dict[str, dict[str, Any]]]:
    """As ``ManagementInterface.get_supported_indicators`` has it."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for component, name, _ in _all(system):
        found.setdefault(component, {})[name] = dict(_PROPERTIES)
    return found


def state(system: System, component: str, indicator: str) -> str:
    """Return its state, ``unknown`` if the controller does not report it. Raises InvalidValue if it does not exist."""
    return _STATES.get(_find(system, component, indicator).indicator_led, "unknown")


def switch(system: System, component: str, indicator: str, wanted: str) -> None:
    """Switch it. Raises InvalidValue if it does not exist, or does not support the state."""
    if wanted not in _LAMPS:
        raise InvalidValue(
            message=f"Invalid indicator state {wanted} specified. It may be: {', '.join(sorted(_LAMPS))}."
        )
    _find(system, component, indicator).set_indicator_led(_LAMPS[wanted])


def _find(system: System, component: str, indicator: str) -> Any:
    for kind, name, resource in _all(system):
        if (kind, name) == (component, indicator):
            return resource
    raise InvalidValue(message=f"The machine has no indicator {indicator} of component {component}.")


def _all(system: System) -> Iterator[tuple[str, str, Any]]:
    """Component, name, and the resource that has the lamp. What the controller does not offer has none."""
    if system.indicator_led and system.uuid:
        yield "system", str(system.uuid), system
    yield from _optional(_chassis(system))
    yield from _optional(_drives(system))


def _optional(found: Iterator[tuple[str, str, Any]]) -> Iterator[tuple[str, str, Any]]:
    try:
        yield from found
    except (NoConnection, AccessError):
        raise
    except SushyError:  # it has no such resources, or fails when it is asked for them
        return


def _chassis(system: System) -> Iterator[tuple[str, str, Any]]:
    for chassis in system.chassis or ():
        if chassis.indicator_led and chassis.uuid:
            yield "chassis", str(chassis.uuid), chassis


def _drives(system: System) -> Iterator[tuple[str, str, Any]]:
    for storage in system.storage.get_members():
        for drive in storage.drives:
            if drive.indicator_led:
                yield "disk", f"{storage.identity}:{drive.identity}", drive
