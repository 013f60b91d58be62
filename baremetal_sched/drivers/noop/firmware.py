"""No updates of firmware."""

from baremetal_sched.drivers.interfaces.firmware import FirmwareInterface


class NoFirmware(FirmwareInterface):
    """There is nothing to update."""
