"""No methods of a vendor."""

from collections.abc import Mapping
from typing import Any

from baremetal_sched.baremetal.machine import Machine
from baremetal_sched.baremetal.vendor_method import VendorMethod
from baremetal_sched.drivers.interfaces.vendor import VendorInterface


class NoVendor(VendorInterface):
    """Has no methods."""

    methods: Mapping[str, VendorMethod] = {}

    def validate_call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> None:
        raise machine.unsupported("vendor passthru")

    def call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> Any:
        raise machine.unsupported("vendor passthru")
