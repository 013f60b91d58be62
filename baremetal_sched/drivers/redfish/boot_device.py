"""What a machine boots from, by Redfish."""

import time
from typing import Any

import structlog
from sushy import BootSource, BootSourceOverrideEnabled, BootSourceOverrideMode
from sushy.exceptions import BadRequestError, SushyError
from sushy.resources.system.system import System

from baremetal_sched.drivers import progress
from baremetal_sched.drivers.redfish import connection, failures
from baremetal_sched.drivers.redfish.driver_info import Target
from baremetal_sched.errors import SchedulerError
from baremetal_sched.machines.machine import NOTHING, Effect, Machine

log = structlog.get_logger(__name__)

SOURCES = {
    "pxe": BootSource.PXE,
    "disk": BootSource.HDD,
    "cdrom": BootSource.CD,
    "bios": BootSource.BIOS_SETUP,
    "uefihttp": BootSource.UEFI_HTTP,
}
_DEVICES = {source: device for device, source in SOURCES.items()} | {BootSource.USB_CD: "cdrom"}
_PERSISTENT = {BootSourceOverrideEnabled.CONTINUOUS: True, BootSourceOverrideEnabled.ONCE: False}

#: In ``driver_internal_info``: the device that a machine is to boot from always, whose controller forgets it each time.
REMEMBERED = "redfish_boot_device"

#: Manufacturers (parts of their names, in lower case) whose controllers want to be told everything each time.
_WANT_EVERYTHING = ("american megatrends international", "ami", "asrockrack", "redfish_compatible")
_SUPERMICRO = "supermicro"

#: Messages of controllers that cannot do it while the machine is starting.
_STARTING = "UnableToModifyDuringSystemPOST"
#: How much longer than the first pause one may become.
_LONGEST_PAUSE = 6


def get(system: System) -> dict[str, Any]:
    """As ``ManagementInterface.get_boot_device`` has it; None for what the controller does not say."""
    return {
        "boot_device": _DEVICES.get(override(system, "target")),
        "persistent": _PERSISTENT.get(override(system, "enabled")),
    }


def override(system: System, name: str) -> Any:
    """``target``, ``enabled`` or ``mode`` of the boot source override; None if the controller does not say it."""
    return system.boot.get(name) if system.boot else None


def wants_everything(machine: Machine, system: System) -> bool:
    """Return whether target, mode and duration must be sent together."""
    return any(name in _vendor(machine, system) for name in _WANT_EVERYTHING)


def set_device(machine: Machine, device: str, *, persistent: bool) -> Effect:
    """Boot from ``device``, a key of SOURCES. Where a controller can do that only once, that it is to be done for each
    boot is in the Effect, and ``restore`` does it."""
    forgotten = Effect(internal={REMEMBERED: None}) if machine.driver_internal_info.get(REMEMBERED) else NOTHING
    with connection.system(machine) as system:
        try:
            _set(machine, system, device, persistent=persistent)
        except SushyError as error:
            if not persistent or not failures.is_refusal(error):
                raise
            log.info("a controller takes a boot device for once only", node=machine.uuid, device=device)
            _set(machine, system, device, persistent=False)
            return Effect(internal={REMEMBERED: device})
    return forgotten


def restore(machine: Machine) -> None:
    """Right before the machine boots: have it boot from the device that its controller forgets. If that fails, it boots
    in the order that it is set up for."""
    device = machine.driver_internal_info.get(REMEMBERED)
    if device not in SOURCES or machine.interfaces.get("management") != "redfish":
        return
    try:
        with connection.system(machine) as system:
            _set(machine, system, device, persistent=False)
    except SchedulerError as error:
        log.warning("cannot restore a boot device", node=machine.uuid, device=device, reason=str(error))


def _set(machine: Machine, system: System, device: str, *, persistent: bool) -> None:
    source = SOURCES[device]
    offered = system.get_allowed_system_boot_source_values()
    if source not in offered and not (source == BootSource.CD and BootSource.USB_CD in offered):
        known = ", ".join(device for device, source in SOURCES.items() if source in offered) or "none"
        raise failures.refused(Target.of(machine), f"cannot boot the machine from {device}, but from: {known}.")
    enabled = BootSourceOverrideEnabled.CONTINUOUS if persistent else BootSourceOverrideEnabled.ONCE
    mode, vendor = override(system, "mode"), _vendor(machine, system)
    options: dict[str, Any] = {"enabled": enabled}
    if wants_everything(machine, system):
        options["mode"] = mode or BootSourceOverrideMode.UEFI
    elif vendor != _SUPERMICRO and override(system, "enabled") == enabled:
        options = {}  # some refuse a setting that is in effect already
    _send(machine, system, source, options)
    if vendor == _SUPERMICRO and mode is not None:
        system.refresh()
        if override(system, "mode") != mode:  # it has forgotten that meanwhile
            system.set_system_boot_options(mode=mode)


def _send(machine: Machine, system: System, source: BootSource, options: dict[str, Any]) -> None:
    """Set it, and wait while the machine is starting, if the controller cannot do it then."""
    settings = machine.settings.redfish
    pause, attempts = settings.post_boot_retry_delay, settings.post_boot_retry_attempts
    while True:
        attempts -= 1
        try:
            system.set_system_boot_options(source, **options)
        except BadRequestError as error:
            if not attempts or _STARTING not in str(error):
                raise
        else:
            return
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE * settings.post_boot_retry_delay)
        progress.note()


def _vendor(machine: Machine, system: System) -> str:
    """Return the manufacturer of the machine, in lower case."""
    return str(machine.properties.get("vendor") or system.manufacturer or "").lower()
