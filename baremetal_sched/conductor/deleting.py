"""``deleted``: tear down the instance, then clean; only then is the node available again."""

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.provisioning import instances
from baremetal_sched.conductor import cleaning
from baremetal_sched.conductor.task import Task
from baremetal_sched.db.models import Node
from baremetal_sched.machines.states import DELETING


def delete(task: Task) -> None:
    """Remove the instance from the machine and the node, then clean."""
    if task.state == DELETING:
        effect = task.driver.deploy.tear_down(task.machine)
        task.driver.storage.detach_volumes(task.machine)

        def empty(session: Session, node: Node) -> None:
            effect.write(node)
            instances.remove(session, node)
            state_machine.move(node, state_machine.CLEAN)

        task.write(empty)
    cleaning.clean(task)
