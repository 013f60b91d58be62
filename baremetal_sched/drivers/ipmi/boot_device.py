"""The boot device of a machine, by IPMI's boot flags."""

import re
from typing import Any

from baremetal_sched.drivers.boot_settings import capabilities
from baremetal_sched.drivers.interfaces.hardware import require_boot_device
from baremetal_sched.drivers.ipmi import ipmitool
from baremetal_sched.errors.baremetal import ControllerError
from baremetal_sched.machines.machine import Effect, Machine

#: The device selector (four bits) by device.
_SELECTORS = {"pxe": 1, "disk": 2, "safe": 3, "cdrom": 5, "bios": 6}
_DEVICES = {selector: device for device, selector in _SELECTORS.items()}
SUPPORTED = tuple(_SELECTORS)

#: The selector that Supermicro uses for the disk in UEFI mode.
_SUPERMICRO, _SUPERMICRO_DISK = "supermicro", 9

_SET_OPTIONS = ("0x00", "0x08")  # chassis: set system boot options
#: Do not clear the flags if no boot follows within 60 seconds.
_KEEP = ("0x03", "0x08")
_FLAGS = "0x05"

_VALID, _PERSISTENT, _UEFI = 0x80, 0x40, 0x20
_DATA = re.compile(r"^Boot parameter data: ([0-9a-f]{4,})\s*$", re.MULTILINE)

#: Keys in ``driver_internal_info`` for controllers that forget boot devices: the persistent device, and false if the
#: next boot is from another one.
_REMEMBERED, _NEXT_IS_PERSISTENT = "persistent_boot_device", "is_next_boot_persistent"


def get(machine: Machine) -> dict[str, Any]:
    """``{"boot_device": …, "persistent": …}``; the device is None if the machine chooses. Raises as ``run``."""
    target, known = ipmitool.validate(machine), machine.driver_internal_info
    if target.forces_boot_device and known.get(_REMEMBERED) and known.get(_NEXT_IS_PERSISTENT) is not False:
        return {"boot_device": known[_REMEMBERED], "persistent": True}
    said = ipmitool.run(machine, "chassis", "bootparam", "get", "5", until=ipmitool.soon(machine))
    found = _DATA.search(said)
    if found is None:
        raise ControllerError(address=target.address, reason="does not say what the machine boots from.")
    flags, device = bytes.fromhex(found[1][:4])
    selector = (device >> 2) & 0x0F
    if not flags & _VALID:
        return {"boot_device": None, "persistent": False}
    named = "disk" if selector == _SUPERMICRO_DISK and _is_supermicro(machine) else _DEVICES.get(selector)
    return {"boot_device": named, "persistent": bool(flags & _PERSISTENT)}


def choose(machine: Machine, device: str, *, persistent: bool) -> Effect:
    """Set the boot device, for the next boot or permanently, for a request that waits.

    Raises InvalidValue for an unsupported device, and the errors of ``run``.
    """
    require_boot_device(device, list(SUPPORTED))
    until = ipmitool.soon(machine)
    if not ipmitool.validate(machine).forces_boot_device:
        _send(machine, device, persistent=persistent, until=until)
        return Effect()
    _send(machine, device, persistent=False, until=until)
    if persistent:
        return Effect(internal={_REMEMBERED: device, _NEXT_IS_PERSISTENT: None})
    return Effect(internal={_NEXT_IS_PERSISTENT: False})


def restore(machine: Machine) -> Effect:
    """Set the remembered boot device again right before the machine boots, if its controller forgets it.

    The next boot may be from another device, for once: then that is kept.
    """
    known = machine.driver_internal_info
    if not ipmitool.validate(machine).forces_boot_device:
        return Effect()
    if known.get(_NEXT_IS_PERSISTENT) is False:
        return Effect(internal={_NEXT_IS_PERSISTENT: None})
    if known.get(_REMEMBERED) in SUPPORTED:
        _send(machine, known[_REMEMBERED], persistent=False)
    return Effect()


def _send(machine: Machine, device: str, *, persistent: bool, until: float | None = None) -> None:
    if ipmitool.validate(machine).disables_boot_timeout:
        ipmitool.run(machine, "raw", *_SET_OPTIONS, *_KEEP, until=until)
    is_uefi = _boots_uefi(machine)
    selector = _SELECTORS[device]
    if is_uefi and device == "disk" and _is_supermicro(machine):
        selector = _SUPERMICRO_DISK
    flags = _VALID | (_PERSISTENT if persistent else 0) | (_UEFI if is_uefi else 0)
    # ipmitool's own "chassis bootdev" cannot say "persistent" and "UEFI" at once in all its versions.
    data = (f"0x{flags:02x}", f"0x{selector << 2:02x}", "0x00", "0x00", "0x00")
    ipmitool.run(machine, "raw", *_SET_OPTIONS, _FLAGS, *data, until=until)


def _boots_uefi(machine: Machine) -> bool:
    """Return whether UEFI is what the node's capabilities ask for, or else its boot mode; true if they do not say."""
    for info in (machine.instance_info, machine.properties):
        mode = capabilities(info).get("boot_mode")
        if mode and isinstance(mode, str):
            return mode.lower() == "uefi"
    return (machine.boot_mode or "uefi") == "uefi"


def _is_supermicro(machine: Machine) -> bool:
    return str(machine.properties.get("vendor") or "").lower() == _SUPERMICRO
