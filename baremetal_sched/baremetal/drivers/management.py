"""Management interfaces: boot devices, boot mode, secure boot, interrupts and indicators."""

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from baremetal_sched.baremetal.drivers.inspect import FAKE_INVENTORY
from baremetal_sched.baremetal.drivers.machine import NOTHING, Effect, Machine
from baremetal_sched.errors import InvalidValue

#: Every boot device that the API knows.
BOOT_DEVICES = ("pxe", "disk", "cdrom", "bios", "safe", "wanboot", "iscsiboot", "floppy", "uefihttp")
BOOT_MODES = ("bios", "uefi")

Indicators = Mapping[str, Mapping[str, Mapping[str, Any]]]


class ManagementInterface(Protocol):
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
        """The state of an indicator. Raises InvalidValue if there is none of that name."""
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


def _require_device(device: str, supported: list[str]) -> None:
    if device not in supported:
        raise InvalidValue(message=f"Invalid boot device {device} specified. Supported are: {', '.join(supported)}.")


class FakeManagement(ManagementInterface):
    """Boots from the network, whatever it is told; has a lamp of its own and one on its chassis, and the interfaces of
    ``fake_inventory`` in its ``driver_info``."""

    _INDICATORS: Indicators = {
        "chassis": {"led-0": {"readonly": True, "states": ["off", "on"]}},
        "system": {"led": {"readonly": False, "states": ["blinking", "off", "on"]}},
    }

    def validate(self, machine: Machine) -> None:
        pass

    def get_supported_boot_devices(self, machine: Machine) -> list[str]:
        return ["pxe"]

    def get_boot_device(self, machine: Machine) -> dict[str, Any]:
        return {"boot_device": "pxe", "persistent": False}

    def set_boot_device(self, machine: Machine, device: str, *, persistent: bool) -> Effect:
        _require_device(device, self.get_supported_boot_devices(machine))
        return NOTHING

    def get_mac_addresses(self, machine: Machine) -> list[str]:
        found = machine.driver_info.get(FAKE_INVENTORY)
        interfaces = found.get("interfaces") if isinstance(found, dict) else None
        return [
            str(interface.get("mac_address"))
            for interface in (interfaces if isinstance(interfaces, list) else ())
            if isinstance(interface, dict)
        ]

    def get_supported_indicators(self, machine: Machine) -> Indicators:
        return self._INDICATORS

    def get_indicator_state(self, machine: Machine, component: str, indicator: str) -> str:
        if component not in self._INDICATORS:
            raise InvalidValue(message=f"Invalid component {component} specified.")
        if indicator not in self._INDICATORS[component]:
            raise InvalidValue(message=f"Invalid indicator {indicator} specified.")
        return "on"

    def attach_virtual_media(self, machine: Machine, device_type: str, image_url: str) -> Effect:
        return NOTHING

    def detach_virtual_media(self, machine: Machine, device_types: Collection[str]) -> Effect:
        return NOTHING


class NoopManagement(ManagementInterface):
    """The machine is set up by hand: to boot from the network first, and from its disk after that."""

    def validate(self, machine: Machine) -> None:
        pass

    def get_supported_boot_devices(self, machine: Machine) -> list[str]:
        return ["disk", "pxe"]

    def get_boot_device(self, machine: Machine) -> dict[str, Any]:
        return {"boot_device": "pxe", "persistent": True}

    def set_boot_device(self, machine: Machine, device: str, *, persistent: bool) -> Effect:
        _require_device(device, self.get_supported_boot_devices(machine))
        return NOTHING


MANAGEMENT_INTERFACES: dict[str, ManagementInterface] = {"fake": FakeManagement(), "noop": NoopManagement()}
