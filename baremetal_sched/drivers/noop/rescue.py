"""No rescuing."""

from baremetal_sched.drivers.interfaces.rescue import RescueInterface


class NoRescue(RescueInterface):
    """The machine cannot be rescued."""
