"""Updates of firmware, by Redfish."""

from baremetal_sched.drivers.interfaces.firmware import FirmwareInterface


class RedfishFirmware(FirmwareInterface):
    """There is nothing to update."""
