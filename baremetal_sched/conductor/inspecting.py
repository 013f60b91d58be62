"""``inspect``: inspect a machine's hardware."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors.ownership import live_members
from baremetal_sched.baremetal.inspection import inspection, inventory
from baremetal_sched.baremetal.inspection.addresses import allowed_hosts
from baremetal_sched.baremetal.inspection.hooks import registry
from baremetal_sched.baremetal.inspection.inspection import Verdict
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.state_machine import DONE, WAIT
from baremetal_sched.conductor import api_calls, caching
from baremetal_sched.conductor.task import Task
from baremetal_sched.db.models import Node
from baremetal_sched.errors import SchedulerError
from baremetal_sched.errors.baremetal import UnsupportedByDriver
from baremetal_sched.machines import agent_info
from baremetal_sched.machines.machine import Finding, together
from baremetal_sched.machines.states import POWER_OFF, REBOOT


def inspect(task: Task) -> None:
    """Inspect the machine, and update the node from the result."""
    addresses = _addresses(task)
    task.write(lambda session, node: inspection.begin(session, node, addresses))
    found = task.driver.inspect.inspect_hardware(task.machine)
    if isinstance(found, Finding):
        _keep(task, found)
        task.write(caching.look(task))
        _conclude(task, found, hooks=found.hooks)
    else:
        task.end(WAIT, lambda session, node: found.write(node))


def _addresses(task: Task) -> Sequence[str]:
    """Return the MAC addresses that the management controller knows, if they are needed and wanted."""
    if not task.driver.inspect.uses_agent or not task.job.settings.inspector.pre_create_ports:
        return ()
    try:
        return task.driver.management.get_mac_addresses(task.machine)
    except UnsupportedByDriver:
        return ()


def carry_on(task: Task) -> None:
    """Process the report of the agent, which is no longer needed except on fast track."""
    finding = Finding(**task.job.arguments)
    before = _keep(task, finding)
    _leave(task)
    _conclude(task, finding, hooks=registry.enabled(task.job.settings), before=before)


def discover(task: Task) -> None:
    """Process the report of an agent on an unknown machine. The new node stays in the state enroll."""
    finding = Finding(**task.job.arguments)
    before = _keep(task, finding)
    # The driver's configuration may still be missing.
    with suppress(SchedulerError):
        _leave(task)
    _conclude(task, finding, hooks=registry.enabled(task.job.settings), before=before, event=None)


def _keep(task: Task, finding: Finding) -> dict[str, Any] | None:
    """Store what was found, even if the inspection fails, for diagnosis; return the inventory stored before."""
    before = task.job.read(lambda session: inventory.last(session, task.machine.uuid))
    task.write(lambda session, node: inventory.store(session, node, finding.inventory, finding.plugin_data))
    return before


def _leave(task: Task) -> None:
    """Power the machine off if configured; a machine that must stay on is at least rebooted out of the agent."""
    settings = task.job.settings
    if not settings.inspector.power_off or agent_info.is_on_fast_track(task.machine.driver_info, settings):
        return
    target = REBOOT if task.machine.disable_power_off else POWER_OFF
    left = together(task.job.switch(task.machine, target), task.driver.boot.clean_up_ramdisk(task.machine))
    task.write(lambda session, node: left.write(node))


def _conclude(
    task: Task,
    finding: Finding,
    *,
    hooks: Sequence[str] = (),
    before: Mapping[str, Any] | None = None,
    event: str | None = DONE,
) -> None:
    """Run these hooks and the inspection rules on the report, update the node, and end with ``event``.

    ``before`` is the previous inventory. See ``Task.end``.
    """
    settings = task.job.settings

    def judge(session: Session) -> Verdict:
        return inspection.judge(session, nodes.find(session, task.machine.uuid), finding, hooks, settings, before)

    def finish(session: Session, node: Node) -> None:
        inspection.finish(session, node, verdict, live_members(session, settings))

    verdict = task.job.read(judge)
    api_calls.make_all(verdict.calls, allowed_hosts(settings))
    task.end(event, finish)
