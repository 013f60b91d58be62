"""Management, by Redfish."""

from collections.abc import Collection
from typing import Any

from baremetal_sched.baremetal.machine import NOTHING, Effect, Machine
from baremetal_sched.drivers.image_url import ImageUrl
from baremetal_sched.drivers.interfaces.management import ManagementInterface
from baremetal_sched.drivers.redfish import virtual_media
from baremetal_sched.drivers.redfish.driver_info import Target


class RedfishManagement(ManagementInterface):
    """Asks the controller."""

    def validate(self, machine: Machine) -> None:
        Target.of(machine)

    def get_virtual_media(self, machine: Machine) -> list[dict[str, Any]]:
        return virtual_media.show(machine)

    def attach_virtual_media(self, machine: Machine, device_type: str, image_url: str) -> Effect:
        virtual_media.insert(machine, device_type, ImageUrl.parse("image_url", image_url, virtual_media.SCHEMES))
        return NOTHING

    def detach_virtual_media(self, machine: Machine, device_types: Collection[str]) -> Effect:
        virtual_media.eject(machine, device_types)
        return NOTHING
