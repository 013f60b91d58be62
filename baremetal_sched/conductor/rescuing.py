"""``rescue`` and ``unrescue``: boot a rescue system, and return to the instance."""

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.provisioning import instances
from baremetal_sched.baremetal.state_machine import DONE, WAIT
from baremetal_sched.conductor.task import Task
from baremetal_sched.db.models import Node


def rescue(task: Task) -> None:
    """Boot the rescue system."""
    effect = task.driver.rescue.rescue(task.machine)
    task.end(WAIT if effect.waits else DONE, lambda session, node: effect.write(node))


def carry_on(task: Task) -> None:
    """Finish the rescue after the rescue system has reported."""
    task.end(DONE)


def unrescue(task: Task) -> None:
    """Boot the instance again, and discard the password of the rescue system."""
    effect = task.driver.rescue.unrescue(task.machine)

    def forget(session: Session, node: Node) -> None:
        effect.write(node)
        instances.forget_rescue_password(node)

    task.end(DONE, forget)
