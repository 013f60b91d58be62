"""No methods of a vendor."""

from collections.abc import Mapping
from typing import Any

from baremetal_sched.drivers.interfaces.vendor import VendorInterface
from baremetal_sched.machines.interface_types import VendorMethod
from baremetal_sched.machines.machine import Machine


class NoVendor(VendorInterface):
    """Has no methods."""

    methods: Mapping[str, VendorMethod] = {}

    def validate_call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> None:
        raise machine.unsupported("vendor passthru")

    def call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> Any:
        raise machine.unsupported("vendor passthru")
