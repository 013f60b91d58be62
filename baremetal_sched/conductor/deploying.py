"""``active``, ``rebuild``, ``rescue``, ``unrescue`` and ``adopt``: an instance on a machine."""

from collections.abc import Sequence
from functools import partial

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.provisioning import completion
from baremetal_sched.baremetal.state_machine import DONE, WAIT
from baremetal_sched.compute.hosts import instance_info
from baremetal_sched.conductor import power, step_plans, stepping
from baremetal_sched.conductor.step_plans import Planned
from baremetal_sched.conductor.task import Task, saying
from baremetal_sched.db.models import Node
from baremetal_sched.drivers.driver import Driver
from baremetal_sched.errors import InvalidValue, SchedulerError, UnavailableError
from baremetal_sched.machines import states
from baremetal_sched.machines.interface_types import StepKind
from baremetal_sched.machines.machine import NOTHING, Effect, Machine, together

_KIND: StepKind = "deploy"


def deploy(task: Task) -> None:
    """Deploy with the machine's own steps, those of templates, and the steps that the client named, which take
    precedence."""
    driver, machine = task.driver, task.machine
    arguments = task.job.arguments
    _require_fit(driver, machine)
    steps = step_plans.deployment(driver, arguments.get("templates", ()), arguments.get("steps", ()))
    if not any(step["interface"] == "deploy" for step in steps):
        raise InvalidValue(message=f"Cannot deploy node {machine.uuid}: no step of the deploy interface is left.")
    driver.storage.attach_volumes(machine)

    event = f"Starting deployment with steps: {stepping.names_of(steps)}"
    task.add(partial(task.note, event=event, event_type="deployment_start"))
    continue_deployment(task, steps)


def _require_fit(driver: Driver, machine: Machine) -> None:
    """Raise InvalidValue unless the machine can be deployed: not all requests have been validated before."""
    with saying(f"Failed to validate deploy or power info for node {machine.uuid}"):
        driver.power.validate(machine)
        driver.deploy.validate(machine)


def continue_deployment(task: Task, steps: Sequence[Planned]) -> None:
    """Run the remaining steps; then the node is active."""
    try:
        if not stepping.run(task, _KIND, steps):
            return
    except InvalidValue:
        switch_off_after_failure(task)
        raise
    driver, prepared = task.driver, None
    if not driver.deploy.prepares_instance:
        task.write_added()
        prepared = driver.boot.prepare_instance(task.machine)
    powered = _power(task)

    def note(session: Session, node: Node) -> None:
        if prepared is not None:
            prepared.write(node)
        powered.write(node)
        node.last_error = None
        task.note(session, node, "Deployment completed", "deployment_end")

    task.end(DONE, note)


def switch_off_after_failure(task: Task) -> None:
    """Switch off a machine whose deployment by an agent has failed, if that is wanted and possible.

    Nothing is done in other states than those of deployments.
    """
    machine = task.machine
    if task.state not in (states.DEPLOYING, states.DEPLOYWAIT):
        return
    wanted = task.job.settings.deploy.power_off_after_deploy_failure and task.driver.deploy.commands_agent
    if not wanted or machine.disable_power_off or machine.power_state == states.POWER_OFF:
        return
    try:
        switched = together(task.job.switch(machine, states.POWER_OFF), task.driver.boot.clean_up_ramdisk(machine))
    except UnavailableError:
        raise
    except SchedulerError as error:
        task.job.log.warning("cannot switch the machine off after its deployment failed", reason=str(error))
    else:
        task.write(lambda session, node: switched.write(node))


def _power(task: Task) -> Effect:
    """Set the power state that the machine's server is to have. Without a server, the power state stays as it is."""
    if not task.has_instance:
        return NOTHING
    task.write_added()
    target = task.job.read(lambda session: instance_info.deployed_power(session, task.job.node_id))
    machine = task.machine
    if target in (None, machine.power_state) or (target == states.POWER_OFF and machine.disable_power_off):
        return NOTHING
    return power.ensure_power_during(task.job, machine, target)


def rescue(task: Task) -> None:
    """Boot the rescue system."""
    effect = task.driver.rescue.rescue(task.machine)
    task.end(WAIT if effect.waits else DONE, lambda session, node: effect.write(node))


def continue_rescue(task: Task) -> None:
    """Finish the rescue after the rescue system has reported."""
    task.end(DONE)


def unrescue(task: Task) -> None:
    """Boot the instance again, and discard the password of the rescue system."""
    effect = task.driver.rescue.unrescue(task.machine)

    def forget(session: Session, node: Node) -> None:
        effect.write(node)
        completion.forget_rescue_password(node)
        completion.forget_service(node)

    task.end(DONE, forget)


def adopt(task: Task) -> None:
    """Check that the machine could have been deployed. The machine itself is not changed."""
    driver, machine = task.driver, task.machine
    for interface in (driver.power, driver.boot, driver.deploy, driver.storage):
        interface.validate(machine)
    state = driver.power.get_power_state(machine)
    task.end(DONE, lambda session, node: setattr(node, "power_state", state))
