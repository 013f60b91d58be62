"""A console that shows nothing."""

from typing import Any

from baremetal_sched.drivers.interfaces.console import ConsoleInterface
from baremetal_sched.machines.machine import Machine


class FakeConsole(ConsoleInterface):
    """A console that shows nothing, and cannot be reached."""

    def validate(self, machine: Machine) -> None:
        pass

    def start_console(self, machine: Machine) -> None:
        pass

    def stop_console(self, machine: Machine) -> None:
        pass

    def get_console(self, machine: Machine) -> dict[str, Any]:
        return {}
