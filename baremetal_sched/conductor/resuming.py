"""Continue work after a machine waited for an agent, was held, or ran a polled step."""

from collections.abc import Callable, Mapping

from baremetal_sched.baremetal import state_machine
from baremetal_sched.conductor import cleaning, deploying, inspecting, rescuing, servicing, stepping
from baremetal_sched.conductor.task import Task
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines import states


def resume(task: Task) -> None:
    """Continue with the remaining steps."""
    if state_machine.accepts(task.state, state_machine.RESUME):
        if task.machine.clean_step.get("abort_after"):
            raise InvalidValue(message="By request, the cleaning was aborted after the step that was going on.")
        task.write(lambda session, node: state_machine.move(node, state_machine.RESUME))
    _GO_ON[task.state](task)


_GO_ON: Mapping[str, Callable[[Task], None]] = {
    states.CLEANING: lambda task: cleaning.carry_on(task, stepping.left_over(task, "clean")),
    states.DEPLOYING: lambda task: deploying.carry_on(task, stepping.left_over(task, "deploy")),
    states.SERVICING: lambda task: servicing.carry_on(task, stepping.left_over(task, "service")),
    states.RESCUING: rescuing.carry_on,
    states.INSPECTING: inspecting.carry_on,
}
