"""No inspection."""

from baremetal_sched.drivers.interfaces.inspect import InspectInterface


class NoInspect(InspectInterface):
    """The machine cannot be inspected."""
