"""``manual-management``: machines whose power is switched by hand."""

from baremetal_sched.drivers.hardware_type import HardwareType

MANUAL_MANAGEMENT = HardwareType(
    name="manual-management",
    interfaces={
        "bios": ("no-bios",),
        "boot": ("ipxe", "pxe"),
        "console": ("no-console",),
        "deploy": ("direct", "noop"),
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
