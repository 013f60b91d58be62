"""``ipmi``: machines whose management controllers speak IPMI. Their power and management, by ipmitool."""

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from baremetal_sched.drivers.interfaces.hardware import ManagementInterface, PowerInterface
from baremetal_sched.drivers.ipmi import boot_device, ipmitool
from baremetal_sched.drivers.ipmi.driver_info import PROPERTIES
from baremetal_sched.drivers.power_waiting import ensure_power
from baremetal_sched.drivers.registry import HardwareType
from baremetal_sched.errors.baremetal import ControllerError
from baremetal_sched.machines.machine import NOTHING, Effect, Machine
from baremetal_sched.machines.states import POWER_OFF, POWER_ON, REBOOT, SOFT_POWER_OFF

IPMI = HardwareType(
    name="ipmi",
    interfaces={
        "bios": ("no-bios",),
        "boot": ("ipxe", "pxe"),
        "console": ("no-console",),
        "deploy": ("ramdisk", "direct", "custom-agent", "autodetect"),
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


_COMMANDS = {POWER_ON: "on", POWER_OFF: "off", SOFT_POWER_OFF: "soft", REBOOT: "reset"}
_STATES = {"on": POWER_ON, "off": POWER_OFF}
_STATUS = re.compile(r"^Chassis Power is (on|off)\s*$", re.MULTILINE)


class IpmitoolPower(PowerInterface):
    """Asks the controller for the power state of the machine, and for changes of it."""

    def validate(self, machine: Machine) -> None:
        ipmitool.validate(machine)

    def get_power_state(self, machine: Machine) -> str | None:
        return _Chassis(machine).read()

    def set_power_state(self, machine: Machine, target: str, timeout: int | None = None) -> Effect:
        restored = NOTHING

        def restore() -> None:
            nonlocal restored
            restored = boot_device.restore(machine)

        state = ensure_power(machine, _Chassis(machine), target, timeout, restore_boot_device=restore)
        return replace(restored, fields={"power_state": state})


class _Chassis:
    """Implements ``power_waiting.Switch``. IPMI can reset a machine, but cannot restart its operating system."""

    restarts: Collection[str] = (REBOOT,)

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._is_awaited = False

    def read(self) -> str:
        # The change was requested; the state is polled until it is reached.
        said = ipmitool.run(self._machine, "power", "status", tries_again=not self._is_awaited)
        found = _STATUS.search(said)
        if found is None:
            address = ipmitool.validate(self._machine).address
            raise ControllerError(address=address, reason="does not say whether the power is on.")
        return _STATES[found[1]]

    def request(self, target: str) -> None:
        self._is_awaited = True
        ipmitool.run(self._machine, "power", _COMMANDS[target], only_once=target == REBOOT)


class IpmitoolManagement(ManagementInterface):
    """Boot devices, and interrupts."""

    def validate(self, machine: Machine) -> None:
        ipmitool.validate(machine)

    def get_supported_boot_devices(self, machine: Machine) -> list[str]:
        return list(boot_device.SUPPORTED)

    def get_boot_device(self, machine: Machine) -> dict[str, Any]:
        return boot_device.get(machine)

    def set_boot_device(self, machine: Machine, device: str, *, persistent: bool) -> Effect:
        return boot_device.choose(machine, device, persistent=persistent)

    def inject_nmi(self, machine: Machine) -> None:
        ipmitool.run(machine, "power", "diag", only_once=True, until=ipmitool.soon(machine))
