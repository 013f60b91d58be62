"""Management by ipmitool."""

from baremetal_sched.drivers.interfaces.management import ManagementInterface


class IpmitoolManagement(ManagementInterface):
    """Nothing can be managed."""
