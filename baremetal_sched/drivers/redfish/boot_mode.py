"""Boot mode and secure boot, by Redfish. Some machines have to be rebooted for a change."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sushy import BootSource, BootSourceOverrideEnabled, BootSourceOverrideMode
from sushy.exceptions import MissingAttributeError, SushyError
from sushy.resources.system.system import System

from baremetal_sched.drivers import progress
from baremetal_sched.drivers.power import switch
from baremetal_sched.drivers.redfish import boot_device, connection, failures
from baremetal_sched.drivers.redfish.boot_device import override
from baremetal_sched.drivers.redfish.driver_info import Target
from baremetal_sched.errors import InvalidValue, SchedulerError
from baremetal_sched.machines.machine import Effect, Machine
from baremetal_sched.machines.states import POWER_OFF, POWER_ON, REBOOT

_MODES = {"bios": BootSourceOverrideMode.LEGACY, "uefi": BootSourceOverrideMode.UEFI}
_NAMES = {mode: name for name, mode in _MODES.items()}

#: Seconds between two looks whether a change has been made.
_INTERVAL = 5.0


def known(machine: Machine) -> dict[str, Any]:
    """``boot_mode`` and ``secure_boot`` of the machine; None for what its controller does not say or have."""
    with connection.system(machine) as system:
        mode = _NAMES.get(override(system, "mode"))
    try:
        with connection.system(machine) as system:
            return {"boot_mode": mode, "secure_boot": _secure_boot(system)}
    except SchedulerError:  # some need a licence for that, some fail
        return {"boot_mode": mode, "secure_boot": None}


def set_mode(machine: Machine, mode: str) -> Effect:
    """Boot in ``mode``. Raises UnsupportedByDriver if the controller neither says nor takes a boot mode."""
    wanted = _MODES[mode]
    with connection.system(machine) as system:
        before = override(system, "mode")
        options: dict[str, Any] = {"mode": wanted}
        if boot_device.wants_everything(machine, system):
            options["enabled"] = override(system, "enabled") or BootSourceOverrideEnabled.ONCE
            options["target"] = override(system, "target") or BootSource.PXE
        if before != wanted:
            try:
                system.set_system_boot_options(**options)
            except SushyError as error:
                if before is None and failures.is_refusal(error):
                    raise machine.unsupported("set_boot_mode") from None
                raise
    done = Effect(fields={"boot_mode": mode})
    if before in (None, wanted):
        return done
    return _apply(machine, done, lambda system: override(system, "mode") == wanted, f"boot mode '{mode}'")


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
    """``done``, when the machine ``is_so``; it is rebooted if it needs that, and switched off again if it was off."""
    if _look(machine, is_so):
        return done
    with connection.system(machine) as system:
        was_off = system.power_state is not None and system.power_state.value == "Off"
    switched = switch(machine, POWER_ON if was_off else REBOOT)
    seconds = machine.settings.redfish.boot_mode_config_timeout
    until = time.monotonic() + seconds
    while seconds and not _look(machine, is_so):
        if time.monotonic() > until:
            reason = f"took {what}, but the machine still has another {seconds:g} seconds after its reboot."
            raise failures.refused(Target.of(machine), reason)
        time.sleep(min(_INTERVAL, seconds))
        progress.note()
    if was_off and not machine.disable_power_off:
        switched = switch(replace(machine, power_state=POWER_ON), POWER_OFF)
    return Effect(fields={**switched.fields, **done.fields}, internal=switched.internal)


def _look(machine: Machine, is_so: Callable[[System], bool]) -> bool:
    """Return whether the boot mode is set already. A controller may fail for a while."""
    try:
        with connection.system(machine) as system:
            return is_so(system)
    except SchedulerError:
        return False
