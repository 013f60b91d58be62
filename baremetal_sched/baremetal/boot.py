"""What machines boot from, and how."""

#: Every boot device that the API knows.
BOOT_DEVICES = ("pxe", "disk", "cdrom", "bios", "safe", "wanboot", "iscsiboot", "floppy", "uefihttp")
BOOT_MODES = ("bios", "uefi")
