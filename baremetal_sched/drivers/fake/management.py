"""A management controller that answers from constants."""

from collections.abc import Collection
from typing import Any

from baremetal_sched.drivers.fake.inspect import FAKE_INVENTORY
from baremetal_sched.drivers.interfaces.management import Indicators, ManagementInterface, require_boot_device
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import NOTHING, Effect, Machine


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
