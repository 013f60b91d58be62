"""Methods of a vendor, to try calls with."""

from collections.abc import Mapping
from typing import Any

from baremetal_sched.drivers.fake.busy import busy
from baremetal_sched.drivers.interfaces.vendor import VendorInterface
from baremetal_sched.drivers.steps import clean_step, service_step
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import VendorMethod
from baremetal_sched.machines.machine import NOTHING, Effect, Machine


class FakeVendor(VendorInterface):
    """Compares words, and has steps that do nothing but take ``[fake] vendor_delay`` seconds."""

    methods = {
        "second_method": VendorMethod("Test if the value of bar is kazoo"),
        "third_method_sync": VendorMethod("Test if the value of bar is meow", asynchronous=False),
        "fourth_method_shared_lock": VendorMethod("Test if the value of bar is woof", require_exclusive_lock=False),
        "log_passthrough": VendorMethod("Test pass-through to wait."),
    }
    _WORDS = {"second_method": "kazoo", "third_method_sync": "meow", "fourth_method_shared_lock": "woof"}

    def validate_call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> None:
        if method in self._WORDS and not arguments.get("bar"):
            raise InvalidValue(message=f"Parameter 'bar' not passed to method '{method}'.")

    def call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> Any:
        if self.methods[method].asynchronous:
            machine.pause("vendor")
        return arguments.get("bar") == self._WORDS[method] if method in self._WORDS else None

    @clean_step(1)
    @service_step(requires_ramdisk=False)
    def log_passthrough(self, machine: Machine) -> Effect:
        """Take some time."""
        return busy(self, machine, "vendor", "log_passthrough")

    def poll(self, machine: Machine, step: str, remembered: Mapping[str, Any]) -> Effect:
        return NOTHING

    @service_step()
    def trigger_servicewait(self, machine: Machine) -> Effect:
        """Wait for an agent to report."""
        return Effect(waits=True)
