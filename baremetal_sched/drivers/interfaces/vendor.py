"""Vendor interfaces: methods that only some hardware has, which the API passes through."""

from collections.abc import Mapping
from typing import Any, Protocol

from baremetal_sched.drivers.interfaces.polled import PolledInterface
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import VendorMethod
from baremetal_sched.machines.machine import Machine
from baremetal_sched.settings import Settings


class VendorInterface(PolledInterface, Protocol):
    """Has methods of its own: ``call`` calls one of ``methods``."""

    methods: Mapping[str, VendorMethod]
    #: Methods that need no machine. Those of a hardware type are those of its default vendor interface.
    driver_methods: Mapping[str, VendorMethod] = {}

    def validate_call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> None:
        """Raise InvalidValue unless the method takes these arguments."""

    def call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> Any:
        """Call one of the methods; return its result, which must be JSON."""

    def call_driver(self, method: str, arguments: Mapping[str, Any], settings: Settings) -> Any:
        """Call one of ``driver_methods``; return its result. Raises InvalidValue for invalid arguments."""
        raise InvalidValue(message=f"No handler for method {method}")
