"""Methods of vendors, by ipmitool."""

from baremetal_sched.drivers.noop.vendor import NoVendor


class IpmitoolVendor(NoVendor):
    """Has no methods."""
