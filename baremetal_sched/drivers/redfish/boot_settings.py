"""Boot device, boot mode and secure boot, by Redfish. Some machines are rebooted for a change."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import structlog
from sushy import BootSource, BootSourceOverrideEnabled, BootSourceOverrideMode
from sushy.exceptions import BadRequestError, MissingAttributeError, SushyError
from sushy.resources.system.system import System

from baremetal_sched.drivers import progress
from baremetal_sched.drivers.driver import switch
from baremetal_sched.drivers.redfish import connection, failures
from baremetal_sched.drivers.redfish.driver_info import RedfishTarget
from baremetal_sched.errors import InvalidValue, SchedulerError
from baremetal_sched.machines.machine import NOTHING, Effect, Machine
from baremetal_sched.machines.states import POWER_OFF, POWER_ON, REBOOT

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

#: In ``driver_internal_info``: the persistent boot device of a machine whose controller forgets it at each boot.
REMEMBERED = "redfish_boot_device"

#: Manufacturers (parts of their names, in lower case) whose controllers need all boot options in each request.
_WANT_EVERYTHING = ("american megatrends international", "ami", "asrockrack", "redfish_compatible")
_SUPERMICRO = "supermicro"

#: The message of controllers that refuse changes while the machine is starting.
_STARTING = "UnableToModifyDuringSystemPOST"
#: The longest pause, as a multiple of the first one.
_LONGEST_PAUSE = 6

_MODES = {"bios": BootSourceOverrideMode.LEGACY, "uefi": BootSourceOverrideMode.UEFI}
_NAMES = {mode: name for name, mode in _MODES.items()}
#: Seconds between two checks whether a change has been made.
_INTERVAL = 5.0


def get(system: System) -> dict[str, Any]:
    """Return the same as ``ManagementInterface.get_boot_device``, with None for values that are not reported."""
    return {
        "boot_device": _DEVICES.get(override(system, "target")),
        "persistent": _PERSISTENT.get(override(system, "enabled")),
    }


def override(system: System, name: str) -> Any:
    """Return ``target``, ``enabled`` or ``mode`` of the boot source override; None if it is not reported."""
    return system.boot.get(name) if system.boot else None


def wants_everything(machine: Machine, system: System) -> bool:
    """Return whether target, mode and duration must be sent together."""
    return any(name in _vendor(machine, system) for name in _WANT_EVERYTHING)


def set_device(machine: Machine, device: str, *, persistent: bool) -> Effect:
    """Boot from ``device``, a key of SOURCES. If the controller supports this only for one boot, the Effect has the
    device, and ``restore`` sets it again before each boot."""
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
    """Set the boot device that the controller forgets again, right before the machine boots. If that fails, the machine
    boots in its configured order."""
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
        raise failures.refused(RedfishTarget.of(machine), f"cannot boot the machine from {device}, but from: {known}.")
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
        if override(system, "mode") != mode:  # it has forgotten that
            system.set_system_boot_options(mode=mode)


def _send(machine: Machine, system: System, source: BootSource, options: dict[str, Any]) -> None:
    """Set the boot source; if the controller refuses that while the machine is starting, wait."""
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


def known(machine: Machine) -> dict[str, Any]:
    """Return ``boot_mode`` and ``secure_boot`` of the machine; None for a value that its controller does not report."""
    with connection.system(machine) as system:
        mode = _NAMES.get(override(system, "mode"))
    try:
        with connection.system(machine) as system:
            return {"boot_mode": mode, "secure_boot": _secure_boot(system)}
    except SchedulerError:  # some need a licence for that, some fail
        return {"boot_mode": mode, "secure_boot": None}


def set_mode(machine: Machine, mode: str) -> Effect:
    """Boot in ``mode``. Raises UnsupportedByDriver if the controller neither reports nor accepts a boot mode."""
    value = _MODES[mode]
    with connection.system(machine) as system:
        before = override(system, "mode")
        options: dict[str, Any] = {"mode": value}
        if wants_everything(machine, system):
            options["enabled"] = override(system, "enabled") or BootSourceOverrideEnabled.ONCE
            options["target"] = override(system, "target") or BootSource.PXE
        if before != value:
            try:
                system.set_system_boot_options(**options)
            except SushyError as error:
                if before is None and failures.is_refusal(error):
                    raise machine.unsupported("set_boot_mode") from None
                raise
    done = Effect(fields={"boot_mode": mode})
    if before in (None, value):
        return done
    return _apply(machine, done, lambda system: override(system, "mode") == value, f"boot mode '{mode}'")


def set_secure_boot(machine: Machine, enabled: bool) -> Effect:
    """Switch secure boot. Raises UnsupportedByDriver if the controller does not have it, InvalidValue if the machine
    does not boot by UEFI."""
    done = Effect(fields={"secure_boot": enabled})
    with connection.system(machine) as system:
        try:
            secure_boot = system.secure_boot
        except MissingAttributeError:
            raise machine.unsupported("set_secure_boot_state") from None
        if secure_boot.enabled == enabled:
            return done
        if override(system, "mode") == BootSourceOverrideMode.LEGACY:
            raise InvalidValue(
                message="Secure boot needs boot mode 'uefi', and the machine has 'bios'. Change the boot mode first."
            )
        secure_boot.set_enabled(enabled)
    what = f"secure boot {'on' if enabled else 'off'}"
    return _apply(machine, done, lambda system: _secure_boot(system) == enabled, what)


def _secure_boot(system: System) -> bool | None:
    try:
        enabled = system.secure_boot.enabled
    except MissingAttributeError:
        return None
    return enabled if isinstance(enabled, bool) else None


def _apply(machine: Machine, done: Effect, is_so: Callable[[System], bool], what: str) -> Effect:
    """Return ``done`` when the change has been made, which ``is_so`` checks. The machine is rebooted if that is needed,
    and switched off again if it was off."""
    if _reads_as(machine, is_so):
        return done
    with connection.system(machine) as system:
        was_off = system.power_state is not None and system.power_state.value == "Off"
    switched = switch(machine, POWER_ON if was_off else REBOOT)
    seconds = machine.settings.redfish.boot_mode_config_timeout
    until = time.monotonic() + seconds
    while seconds and not _reads_as(machine, is_so):
        if time.monotonic() > until:
            reason = f"took {what}, but the machine still has another {seconds:g} seconds after its reboot."
            raise failures.refused(RedfishTarget.of(machine), reason)
        time.sleep(min(_INTERVAL, seconds))
        progress.note()
    if was_off and not machine.disable_power_off:
        switched = switch(replace(machine, power_state=POWER_ON), POWER_OFF)
    return Effect(fields={**switched.fields, **done.fields}, internal=switched.internal)


def _reads_as(machine: Machine, is_so: Callable[[System], bool]) -> bool:
    """Return whether the boot mode is set already. A controller may fail for a while."""
    try:
        with connection.system(machine) as system:
            return is_so(system)
    except SchedulerError:
        return False
