"""Logical disks that are only remembered."""

from baremetal_sched.drivers.logical_disks import CommonRaid


class FakeRaid(CommonRaid):
    """Keeps what is wanted; makes nothing of it."""
