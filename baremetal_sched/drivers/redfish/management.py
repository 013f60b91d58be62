"""Management, by Redfish."""

from collections.abc import Collection, Mapping
from typing import Any

from sushy import ResetType, State
from sushy.exceptions import MissingAttributeError

from baremetal_sched.drivers.image_url import ImageUrl
from baremetal_sched.drivers.interfaces.hardware import Indicators, ManagementInterface, require_boot_device
from baremetal_sched.drivers.redfish import boot_settings, connection, indicators, virtual_media
from baremetal_sched.drivers.redfish.driver_info import Target
from baremetal_sched.drivers.redfish.power import offered_reset
from baremetal_sched.machines.machine import NOTHING, Effect, Machine


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
            return indicators.supported(system)

    def get_indicator_state(self, machine: Machine, component: str, indicator: str) -> str:
        with connection.system(machine) as system:
            return indicators.state(system, component, indicator)

    def set_indicator_state(self, machine: Machine, component: str, indicator: str, state: str) -> Effect:
        with connection.system(machine) as system:
            indicators.switch(system, component, indicator, state)
        return NOTHING

    def get_virtual_media(self, machine: Machine) -> list[dict[str, Any]]:
        return virtual_media.show(machine)

    def attach_virtual_media(self, machine: Machine, device_type: str, image_url: str) -> Effect:
        virtual_media.insert(machine, device_type, ImageUrl.parse("image_url", image_url, virtual_media.SCHEMES))
        return NOTHING

    def detach_virtual_media(self, machine: Machine, device_types: Collection[str]) -> Effect:
        virtual_media.eject(machine, device_types)
        return NOTHING
