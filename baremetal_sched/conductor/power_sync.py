"""Comparing the power states of nodes with their machines."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import structlog
from sqlalchemy import ColumnElement, and_, false, select, true
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import power_sync, states
from baremetal_sched.baremetal.drivers.machine import Machine
from baremetal_sched.baremetal.drivers.power import POWER_INTERFACES
from baremetal_sched.conductor.host import Host
from baremetal_sched.db.models import Node
from baremetal_sched.errors import SchedulerError, UnavailableError

log = structlog.get_logger(__name__)

#: What to do about the state that was found (None: unknown), with the node locked.
React = Callable[[Session, Node, str | None], None]


def synchronize(host: Host) -> None:
    """Compare the power of this conductor's nodes with their machines, where a machine can be asked.

    Left out are nodes that are reserved, enrolled only, or in maintenance, and those whose power nobody has known yet:
    that is for verifying them.
    """
    compared = and_(
        Node.maintenance == false(),
        Node.provision_state != states.ENROLL,
        Node.power_state.is_not(None),
        Node.target_power_state.is_(None),
    )
    _ask_all(
        host,
        compared,
        lambda session, node, found: power_sync.compare(session, node, found, host.name, host.settings),
    )


def recover(host: Host) -> None:
    """Look again after nodes that are in maintenance because their power could not be read or set."""
    failed = and_(Node.maintenance == true(), Node.fault == states.POWER_FAILURE)
    _ask_all(host, failed, lambda session, node, found: power_sync.recover(session, node, found, host.name))


def _ask_all(host: Host, condition: ColumnElement[bool], react: React) -> None:
    askable = sorted(name for name, interface in POWER_INTERFACES.items() if not interface.only_remembers)
    if not askable:
        return
    condition = and_(condition, Node.reservation.is_(None), Node.power_interface.in_(askable))
    with ThreadPoolExecutor(host.settings.conductor.sync_power_state_workers) as workers:
        for done in workers.map(lambda node_id: _ask(host, node_id, condition, react), host.own(condition)):
            if isinstance(done, UnavailableError):
                raise done


def _ask(host: Host, node_id: int, condition: ColumnElement[bool], react: React) -> UnavailableError | None:
    """Ask one machine, without any lock, and react if its node is still as it was."""

    def machine_of(session: Session) -> tuple[Machine, int] | None:
        node = session.scalars(select(Node).where(Node.id == node_id, condition)).first()
        return None if node is None else (Machine.of(node, host.settings), node.revision)

    def write(session: Session, revision: int, found: str | None) -> None:
        unchanged = select(Node).where(Node.id == node_id, Node.revision == revision, condition)
        node = session.scalars(unchanged.with_for_update()).first()
        if node is not None:
            react(session, node, found)

    try:
        asked = host.database.read(machine_of)
        if asked is not None:
            machine, revision = asked
            found = _power_state(machine)
            host.database.write(lambda session: write(session, revision, found))
    except UnavailableError as error:
        return error
    return None


def _power_state(machine: Machine) -> str | None:
    try:
        return POWER_INTERFACES[machine.interfaces["power"]].get_power_state(machine)
    except SchedulerError as error:
        log.warning("cannot read a power state", node=machine.uuid, reason=str(error))
    except Exception:  # a driver may fail in any way
        log.exception("driver failed", node=machine.uuid)
    return None
