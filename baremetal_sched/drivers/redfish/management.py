"""Management, by Redfish."""

from baremetal_sched.baremetal.machine import Machine
from baremetal_sched.drivers.interfaces.management import ManagementInterface
from baremetal_sched.drivers.redfish.driver_info import Target


class RedfishManagement(ManagementInterface):
    """Asks the controller."""

    def validate(self, machine: Machine) -> None:
        Target.of(machine)
