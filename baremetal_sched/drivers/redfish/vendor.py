"""Methods of vendors, by Redfish."""

from baremetal_sched.drivers.noop.vendor import NoVendor


class RedfishVendor(NoVendor):
    """Has no methods."""
