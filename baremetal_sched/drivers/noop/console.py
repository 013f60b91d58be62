"""No console."""

from baremetal_sched.drivers.interfaces.console import ConsoleInterface


class NoConsole(ConsoleInterface):
    """There is no console."""
