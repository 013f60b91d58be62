"""``ipmi``: machines whose management controllers speak IPMI."""

from baremetal_sched.drivers.hardware_type import HardwareType
from baremetal_sched.drivers.ipmi.driver_info import PROPERTIES

IPMI = HardwareType(
    name="ipmi",
    interfaces={
        "bios": ("no-bios",),
        "boot": ("ipxe", "pxe"),
        "console": ("no-console",),
        "deploy": ("ramdisk", "direct"),
        "firmware": ("no-firmware",),
        "inspect": ("no-inspect", "agent"),
        "management": ("ipmitool", "noop"),
        "network": ("noop",),
        "power": ("ipmitool",),
        "raid": ("no-raid", "agent"),
        "rescue": ("no-rescue",),
        "storage": ("noop",),
        "vendor": ("ipmitool", "no-vendor"),
    },
    properties=PROPERTIES,
)
