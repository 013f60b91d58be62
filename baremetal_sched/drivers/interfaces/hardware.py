"""Protocols of interfaces to the hardware: power, management, BIOS, firmware, RAID, console, vendor methods."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import VendorMethod
from baremetal_sched.machines.machine import Effect, Machine
from baremetal_sched.machines.states import POWER_TARGETS
from baremetal_sched.settings import Settings

Indicators = Mapping[str, Mapping[str, Mapping[str, Any]]]


class PolledInterface(Protocol):
    """An interface whose steps may be busy on the machine after the call has returned."""

    def poll(self, machine: Machine, step: str, remembered: Mapping[str, Any]) -> Effect:
        """Return the progress of a step that has returned an ``Effect`` with ``poll_after``.

        ``step`` is the name of the method, ``remembered`` the value of ``remember`` in that Effect, after a conversion
        to JSON and back. Another Effect with ``poll_after`` means that the machine is still busy; any other means that
        the step is done. Raises a SchedulerError, in words for people, if the step has failed.

        Any conductor may call this, and may repeat the last call if the conductor that made it died. So it only asks,
        and changes nothing that cannot be changed twice.
        """
        raise machine.unsupported(step)


class PowerInterface(PolledInterface, Protocol):
    """Switches the power of a machine."""

    #: Whether the power state is only stored in the node, so that there is nothing to compare it with.
    only_remembers: bool = False

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError, in words for people, unless the power can be switched."""

    def get_supported_power_states(self, machine: Machine) -> Sequence[str]:
        """Return the keys of POWER_TARGETS that the machine supports."""
        return tuple(POWER_TARGETS)

    def get_power_state(self, machine: Machine) -> str | None:
        """Return the power state of the machine: on, off, or None if it is unknown. Raises a SchedulerError."""

    def set_power_state(self, machine: Machine, target: str, timeout: int | None = None) -> str | Effect:
        """Bring the machine to ``target`` (a key of POWER_TARGETS); returns the state that it is in afterwards, or an
        Effect whose ``fields`` have it as ``power_state``.

        ``timeout`` is in seconds. It returns when the machine is in that state: see ``drivers.power_waiting``. Raises
        a SchedulerError, in words for ``last_error``, if it fails.
        """

    def close(self, seconds: float) -> None:
        """End all sessions, within ``seconds``, as the conductor stops."""


class ManagementInterface(PolledInterface, Protocol):
    """Called in requests: it must not take long, and changes only the fields that its Effect has."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the machine can be managed."""

    def get_supported_boot_devices(self, machine: Machine) -> list[str]:
        """Return the devices from which the machine can boot."""
        raise machine.unsupported("get_supported_boot_devices")

    def get_boot_device(self, machine: Machine) -> dict[str, Any]:
        """Return ``{"boot_device": …, "persistent": …}``."""
        raise machine.unsupported("get_boot_device")

    def set_boot_device(self, machine: Machine, device: str, *, persistent: bool) -> Effect:
        """Boot from ``device``: the next time, or always. Raises InvalidValue if the machine does not support it."""
        raise machine.unsupported("set_boot_device")

    def get_boot_settings(self, machine: Machine) -> Mapping[str, Any]:
        """Return ``boot_mode`` (one of BOOT_MODES) and ``secure_boot`` of the machine; None if the machine does not
        report it.

        A key that cannot be queried is left out. Raises a SchedulerError.
        """
        return {}

    def set_boot_mode(self, machine: Machine, mode: str) -> Effect:
        """Boot in ``mode``, one of BOOT_MODES."""
        raise machine.unsupported("set_boot_mode")

    def set_secure_boot(self, machine: Machine, enabled: bool) -> Effect:
        """Switch secure boot."""
        raise machine.unsupported("set_secure_boot_state")

    def get_mac_addresses(self, machine: Machine) -> list[str]:
        """Return the addresses of network interfaces in use, as the management controller reports them."""
        raise machine.unsupported("get_mac_addresses")

    def get_node_health(self, machine: Machine) -> str | None:
        """Return the health that the management controller reports, "OK", "Warning" or "Critical"; None: it reports
        none."""
        raise machine.unsupported("get_node_health")

    def inject_nmi(self, machine: Machine) -> None:
        """Send a non-maskable interrupt."""
        raise machine.unsupported("inject_nmi")

    def get_supported_indicators(self, machine: Machine) -> Indicators:
        """Return the indicators by component and name: ``{"readonly": …, "states": […]}``."""
        raise machine.unsupported("get_supported_indicators")

    def get_indicator_state(self, machine: Machine, component: str, indicator: str) -> str:
        """Return the state of an indicator. Raises InvalidValue if it does not exist."""
        raise machine.unsupported("get_indicator_state")

    def set_indicator_state(self, machine: Machine, component: str, indicator: str, state: str) -> Effect:
        """Switch an indicator."""
        raise machine.unsupported("set_indicator_state")

    def get_virtual_media(self, machine: Machine) -> list[dict[str, Any]]:
        """Return the virtual devices with their images."""
        raise machine.unsupported("get_virtual_media")

    def attach_virtual_media(self, machine: Machine, device_type: str, image_url: str) -> Effect:
        """Insert an image into a virtual device."""
        raise machine.unsupported("attach_virtual_media")

    def detach_virtual_media(self, machine: Machine, device_types: Collection[str]) -> Effect:
        """Eject the images of these devices; of all devices if none is named."""
        raise machine.unsupported("detach_virtual_media")


