"""``redfish``: machines whose management controllers speak Redfish."""

from baremetal_sched.drivers.hardware_type import HardwareType
from baremetal_sched.drivers.redfish.boot_properties import PROPERTIES as BOOT_PROPERTIES
from baremetal_sched.drivers.redfish.driver_info import PROPERTIES

REDFISH = HardwareType(
    name="redfish",
    interfaces={
        "bios": ("redfish", "no-bios"),
        "boot": ("redfish-virtual-media", "ipxe", "pxe"),
        "console": ("no-console",),
        "deploy": ("ramdisk", "direct"),
        "firmware": ("redfish", "no-firmware"),
        "inspect": ("redfish", "agent", "no-inspect"),
        "management": ("redfish", "noop"),
        "network": ("noop",),
        "power": ("redfish",),
        "raid": ("no-raid", "agent"),
        "rescue": ("no-rescue",),
        "storage": ("noop",),
        "vendor": ("redfish", "no-vendor"),
    },
    properties={**PROPERTIES, **BOOT_PROPERTIES},
)
