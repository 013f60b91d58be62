"""Vendor interfaces: methods that only some hardware has, which the API passes through."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from baremetal_sched.baremetal.drivers.machine import NOTHING, Effect, Machine
from baremetal_sched.baremetal.drivers.steps import clean_step, service_step
from baremetal_sched.errors import InvalidValue


@dataclass(frozen=True)
class VendorMethod:
    """A method. One that is ``asynchronous`` is called by a conductor, after the answer."""

    description: str
    http_methods: tuple[str, ...] = ("POST",)
    asynchronous: bool = True
    require_exclusive_lock: bool = True


class VendorInterface(Protocol):
    """Has methods of its own: ``call`` does one of ``methods``."""

    methods: Mapping[str, VendorMethod]

    def validate_call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> None:
        """Raise InvalidValue unless the method takes these arguments."""

    def call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> Any:
        """Do one of the methods; returns what it says, which has to be JSON."""


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
    @service_step()
    def log_passthrough(self, machine: Machine) -> Effect:
        """Take some time."""
        machine.pause("vendor")
        return NOTHING

    @service_step()
    def trigger_servicewait(self, machine: Machine) -> Effect:
        """Wait for an agent to report."""
        return Effect(waits=True)


class NoVendor(VendorInterface):
    """Has no methods."""

    methods: Mapping[str, VendorMethod] = {}

    def validate_call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> None:
        raise machine.unsupported("vendor passthru")

    def call(self, machine: Machine, method: str, arguments: Mapping[str, Any]) -> Any:
        raise machine.unsupported("vendor passthru")


VENDOR_INTERFACES: dict[str, VendorInterface] = {"fake": FakeVendor(), "no-vendor": NoVendor()}
