"""``redfish``: machines whose management controllers speak Redfish. It is described without sushy."""

from baremetal_sched.drivers.redfish.driver_info import PROPERTIES
from baremetal_sched.drivers.registry import HardwareType

#: Keys of ``driver_info`` about booting from virtual media.
DEPLOY_ISO, RESCUE_ISO = "deploy_iso", "rescue_iso"

_BOOT_PROPERTIES = {
    DEPLOY_ISO: "URL (http or https) of an ISO image with an agent, which the machine boots to be deployed, cleaned or "
    "inspected by it. Optional.",
    RESCUE_ISO: "URL (http or https) of an ISO image with an agent, which the machine boots to be rescued. Optional.",
}

REDFISH = HardwareType(
    name="redfish",
    interfaces={
        "bios": ("redfish", "no-bios"),
        "boot": ("redfish-virtual-media", "ipxe", "pxe"),
        "console": ("no-console",),
        "deploy": ("ramdisk", "direct", "custom-agent", "autodetect"),
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
    properties={**PROPERTIES, **_BOOT_PROPERTIES},
)
