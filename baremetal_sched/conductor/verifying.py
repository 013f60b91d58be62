"""``manage``: verify that the node's machine can be reached."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.state_machine import DONE
from baremetal_sched.conductor import caching
from baremetal_sched.conductor.task import Task
from baremetal_sched.db.models import Node
from baremetal_sched.errors import InvalidValue, SchedulerError, UnavailableError

#: Properties that the management interface may report.
_BOOT_SETTINGS = ("boot_mode", "secure_boot")


def verify(task: Task) -> None:
    """Verify that the node's power can be managed, and record the power state that the driver reports.

    Boot mode, secure boot, BIOS settings and firmware are recorded, too, if the driver knows them.
    """
    power, doing = task.driver.power, "validate power driver interface"
    try:
        power.validate(task.machine)
        doing = "get power state"
        state = power.get_power_state(task.machine)
    except UnavailableError:
        raise
    except SchedulerError as error:
        raise InvalidValue(message=f"Failed to {doing} for node {task.machine.uuid}. Error: {error}") from error
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
