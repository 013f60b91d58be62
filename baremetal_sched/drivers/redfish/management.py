"""Management by Redfish: boot settings, indicators, and vendor methods."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from sushy import Health, IndicatorLED, ResetType, State
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
from baremetal_sched.drivers.redfish.driver_info import RedfishInterface, RedfishTarget
from baremetal_sched.drivers.redfish.failures import NONSENSE
from baremetal_sched.drivers.redfish.power import offered_reset
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import VendorMethod
from baremetal_sched.machines.machine import NOTHING, Effect, Machine

_STATES = {IndicatorLED.LIT: "on", IndicatorLED.OFF: "off", IndicatorLED.BLINKING: "blinking"}
_LAMPS = {name: indicator_state for indicator_state, name in _STATES.items()}
#: The argument of eject_vmedia.
_DEVICE = "boot_device"
_PROPERTIES = {"readonly": False, "states": ["blinking", "off", "on"]}


def _find(system: System, component: str, indicator: str) -> Any:
    for kind, name, resource in _all(system):
        if (kind, name) == (component, indicator):
            return resource
    raise InvalidValue(message=f"The machine has no indicator {indicator} of component {component}.")


def _all(system: System) -> Iterator[tuple[str, str, Any]]:
    """Yield component, name and resource of each indicator that the controller reports."""
    if system.indicator_led and system.uuid:
        yield "system", str(system.uuid), system
    yield from _optional(_chassis(system))
    yield from _optional(_drives(system))


def _optional(readings: Iterator[tuple[str, str, Any]]) -> Iterator[tuple[str, str, Any]]:
    try:
        yield from readings
    except (NoConnection, AccessError):
        raise
    except (SushyError, *NONSENSE):  # it lacks these resources, fails on requests for them, or answers nonsense
        return


def _chassis(system: System) -> Iterator[tuple[str, str, Any]]:
    for chassis in system.chassis or ():
        if chassis.indicator_led and chassis.uuid:
            yield "chassis", str(chassis.uuid), chassis


def _drives(system: System) -> Iterator[tuple[str, str, Any]]:
    collection = system.storage
    for name in collection.members_identities:
        yield from _optional(_drives_of(collection, name))


def _drives_of(collection: Any, name: str) -> Iterator[tuple[str, str, Any]]:
    storage = collection.get_member(name)
    for drive in storage.drives:
        if drive.indicator_led:
            yield "disk", f"{storage.identity}:{drive.identity}", drive


class RedfishManagement(RedfishInterface, ManagementInterface):
    """Reads and changes boot settings, indicators and virtual media by the controller."""

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
            except (MissingAttributeError, *NONSENSE):
                return []
            enabled = (each for each in found if each.status is None or each.status.state in (None, State.ENABLED))
            return [each.mac_address.lower() for each in enabled if isinstance(each.mac_address, str)]

    def get_node_health(self, machine: Machine) -> str | None:
        with connection.system(machine) as system:
            health = system.status.health if system.status else None
            return health.value if isinstance(health, Health) else None

    def inject_nmi(self, machine: Machine) -> None:
        with connection.system(machine) as system:
            system.reset_system(offered_reset(machine, system, ResetType.NMI))

    def get_supported_indicators(self, machine: Machine) -> Indicators:
        with connection.system(machine) as system:
            found: dict[str, dict[str, dict[str, Any]]] = {}
            for component, name, _ in _all(system):
                found.setdefault(component, {})[name] = dict(_PROPERTIES)
            return found

    def get_indicator_state(self, machine: Machine, component: str, indicator: str) -> str:
        with connection.system(machine) as system:
            # A controller need not report it.
            return _STATES.get(_find(system, component, indicator).indicator_led, "unknown")

    def set_indicator_state(self, machine: Machine, component: str, indicator: str, state: str) -> Effect:
        if state not in _LAMPS:
            raise InvalidValue(
                message=f"Invalid indicator state {state} specified. It may be: {', '.join(sorted(_LAMPS))}."
            )
        with connection.system(machine) as system:
            _find(system, component, indicator).set_indicator_led(_LAMPS[state])
        return NOTHING

    def get_virtual_media(self, machine: Machine) -> list[dict[str, Any]]:
        return virtual_media.show(machine)

    def attach_virtual_media(self, machine: Machine, device_type: str, image_url: str) -> Effect:
        virtual_media.insert(machine, device_type, ImageUrl.parse("image_url", image_url, virtual_media.SCHEMES))
        return NOTHING

    def detach_virtual_media(self, machine: Machine, device_types: Collection[str]) -> Effect:
        virtual_media.eject(machine, device_types)
        return NOTHING


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
        RedfishTarget.of(machine)

    def call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> Any:
        virtual_media.eject(machine, _types(arguments))


def _types(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the types of the devices to eject; empty means all. Raises InvalidValue."""
    name = arguments.get(_DEVICE)
    if not name:
        return ()
    known = virtual_media.NAMES.get(name.lower()) if isinstance(name, str) else None
    if known is None:
        raise InvalidValue(message=f"{_DEVICE} must be one of cd, dvd, usb and floppy, not {str(name)[:40]!r}.")
    return (known,)
