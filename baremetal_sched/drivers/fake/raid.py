"""Logical disks that are only remembered."""

from baremetal_sched.drivers.logical_disks import CommonRaid


class FakeRaid(CommonRaid):
    """Stores the target configuration, without any effect."""
