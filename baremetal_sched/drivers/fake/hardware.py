"""``fake-hardware`` and the functions of its controllers: power, boot devices, BIOS, firmware, RAID, vendor methods."""

import json
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from baremetal_sched.drivers.interfaces.hardware import (
    BiosInterface,
    ConsoleInterface,
    FirmwareInterface,
    Indicators,
    ManagementInterface,
    PolledInterface,
    PowerInterface,
    VendorInterface,
    require_boot_device,
)
from baremetal_sched.drivers.logical_disks import CommonRaid
from baremetal_sched.drivers.registry import HardwareType
from baremetal_sched.drivers.steps import clean_step, service_step
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import Argument, VendorMethod
from baremetal_sched.machines.machine import NOTHING, Effect, Flashed, Machine
from baremetal_sched.machines.states import POWER_TARGETS

#: The key in ``driver_info`` of the inventory of a fake machine, beyond its ``properties``.
FAKE_INVENTORY = "fake_inventory"

_SETTINGS = {"settings": Argument("List of settings, each an object with a name and a value.", required=True)}
_UPDATES = {"settings": Argument("List of updates, each an object with a component and a url.", required=True)}

#: The longest name of a setting or component, and the longest version, in characters.
LONGEST_TEXT = 255


def busy(
    interface: PolledInterface, machine: Machine, kind: str, step: str, remember: Mapping[str, Any] | None = None
) -> Effect:
    """Let the machine be busy with a step for ``[fake] <kind>_delay`` seconds; ``poll`` then returns the result."""
    seconds: float = getattr(machine.settings.fake, f"{kind}_delay")
    if seconds:
        return Effect(poll_after=seconds, remember=remember or {})
    return interface.poll(machine, step, remember or {})


class FakePower(PowerInterface):
    """Takes any requested state after ``[fake] power_delay`` seconds. The first state is unknown, as with Ironic's."""

    only_remembers = True

    def get_power_state(self, machine: Machine) -> str | None:
        return machine.power_state

    def set_power_state(self, machine: Machine, target: str, timeout: int | None = None) -> str:
        machine.pause("power")
        return POWER_TARGETS[target]


class FakeManagement(ManagementInterface):
    """Always boots from the network. It has an indicator, as has its chassis, and the network interfaces that
    ``fake_inventory`` in its ``driver_info`` lists."""

    _INDICATORS: Indicators = {
        "chassis": {"led-0": {"readonly": True, "states": ["off", "on"]}},
        "system": {"led": {"readonly": False, "states": ["blinking", "off", "on"]}},
    }

    def get_supported_boot_devices(self, machine: Machine) -> list[str]:
        return ["pxe"]

    def get_boot_device(self, machine: Machine) -> dict[str, Any]:
        return {"boot_device": "pxe", "persistent": False}

    def set_boot_device(self, machine: Machine, device: str, *, persistent: bool) -> Effect:
        require_boot_device(device, self.get_supported_boot_devices(machine))
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
    """Return the requested values by the names of their settings. Raises InvalidValue."""
    values = {}
    for setting in settings if isinstance(settings, list) else [settings]:
        name = setting.get("name") if isinstance(setting, dict) else None
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_TEXT or "value" not in setting:
            raise InvalidValue(
                message="settings must be a list of objects with a name, a text of up to "
                f"{LONGEST_TEXT} characters, and a value"
            )
        value = setting["value"]
        values[name] = value if isinstance(value, str | None) else json.dumps(value)
    return values


class FakeFirmware(FirmwareInterface):
    """Takes its time, ``[fake] firmware_delay`` seconds an update.

    The version of new firmware is the name of its file without the suffix; the initial version is 1.0.0.
    """

    def validate(self, machine: Machine) -> None:
        pass

    @clean_step(arguments=_UPDATES)
    def update(self, machine: Machine, settings: list[dict[str, Any]]) -> Effect:
        return busy(self, machine, "firmware", "update", {"versions": dict(_versions(settings))})

    def poll(self, machine: Machine, step: str, remembered: Mapping[str, Any]) -> Effect:
        versions = remembered["versions"].items()
        return Effect(firmware={name: Flashed("1.0.0", now, vendor="Fake", model=name) for name, now in versions})


