"""Methods of vendors, by ipmitool: commands that only some controllers have."""

from collections.abc import Mapping
from typing import Any

from oslo_utils import strutils

from baremetal_sched.drivers.interfaces.hardware import VendorInterface
from baremetal_sched.drivers.ipmi import ipmitool
from baremetal_sched.drivers.ipmi.driver_info import is_byte
from baremetal_sched.drivers.steps import clean_step, deploy_step, service_step
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import Argument, VendorMethod
from baremetal_sched.machines.machine import NOTHING, Effect, Machine

_RAW_BYTES = {
    "raw_bytes": Argument("Bytes to send, separated by blanks, such as '0x06 0x01': function, command, data.", True)
}

#: The most bytes that fit into one message.
_MOST_BYTES = 256


class IpmitoolVendor(VendorInterface):
    """Sends bytes to the controller, and restarts it."""

    methods = {
        "send_raw": VendorMethod(
            "Send raw bytes to the BMC. Required argument: 'raw_bytes' - a string of raw bytes (e.g. '0x00 0x01')."
        ),
        "bmc_reset": VendorMethod(
            "Reset the BMC. Required argument: 'warm' (Boolean) - for warm (True) or cold (False) reset."
        ),
    }

    def validate_call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> None:
        known = {"send_raw": {"raw_bytes"}, "bmc_reset": {"warm"}}[method]
        if unknown := sorted(set(arguments) - known):
            raise InvalidValue(message=f"Method {method} does not take {', '.join(unknown)}.")
        if method == "send_raw":
            _bytes(arguments.get("raw_bytes"))
        else:
            _is_warm(arguments.get("warm", True))
        ipmitool.validate(machine)

    def call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> Any:
        self.validate_call(machine, method, arguments)
        if method == "send_raw":
            self.send_raw(machine, arguments["raw_bytes"])
        else:
            how = "warm" if _is_warm(arguments.get("warm", True)) else "cold"
            ipmitool.run(machine, "bmc", "reset", how, only_once=True)

    @clean_step(arguments=_RAW_BYTES, requires_ramdisk=False)
    @deploy_step(0, arguments=_RAW_BYTES)
    @service_step(arguments=_RAW_BYTES, requires_ramdisk=False)
    def send_raw(self, machine: Machine, raw_bytes: str) -> Effect:
        """Send bytes to the controller."""
        ipmitool.run(machine, "raw", *_bytes(raw_bytes), only_once=True)
        return NOTHING


def _bytes(value: Any) -> list[str]:
    """Return the bytes that ``value`` lists. Raises InvalidValue."""
    if not value:
        raise InvalidValue(message="Parameter raw_bytes has to be specified.")
    found = value.split() if isinstance(value, str) and len(value) <= 5 * _MOST_BYTES else []
    if not 2 <= len(found) <= _MOST_BYTES or not all(map(is_byte, found)):
        raise InvalidValue(
            message="raw_bytes must be a text of two or more bytes from 0 to 255, such as '0x06 0x01': the network "
            "function, the command, and its data."
        )
    return found


def _is_warm(value: Any) -> bool:
    try:
        return bool(strutils.bool_from_string(value, strict=True))
    except ValueError:
        raise InvalidValue(message="warm must be true (a warm reset) or false (a cold one).") from None
