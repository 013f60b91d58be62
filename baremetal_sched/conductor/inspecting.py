"""``inspect``: finding out what is in a machine."""

from baremetal_sched.baremetal import inspection
from baremetal_sched.baremetal.state_machine import DONE, WAIT
from baremetal_sched.conductor.task import Task


def inspect(task: Task) -> None:
    """Inspect the machine, and let the node have what was found."""
    task.write(inspection.begin)
    finding = task.driver.inspect.inspect_hardware(task.machine)
    if finding is None:
        task.end(WAIT)
        return
    task.end(DONE, lambda session, node: inspection.finish(session, node, finding.inventory, finding.plugin_data))
