"""The stored copy of a machine's BIOS settings and firmware components, refreshed when the machine is accessed
anyway."""

from collections.abc import Callable

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.hardware import bios
from baremetal_sched.conductor.task import Change, Task
from baremetal_sched.db.models import Node
from baremetal_sched.errors import SchedulerError, UnavailableError
from baremetal_sched.errors.baremetal import MachineUnreachable
from baremetal_sched.machines.machine import NOTHING, Effect


def look(task: Task) -> Change:
    """Read BIOS settings and firmware components if the interfaces support it; return the change that stores them.

    If the machine does not report them, the stored values stay, and this is logged.
    """
    found: list[Effect] = []
    try:
        found = [_asked(task, _settings), _asked(task, _components)]
    except MachineUnreachable as error:
        task.job.log.warning("BIOS settings and firmware components cannot be read", reason=str(error))

    def keep(session: Session, node: Node) -> None:
        for effect in found:
            if effect.bios is not None:
                bios.keep_settings(session, node, effect.bios)
            if effect.firmware:
                bios.keep_components(session, node, effect.firmware)

    return keep


def _settings(task: Task) -> Effect:
    interface = task.driver.bios
    return interface.cache_bios_settings(task.machine) if interface.reads_settings else NOTHING


def _components(task: Task) -> Effect:
    interface = task.driver.firmware
    return interface.cache_firmware_components(task.machine) if interface.reads_components else NOTHING


def _asked(task: Task, ask: Callable[[Task], Effect]) -> Effect:
    try:
        return ask(task)
    except (UnavailableError, MachineUnreachable):
        raise
    except SchedulerError as error:
        task.job.log.info("BIOS settings or firmware components are not known", reason=str(error))
    except Exception:  # a driver may raise anything
        task.job.log.exception("driver failed to say BIOS settings or firmware components")
    return NOTHING
