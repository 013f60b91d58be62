"""``fake-hardware``: a machine that exists in the database only. For demos, tests, and trying things out."""

from baremetal_sched.drivers.hardware_type import HardwareType

FAKE_HARDWARE = HardwareType(
    name="fake-hardware",
    interfaces={
        "bios": ("fake", "no-bios"),
        "boot": ("fake", "ipxe", "pxe"),
        "console": ("fake", "no-console"),
        "deploy": ("fake", "direct"),
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
