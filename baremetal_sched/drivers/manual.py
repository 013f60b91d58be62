"""``manual-management``: machines that people switch, and that boot from a server outside of this service."""

from baremetal_sched.drivers import ramdisk
from baremetal_sched.drivers.driver import Driver
from baremetal_sched.drivers.interfaces.provisioning import BootInterface
from baremetal_sched.drivers.registry import HardwareType
from baremetal_sched.errors.baremetal import UnsupportedByDriver
from baremetal_sched.machines.machine import Effect, Machine

_DEVICE = "pxe"


class NetworkBoot(BootInterface):
    """The machine boots over the network, from a server outside of this service that knows the machine.

    That server decides what it boots; here the machine is only set to boot from the network, if it can be.
    """

    def validate_ramdisk_instance(self, machine: Machine) -> None:
        ramdisk.require_no_boot_iso(machine)

    def prepare_ramdisk(self, machine: Machine) -> Effect | None:
        return _boot_from_network(machine, persistent=False)

    def prepare_instance(self, machine: Machine) -> Effect | None:
        if machine.interfaces["deploy"] != "ramdisk":
            return None  # it is on a disk
        return _boot_from_network(machine, persistent=True)


def _boot_from_network(machine: Machine, *, persistent: bool) -> Effect | None:
    management = Driver(machine).management
    try:
        if _DEVICE in management.get_supported_boot_devices(machine):
            return management.set_boot_device(machine, _DEVICE, persistent=persistent)
    except UnsupportedByDriver:
        pass  # it boots from the device that was set outside of this service
    return None


MANUAL_MANAGEMENT = HardwareType(
    name="manual-management",
    interfaces={
        "bios": ("no-bios",),
        "boot": ("ipxe", "pxe"),
        "console": ("no-console",),
        "deploy": ("direct", "custom-agent", "noop"),
        "firmware": ("no-firmware",),
        "inspect": ("no-inspect", "agent"),
        "management": ("noop", "fake"),
        "network": ("noop",),
        "power": ("agent", "fake"),
        "raid": ("no-raid", "agent"),
        "rescue": ("no-rescue",),
        "storage": ("noop",),
        "vendor": ("no-vendor",),
    },
)
