"""``inspect``: finding out what is in a machine."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import inspection, inventory, nodes
from baremetal_sched.baremetal.drivers.inspect import Finding
from baremetal_sched.baremetal.hooks import registry
from baremetal_sched.baremetal.inspection import Verdict
from baremetal_sched.baremetal.ownership import live_members
from baremetal_sched.baremetal.state_machine import DONE, WAIT
from baremetal_sched.conductor import api_calls
from baremetal_sched.conductor.task import Task
from baremetal_sched.db.models import Node


def inspect(task: Task) -> None:
    """Inspect the machine, and let the node have what was found."""
    task.write(inspection.begin)
    found = task.driver.inspect.inspect_hardware(task.machine)
    if isinstance(found, Finding):
        conclude(task, found)
    else:
        task.end(WAIT, lambda session, node: found.write(node))


def carry_on(task: Task) -> None:
    """The agent has reported what it found."""
    conclude(task, Finding(**task.job.arguments), hooks=registry.enabled(task.job.settings))


def conclude(task: Task, finding: Finding, *, hooks: Sequence[str] = ()) -> None:
    """Keep what was found, run these hooks and the inspection rules on it, and let the node have what follows.

    What was found is kept even if one of them fails, for whoever wants to know why it did.
    """
    settings = task.job.settings

    def judge(session: Session) -> Verdict:
        return inspection.judge(session, nodes.find(session, task.machine.uuid), finding, hooks, settings)

    def finish(session: Session, node: Node) -> None:
        inspection.finish(session, node, verdict, live_members(session, settings))

    task.write(lambda session, node: inventory.store(session, node, finding.inventory, finding.plugin_data))
    verdict = task.job.read(judge)
    for call in verdict.calls:
        api_calls.make(call)
    task.end(DONE, finish)
