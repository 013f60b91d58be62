"""Logical disks that an agent makes."""

from baremetal_sched.drivers.logical_disks import CommonRaid


class AgentRaid(CommonRaid):
    """The agent on the machine makes the disks, while it cleans."""
