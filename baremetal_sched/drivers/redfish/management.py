"""Management by Redfish: boot, lamps, and methods of vendors."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from sushy import IndicatorLED, ResetType, State
from sushy.exceptions import AccessError, MissingAttributeError, SushyError
from sushy.exceptions import ConnectionError as NoConnection
from sushy.resources.system.system import System

from baremetal_sched.drivers.boot_settings import ImageUrl
from baremetal_sched.drivers.interfaces.hardware import (
    Indicators,
    ManagementInterface,
    VendorInterface,
    require_boot_device,
)
from baremetal_sched.drivers.redfish import boot_settings, connection, virtual_media
from baremetal_sched.drivers.redfish.driver_info import Target
from baremetal_sched.drivers.redfish.power import offered_reset
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import VendorMethod
from baremetal_sched.machines.machine import NOTHING, Effect, Machine

_STATES = {IndicatorLED.LIT: "on", IndicatorLED.OFF: "off", IndicatorLED.BLINKING: "blinking"}
_LAMPS = {name: indicator_state for indicator_state, name in _STATES.items()}
_PROPERTIES = {"readonly": False, "states": ["blinking", "off", "on"]}


def supported_indicators(system: System) -> dict[str, dict[str, dict[str, Any]]]:
    """As ``ManagementInterface.get_supported_indicators`` has it."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for component, name, _ in _all(system):
        found.setdefault(component, {})[name] = dict(_PROPERTIES)
    return found


def indicator_state(system: System, component: str, indicator: str) -> str:
    """Return its state, ``unknown`` if the controller does not report it. Raises InvalidValue if it does not exist."""
    return _STATES.get(_find(system, component, indicator).indicator_led, "unknown")


def switch_indicator(system: System, component: str, indicator: str, wanted: str) -> None:
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


class RedfishManagement(ManagementInterface):
    """Asks the controller, and has it change what it is told to."""

    def validate(self, machine: Machine) -> None:
        Target.of(machine)

    def get_supported_boot_devices(self, machine: Machine) -> list[str]:
        return list(boot_settings.SOURCES)

    def get_boot_device(self, machine: Machine) -> dict[str, Any]:
        with connection.system(machine) as system:
            return boot_settings.get(system)

    def set_boot_device(self, machine: Machine, device: str, *, persistent: bool) -> Effect:
        require_boot_device(device, self.get_supported_boot_devices(machine))
        return boot_settings.set_device(machine, device, persistent=persistent)

    def get_boot_settings(self, machine: Machine) -> Mapping[str, Any]:
        return boot_settings.known(machine)

    def set_boot_mode(self, machine: Machine, mode: str) -> Effect:
        return boot_settings.set_mode(machine, mode)

    def set_secure_boot(self, machine: Machine, enabled: bool) -> Effect:
        return boot_settings.set_secure_boot(machine, enabled)

    def get_mac_addresses(self, machine: Machine) -> list[str]:
        with connection.system(machine) as system:
            try:
                found = system.ethernet_interfaces.get_members()
            except MissingAttributeError:
                return []
            enabled = (each for each in found if each.status is None or each.status.state in (None, State.ENABLED))
            return [each.mac_address.lower() for each in enabled if isinstance(each.mac_address, str)]

    def inject_nmi(self, machine: Machine) -> None:
        with connection.system(machine) as system:
            system.reset_system(offered_reset(machine, system, ResetType.NMI))

    def get_supported_indicators(self, machine: Machine) -> Indicators:
        with connection.system(machine) as system:
            return supported_indicators(system)

    def get_indicator_state(self, machine: Machine, component: str, indicator: str) -> str:
        with connection.system(machine) as system:
            return indicator_state(system, component, indicator)

    def set_indicator_state(self, machine: Machine, component: str, indicator: str, state: str) -> Effect:
        with connection.system(machine) as system:
            switch_indicator(system, component, indicator, state)
        return NOTHING

    def get_virtual_media(self, machine: Machine) -> list[dict[str, Any]]:
        return virtual_media.show(machine)

    def attach_virtual_media(self, machine: Machine, device_type: str, image_url: str) -> Effect:
        virtual_media.insert(machine, device_type, ImageUrl.parse("image_url", image_url, virtual_media.SCHEMES))
        return NOTHING

    def detach_virtual_media(self, machine: Machine, device_types: Collection[str]) -> Effect:
        virtual_media.eject(machine, device_types)
        return NOTHING


_DEVICE = "boot_device"


class RedfishVendor(VendorInterface):
    """Ejects virtual media, as clients did before there was an API for that."""

    methods = {
        "eject_vmedia": VendorMethod(
            "Eject a virtual media device, or all of them. Optional argument: boot_device - the device to eject, one "
            "of 'cd', 'dvd', 'usb' and 'floppy'."
        )
    }

    def validate_call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> None:
        surplus = sorted(set(arguments) - {_DEVICE})
        if surplus:
            raise InvalidValue(message=f"The method {method} takes no argument but {_DEVICE}.")
        _types(arguments)
        Target.of(machine)

    def call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> Any:
        virtual_media.eject(machine, _types(arguments))


def _types(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The types of devices that are meant; none means all. Raises InvalidValue."""
    if not arguments.get(_DEVICE):
        return ()
    try:
        return (virtual_media.require_type(arguments[_DEVICE]),)
    except ValueError as error:
        raise InvalidValue(message=f"{_DEVICE} {error}.") from error
