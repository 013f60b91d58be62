"""``manage``: can the node's machine be reached?"""

from baremetal_sched.baremetal.state_machine import DONE
from baremetal_sched.conductor.task import Task
from baremetal_sched.errors import InvalidValue, SchedulerError, UnavailableError


def verify(task: Task) -> None:
    """The node has to have power that can be switched; its power state becomes the one that the driver reports."""
    power, doing = task.driver.power, "validate power driver interface"
    try:
        power.validate(task.machine)
        doing = "get power state"
        state = power.get_power_state(task.machine)
    except UnavailableError:
        raise
    except SchedulerError as error:
        raise InvalidValue(message=f"Failed to {doing} for node {task.machine.uuid}. Error: {error}") from error
    task.end(DONE, lambda session, node: setattr(node, "power_state", state))