def _versions(settings: Any) -> list[tuple[str, str]]:
    """Return the components to update, with the new version of each. Raises InvalidValue."""
    versions = []
    for setting in settings if isinstance(settings, list) else [settings]:
        update = setting if isinstance(setting, dict) else {}
        name, version = update.get("component"), _file_name(update.get("url"))
        if not isinstance(name, str) or not (0 < len(name) <= LONGEST_TEXT and 0 < len(version) <= LONGEST_TEXT):
            raise InvalidValue(
                message="settings must be a list of objects with a component and the url of a file, whose names have "
                f"up to {LONGEST_TEXT} characters"
            )
        versions.append((name, version))
    return versions


def _file_name(url: Any) -> str:
    try:
        return PurePosixPath(urlsplit(url).path).stem if isinstance(url, str) else ""
    except ValueError:
        return ""


class FakeRaid(CommonRaid):
    """Stores the target configuration, without any effect."""


class FakeConsole(ConsoleInterface):
    """A console that shows nothing, and cannot be reached."""

    def validate(self, machine: Machine) -> None:
        pass

    def start_console(self, machine: Machine) -> None:
        pass

    def stop_console(self, machine: Machine) -> None:
        pass

    def get_console(self, machine: Machine) -> dict[str, Any]:
        return {}


class FakeVendor(VendorInterface):
    """Compares words, and has steps that do nothing but take ``[fake] vendor_delay`` seconds."""

    methods = {
        "second_method": VendorMethod("Test if the value of bar is kazoo"),
        "third_method_sync": VendorMethod("Test if the value of bar is meow", asynchronous=False),
        "fourth_method_shared_lock": VendorMethod("Test if the value of bar is woof", require_exclusive_lock=False),
        "log_passthrough": VendorMethod("Test pass-through to wait."),
    }
    _WORDS = {"second_method": "kazoo", "third_method_sync": "meow", "fourth_method_shared_lock": "woof"}

    def validate_call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> None:
        if method in self._WORDS and not arguments.get("bar"):
            raise InvalidValue(message=f"Parameter 'bar' not passed to method '{method}'.")

    def call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> Any:
        if self.methods[method].asynchronous:
            machine.pause("vendor")
        return arguments.get("bar") == self._WORDS[method] if method in self._WORDS else None

    @clean_step(1)
    @service_step(requires_ramdisk=False)
    def log_passthrough(self, machine: Machine) -> Effect:
        """Take some time."""
        return busy(self, machine, "vendor", "log_passthrough")

    def poll(self, machine: Machine, step: str, remembered: Mapping[str, Any]) -> Effect:
        return NOTHING

    @service_step()
    def trigger_servicewait(self, machine: Machine) -> Effect:
        """Wait for an agent to report."""
        return Effect(waits=True)


FAKE_HARDWARE = HardwareType(
    name="fake-hardware",
    interfaces={
        "bios": ("fake", "no-bios"),
        "boot": ("fake", "ipxe", "pxe"),
        "console": ("fake", "no-console"),
        "deploy": ("fake", "direct", "custom-agent", "autodetect"),
        "firmware": ("fake", "no-firmware"),
        "inspect": ("fake", "agent", "no-inspect"),
        "management": ("fake",),
        "network": ("noop",),
        "power": ("fake",),
        "raid": ("fake", "agent", "no-raid"),
        "rescue": ("fake", "no-rescue"),
        "storage": ("noop", "fake"),
        "vendor": ("fake", "no-vendor"),
    },
    properties={"B1": "B1 description. Required.", "B2": "B2 description. Required."},
    accepts_any=True,
)
