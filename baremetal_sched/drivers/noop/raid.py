"""No logical disks."""

from baremetal_sched.drivers.interfaces.raid import RaidInterface


class NoRaid(RaidInterface):
    """There are no logical disks."""
