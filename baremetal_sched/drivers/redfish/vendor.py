"""Methods of vendors, by Redfish."""

from collections.abc import Mapping
from typing import Any

from baremetal_sched.drivers.interfaces.hardware import VendorInterface
from baremetal_sched.drivers.redfish import virtual_media
from baremetal_sched.drivers.redfish.driver_info import Target
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import VendorMethod
from baremetal_sched.machines.machine import Machine

_DEVICE = "boot_device"


class RedfishVendor(VendorInterface):
    """Ejects virtual media, as clients did before there was an API for that."""

    methods = {
        "eject_vmedia": VendorMethod(
            "Eject a virtual media device, or all of them. Optional argument: boot_device - the device to eject, one "
            "of 'cd', 'dvd', 'usb' and 'floppy'."
        )
    }

    def validate_call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> None:
        surplus = sorted(set(arguments) - {_DEVICE})
        if surplus:
            raise InvalidValue(message=f"The method {method} takes no argument but {_DEVICE}.")
        _types(arguments)
        Target.of(machine)

    def call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> Any:
        virtual_media.eject(machine, _types(arguments))


def _types(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The types of devices that are meant; none means all. Raises InvalidValue."""
    if not arguments.get(_DEVICE):
        return ()
    try:
        return (virtual_media.require_type(arguments[_DEVICE]),)
    except ValueError as error:
        raise InvalidValue(message=f"{_DEVICE} {error}.") from error
