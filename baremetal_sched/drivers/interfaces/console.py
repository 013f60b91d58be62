"""Console interfaces: a serial console over the network."""

from typing import Any, Protocol

from baremetal_sched.machines.machine import Machine


class ConsoleInterface(Protocol):
    """Called in requests: it must not take long."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless there is a console."""
        raise machine.unsupported("console")

    def start_console(self, machine: Machine) -> None:
        """Switch the console on."""
        raise machine.unsupported("console")

    def stop_console(self, machine: Machine) -> None:
        """Switch the console off."""
        raise machine.unsupported("console")

    def get_console(self, machine: Machine) -> dict[str, Any]:
        """How the console is reached."""
        raise machine.unsupported("console")
