"""What ``instance_info`` says of an instance that runs from memory."""

from baremetal_sched.drivers.image_url import ImageUrl
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Machine

BOOT_ISO = "boot_iso"
_KERNEL, _RAMDISK = "kernel", "ramdisk"


def boot_iso(machine: Machine) -> ImageUrl | None:
    """Return the ISO image to boot, or None. Raises InvalidValue if it is not valid."""
    info = machine.instance_info
    value = info.get(BOOT_ISO)
    if value is None or value == "":
        return None
    if info.get("image_source"):
        raise InvalidValue(
            message="instance_info has an image_source and a boot_iso, of which one has to go: an image is written "
            "to a disk (deploy interface direct), an ISO is booted (deploy interface ramdisk)."
        )
    return ImageUrl.parse(f"instance_info/{BOOT_ISO}", value)


def require_boot_iso(machine: Machine) -> ImageUrl:
    """Return the ISO image to boot. Raises InvalidValue if it is missing or not valid."""
    found = boot_iso(machine)
    if found is not None:
        return found
    instead = (
        f" Of {_KERNEL} and {_RAMDISK} no ISO is built here; build one."
        if machine.instance_info.get(_KERNEL) or machine.instance_info.get(_RAMDISK)
        else ""
    )
    raise InvalidValue(
        message=f"instance_info/{BOOT_ISO} is missing: the URL (http or https) of the ISO image that the machine is to "
        f"boot.{instead}"
    )


def require_no_boot_iso(machine: Machine) -> None:
    """Raise InvalidValue if there is an ISO image to boot, which the boot interface cannot do."""
    if boot_iso(machine) is not None:
        raise InvalidValue(
            message=f"The boot interface '{machine.interfaces['boot']}' cannot boot instance_info/{BOOT_ISO}: it has "
            f"no virtual media. Leave {BOOT_ISO} out, and have the network's boot server serve the machine, or give "
            "the node the boot interface redfish-virtual-media."
        )
