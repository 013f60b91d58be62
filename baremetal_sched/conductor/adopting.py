"""``adopt``: take over a machine that already has an instance."""

from baremetal_sched.baremetal.state_machine import DONE
from baremetal_sched.conductor.task import Task


def adopt(task: Task) -> None:
    """Check that the machine could have been deployed. The machine itself is not changed."""
    driver, machine = task.driver, task.machine
    for interface in (driver.power, driver.boot, driver.deploy, driver.storage):
        interface.validate(machine)
    state = driver.power.get_power_state(machine)
    task.end(DONE, lambda session, node: setattr(node, "power_state", state))
