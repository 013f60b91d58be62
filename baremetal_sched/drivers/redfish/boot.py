"""Booting from virtual media, by Redfish."""

from baremetal_sched.drivers import boot_settings
from baremetal_sched.drivers.driver import Driver
from baremetal_sched.drivers.image_url import ImageUrl
from baremetal_sched.drivers.interfaces.boot import BootInterface
from baremetal_sched.drivers.ramdisk import instance
from baremetal_sched.drivers.redfish import virtual_media
from baremetal_sched.drivers.redfish.boot_properties import DEPLOY_ISO, RESCUE_ISO
from baremetal_sched.drivers.redfish.driver_info import Target
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Effect, Machine
from baremetal_sched.machines.states import RESCUE, RESCUING


class RedfishVirtualMedia(BootInterface):
    """The controller fetches an ISO image, and the machine boots it as if it were a disc in its drive."""

    def validate(self, machine: Machine) -> None:
        Target.of(machine)
        for name in (DEPLOY_ISO, RESCUE_ISO):
            if machine.driver_info.get(name):
                ImageUrl.parse(f"driver_info/{name}", machine.driver_info[name])
        if machine.interfaces["deploy"] == "ramdisk":
            self.validate_ramdisk_instance(machine)
        else:
            _agent_iso(machine)

    def validate_ramdisk_instance(self, machine: Machine) -> None:
        instance.require_boot_iso(machine)
        boot_settings.wanted_mode(machine)

    def prepare_ramdisk(self, machine: Machine) -> Effect | None:
        virtual_media.insert(machine, virtual_media.CDROM, _agent_iso(machine))
        return boot_settings.apply(machine, virtual_media.CDROM, persistent=False)

    def clean_up_ramdisk(self, machine: Machine) -> Effect | None:
        virtual_media.eject(machine)
        return None

    def prepare_instance(self, machine: Machine) -> Effect | None:
        if machine.interfaces["deploy"] != "ramdisk":
            virtual_media.eject(machine)
            return Driver(machine).management.set_boot_device(machine, "disk", persistent=True)
        virtual_media.insert(machine, virtual_media.CDROM, instance.require_boot_iso(machine))
        return boot_settings.apply(machine, virtual_media.CDROM, persistent=True)

    def clean_up_instance(self, machine: Machine) -> Effect | None:
        virtual_media.eject(machine)
        return boot_settings.take_back(machine)


def _agent_iso(machine: Machine) -> ImageUrl:
    """Return the image with the agent. Raises InvalidValue if it is missing or not valid."""
    name = RESCUE_ISO if machine.provision_state in (RESCUING, RESCUE) else DEPLOY_ISO
    value = machine.driver_info.get(name)
    if not value:
        raise InvalidValue(
            message=f"driver_info/{name} is missing: the URL (http or https) of an ISO image with an agent, which the "
            "machine is to boot. Of a kernel and a ramdisk no ISO is built here."
        )
    return ImageUrl.parse(f"driver_info/{name}", value)
