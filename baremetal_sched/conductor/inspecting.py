"""``manage`` and ``inspect``: verify that a machine can be reached, and inspect its hardware."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched import bounded_http
from baremetal_sched.allowed_hosts import AddressRefused, AllowedHosts, allowed_hosts
from baremetal_sched.baremetal.conductors.ownership import live_members
from baremetal_sched.baremetal.inspection import inspection
from baremetal_sched.baremetal.inspection.hooks import registry
from baremetal_sched.baremetal.inspection.inspection import InspectionVerdict
from baremetal_sched.baremetal.inspection.rules.limits import RuleFailed
from baremetal_sched.baremetal.inspection.rules.subject import ApiCall
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.state_machine import DONE, WAIT
from baremetal_sched.conductor import caching
from baremetal_sched.conductor.task import Task, saying
from baremetal_sched.db.models import Node
from baremetal_sched.errors import SchedulerError
from baremetal_sched.errors.baremetal import UnsupportedByDriver
from baremetal_sched.machines import agent_info
from baremetal_sched.machines.machine import MachineFinding, together
from baremetal_sched.machines.states import POWER_OFF, REBOOT

#: Seconds that all calls of an inspection may take, with retries and pauses; the node is reserved until then.
TIME_LIMIT = 60.0
#: Statuses of transient errors, after which a call is retried.
_MAY_PASS = (429, 500, 502, 503, 504)
#: Properties that the management interface may report.
_BOOT_SETTINGS = ("boot_mode", "secure_boot")


def make_all(calls: Sequence[ApiCall], hosts: AllowedHosts) -> None:
    """Make the calls in order, retrying each if necessary, with growing pauses.

    Raises RuleFailed if a call does not succeed, leads to a forbidden host, or if all of them take too long.
    """
    deadline = time.monotonic() + TIME_LIMIT
    for call in calls:
        _make(call, hosts, deadline)


def _make(call: ApiCall, hosts: AllowedHosts, deadline: float) -> None:
    reason = ""
    for attempt in range(call.retries + 1):
        if attempt:
            pause = call.backoff_factor * 2 ** (attempt - 1)
            if time.monotonic() + pause >= deadline:
                break
            time.sleep(pause)
        try:
            status, words = bounded_http.get(
                call.url,
                headers=call.headers or {},
                proxies=call.proxies or {},
                hosts=hosts,
                deadline=min(deadline, time.monotonic() + call.timeout),
            )
        except AddressRefused as error:
            reason = str(error)
            break
        except bounded_http.CallFailed as error:
            reason = str(error)
        else:
            if status < 300:
                return
            reason = f"HTTP Error {status}: {words}"
            if status not in _MAY_PASS:
                break
    if time.monotonic() >= deadline:
        reason = f"{reason or 'it did not begin'}; all calls of an inspection may take {TIME_LIMIT:g} s"
    raise RuleFailed(message=f"The call of {call.url} by an inspection rule failed: {reason}")


def inspect(task: Task) -> None:
    """Inspect the machine, and update the node from the result."""
    addresses = _addresses(task)
    task.write(lambda session, node: inspection.begin(session, node, addresses))
    found = task.driver.inspect.inspect_hardware(task.machine)
    if isinstance(found, MachineFinding):
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


def continue_inspection(task: Task) -> None:
    """Process the report of the agent, which is no longer needed except on fast track."""
    finding = MachineFinding(**task.job.arguments)
    before = _keep(task, finding)
    _leave(task)
    _conclude(task, finding, hooks=registry.enabled(task.job.settings), before=before)


def discover(task: Task) -> None:
    """Process the report of an agent on an unknown machine. The new node stays in the state enroll."""
    finding = MachineFinding(**task.job.arguments)
    before = _keep(task, finding)
    # The driver's configuration may still be missing.
    with suppress(SchedulerError):
        _leave(task)
    _conclude(task, finding, hooks=registry.enabled(task.job.settings), before=before, event=None)


def _keep(task: Task, finding: MachineFinding) -> dict[str, Any] | None:
    """Store the findings, for diagnosis even if the inspection fails; return the inventory stored before."""
    before = task.job.read(lambda session: inspection.last(session, task.machine.uuid))
    task.write(lambda session, node: inspection.store(session, node, finding.inventory, finding.plugin_data))
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
    finding: MachineFinding,
    *,
    hooks: Sequence[str] = (),
    before: Mapping[str, Any] | None = None,
    event: str | None = DONE,
) -> None:
    """Run these hooks and the inspection rules on the report, update the node, and end with ``event``.

    ``before`` is the previous inventory. See ``Task.end``.
    """
    settings = task.job.settings

    def judge(session: Session) -> InspectionVerdict:
        return inspection.judge(session, nodes.find(session, task.machine.uuid), finding, hooks, settings, before)

    def finish(session: Session, node: Node) -> None:
        inspection.finish(session, node, verdict, live_members(session, settings))

    verdict = task.job.read(judge)
    make_all(verdict.calls, allowed_hosts(settings))
    task.end(event, finish)


def verify(task: Task) -> None:
    """Verify that the node's power can be managed, and record the power state that the driver reports.

    Boot mode, secure boot, BIOS settings and firmware are recorded, too, if the driver knows them.
    """
    power = task.driver.power
    with saying(f"Failed to validate power driver interface for node {task.machine.uuid}. Error"):
        power.validate(task.machine)
    with saying(f"Failed to get power state for node {task.machine.uuid}. Error"):
        state = power.get_power_state(task.machine)
    found = {"power_state": state, **_boot_settings(task)}
    keep = caching.look(task)

    def write(session: Session, node: Node) -> None:
        keep(session, node)
        for name, value in found.items():
            setattr(node, name, value)

    task.end(DONE, write)


def _boot_settings(task: Task) -> Mapping[str, Any]:
    """Return the boot mode and secure boot of the machine; empty if it does not report them, which is not a failure."""
    try:
        found = task.driver.management.get_boot_settings(task.machine)
    except Exception as error:  # a driver may raise anything
        task.job.log.warning("cannot read boot mode and secure boot", reason=str(error))
        return {}
    return {name: found[name] for name in _BOOT_SETTINGS if name in found}
