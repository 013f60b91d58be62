"""``adopt``: taking over a machine that has an instance already."""

from baremetal_sched.baremetal.state_machine import DONE
from baremetal_sched.conductor.task import Task


def adopt(task: Task) -> None:
    """The machine has to be one that could have been deployed; nothing is done to it."""
    driver, machine = task.driver, task.machine
    for interface in (driver.power, driver.boot, driver.deploy, driver.storage):
        interface.validate(machine)
    state = driver.power.get_power_state(machine)
    task.end(DONE, lambda session, node: setattr(node, "power_state", state))
