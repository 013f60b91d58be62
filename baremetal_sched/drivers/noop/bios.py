"""No BIOS settings."""

from baremetal_sched.drivers.interfaces.bios import BiosInterface


class NoBios(BiosInterface):
    """There is nothing to set."""
