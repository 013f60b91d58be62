"""Management interfaces: boot devices, boot mode, secure boot, interrupts and indicators."""

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from baremetal_sched.drivers.interfaces.polled import PolledInterface
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Effect, Machine

Indicators = Mapping[str, Mapping[str, Mapping[str, Any]]]


class ManagementInterface(PolledInterface, Protocol):
    """Called in requests: it must not take long, and changes nothing but what its Effect says."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the machine can be managed."""

    def get_supported_boot_devices(self, machine: Machine) -> list[str]:
        """Devices that the machine can be told to boot from."""
        raise machine.unsupported("get_supported_boot_devices")

    def get_boot_device(self, machine: Machine) -> dict[str, Any]:
        """``{"boot_device": …, "persistent": …}``."""
        raise machine.unsupported("get_boot_device")

    def set_boot_device(self, machine: Machine, device: str, *, persistent: bool) -> Effect:
        """Boot from ``device``: the next time, or always. Raises InvalidValue for one that the machine lacks."""
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
        """Addresses of network interfaces that are in use, as the management controller knows them."""
        raise machine.unsupported("get_mac_addresses")

    def inject_nmi(self, machine: Machine) -> None:
        """Send a non-maskable interrupt."""
        raise machine.unsupported("inject_nmi")

    def get_supported_indicators(self, machine: Machine) -> Indicators:
        """Indicators by component and name: ``{"readonly": …, "states": […]}``."""
        raise machine.unsupported("get_supported_indicators")

    def get_indicator_state(self, machine: Machine, component: str, indicator: str) -> str:
        """Return the state of an indicator. Raises InvalidValue if it does not exist."""
        raise machine.unsupported("get_indicator_state")

    def set_indicator_state(self, machine: Machine, component: str, indicator: str, state: str) -> Effect:
        """Switch an indicator."""
        raise machine.unsupported("set_indicator_state")

    def get_virtual_media(self, machine: Machine) -> list[dict[str, Any]]:
        """The virtual devices, and what is in them."""
        raise machine.unsupported("get_virtual_media")

    def attach_virtual_media(self, machine: Machine, device_type: str, image_url: str) -> Effect:
        """Insert an image into a virtual device."""
        raise machine.unsupported("attach_virtual_media")

    def detach_virtual_media(self, machine: Machine, device_types: Collection[str]) -> Effect:
        """Eject what is in these devices; none named means all."""
        raise machine.unsupported("detach_virtual_media")


def require_boot_device(device: str, supported: list[str]) -> None:
    """Raise InvalidValue for a device that the machine cannot be told to boot from."""
    if device not in supported:
        raise InvalidValue(message=f"Invalid boot device {device} specified. Supported are: {', '.join(supported)}.")
