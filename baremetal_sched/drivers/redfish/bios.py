"""BIOS settings, by Redfish."""

from baremetal_sched.drivers.interfaces.bios import BiosInterface


class RedfishBios(BiosInterface):
    """There is nothing to set."""