def require_boot_device(device: str, supported: list[str]) -> None:
    """Raise InvalidValue for a device from which the machine cannot boot."""
    if device not in supported:
        raise InvalidValue(message=f"Invalid boot device {device} specified. Supported are: {', '.join(supported)}.")


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
        """Reset all settings to their factory defaults."""
        raise machine.unsupported("factory_reset")

    def cache_bios_settings(self, machine: Machine) -> Effect:
        """Read all settings."""
        raise machine.unsupported("cache_bios_settings")


class FirmwareInterface(PolledInterface, Protocol):
    """Updates firmware, by steps of cleaning."""

    #: Whether ``cache_firmware_components`` can be called.
    reads_components: bool = False

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless firmware can be updated."""
        raise machine.unsupported("firmware")

    def update(self, machine: Machine, settings: list[dict[str, Any]]) -> Effect:
        """Update some components."""
        raise machine.unsupported("update")

    def cache_firmware_components(self, machine: Machine) -> Effect:
        """Read the firmware versions of all components."""
        raise machine.unsupported("cache_firmware_components")


class RaidInterface(PolledInterface, Protocol):
    """Makes logical disks, by steps of cleaning, from the node's ``target_raid_config``."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless logical disks are supported, and the requested ones are valid."""
        raise machine.unsupported("raid")

    def get_raid_config_schema(self) -> Mapping[str, Any]:
        """The JSON Schema of ``target_raid_config``; empty if the interface makes no logical disks."""
        return {}

    def get_logical_disk_properties(self) -> dict[str, str]:
        """Return the properties of a logical disk, with a description each; empty if they are not supported."""
        return {}


class ConsoleInterface(Protocol):
    """Called in requests: it must not take long."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless there is a console."""
        raise machine.unsupported("console")

    def start_console(self, machine: Machine) -> None:
        """Switch the console on."""
        raise machine.unsupported("console")

    def stop_console(self, machine: Machine) -> None:
        """Switch the console off."""
        raise machine.unsupported("console")

    def get_console(self, machine: Machine) -> dict[str, Any]:
        """Return how clients connect to the console."""
        raise machine.unsupported("console")


class VendorInterface(PolledInterface, Protocol):
    """Has methods of its own: ``call`` calls one of ``methods``."""

    methods: Mapping[str, VendorMethod]
    #: Methods that need no machine. A hardware type has the methods of its default vendor interface.
    driver_methods: Mapping[str, VendorMethod] = {}

    def validate_call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> None:
        """Raise InvalidValue unless the method accepts these arguments."""

    def call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> Any:
        """Call one of the methods; return its result, which must be JSON."""

    def call_driver(self, method: str, arguments: Mapping[str, Any], settings: Settings) -> Any:
        """Call one of ``driver_methods``; return its result. Raises InvalidValue for invalid arguments."""
        raise InvalidValue(message=f"No handler for method {method}")
