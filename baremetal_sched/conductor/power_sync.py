"""Comparison of the recorded power states with the machines.

No round waits for slow machines. A machine that does not answer at all has failed when the next round begins, and its
address is not contacted for a while.
"""

import math
import time
from collections.abc import Callable
from functools import partial

import structlog
from sqlalchemy import ColumnElement, and_, false, select, true
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.baremetal.hardware import power
from baremetal_sched.baremetal.holds import guards
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.conductor.outage import addresses_of
from baremetal_sched.conductor.questions import MachineQuestion
from baremetal_sched.db.models import Node
from baremetal_sched.drivers import progress, registry
from baremetal_sched.drivers.driver import Driver
from baremetal_sched.errors import SchedulerError, SecretsUnreadable
from baremetal_sched.errors.baremetal import MachineUnreachable, UnsupportedByDriver
from baremetal_sched.machines import states
from baremetal_sched.machines.machine import Machine
from baremetal_sched.masking import mask_text

log = structlog.get_logger(__name__)

#: Initial back-off from an address, in intervals between rounds: it skips the next one.
_PAUSE_IN_INTERVALS = 1.5

#: Reacts to the state that was found (None: unknown, with the reason), with the node locked.
React = Callable[[Session, Node, str | None, str], None]


def synchronize(host: ConductorHost) -> None:
    """Compare the power states of this conductor's nodes with their machines, where a machine can be queried.

    Nodes that are reserved, in the state enroll, or in maintenance are skipped.
    """
    compared = and_(
        Node.maintenance == false(),
        Node.provision_state != states.ENROLL,
        Node.target_power_state.is_(None),
    )
    _ask_all(
        host,
        compared,
        lambda session, node, found, why: power.compare(session, node, found, host.name, host.settings, why),
        with_health=host.settings.conductor.enable_health_monitoring,
    )


def recover(host: ConductorHost) -> None:
    """Retry nodes that are in maintenance because their power could not be read or set, and that are not locked out."""
    failed = and_(Node.maintenance == true(), Node.fault == states.POWER_FAILURE, ~guards.IS_LOCKED_OUT)
    _ask_all(host, failed, lambda session, node, found, why: power.recover(session, node, found, host.name))


def _ask_all(host: ConductorHost, condition: ColumnElement[bool], react: React, *, with_health: bool = False) -> None:
    askable = sorted(name for name, each in registry.loaded("power").items() if not each.only_remembers)
    if not askable:
        return
    condition = and_(condition, Node.reservation.is_(None), Node.power_interface.in_(askable))
    options = host.settings.conductor
    host.questions.give_up(min(options.driver_call_timeout, options.sync_power_state_interval or math.inf))
    for node_id in host.own(condition):
        inquiry = _Inquiry(host, node_id, condition, react, with_health=with_health)
        host.questions.ask(node_id, inquiry.ask, inquiry.give_up, most=options.sync_power_state_workers)
    host.questions.finish()


class _Inquiry:
    """Queries one machine without any lock, and reacts if its node is unchanged."""

    def __init__(
        self, host: ConductorHost, node_id: int, condition: ColumnElement[bool], react: React, *, with_health: bool
    ) -> None:
        self._host = host
        self._node_id = node_id
        self._condition = condition
        self._react = react
        self._with_health = with_health
        #: The health of the machine, in a tuple; empty if it was not read.
        self._health: tuple[str | None, ...] = ()
        self._machine: Machine | None = None
        self._revision = 0

    def ask(self, question: MachineQuestion) -> None:
        """Query the machine, unless it is backed off from."""
        machine = self._machine = self._host.database.read(self._find)
        if machine is None or not self._host.back_off.is_due(addresses_of(machine)):
            return
        question.begun = time.monotonic()
        found, why = None, ""
        try:
            found, why = _power_state(machine)
        except (OSError, MachineUnreachable) as error:
            why = str(error)
            log.warning("cannot reach a machine", node=machine.uuid, reason=why)
            self._note_silence(machine)
        else:
            self._host.back_off.note_answer(addresses_of(machine))
            if self._with_health and found is not None:
                self._health = _health(machine)
        if not question.is_given_up:
            self._write(found, why)

    def give_up(self) -> None:
        """Record that the power state is unknown, as the driver does not return."""
        if self._machine is not None:
            log.warning("a machine does not answer", node=self._machine.uuid)
            self._note_silence(self._machine)
            self._write(None, "Its driver does not come back.")
            self._host.database.write(partial(conductors.count_given_up_call, hostname=self._host.name))

    def _note_silence(self, machine: Machine) -> None:
        options = self._host.settings.conductor
        pause = _PAUSE_IN_INTERVALS * options.sync_power_state_interval
        longest = options.power_failure_recovery_interval
        self._host.back_off.note_silence(addresses_of(machine), pause, max(pause, longest) if longest else None)

    def _find(self, session: Session) -> Machine | None:
        node = session.scalars(select(Node).where(Node.id == self._node_id, self._condition)).first()
        if node is None:
            return None
        self._revision = node.revision
        return Machine.of(node, self._host.settings)

    def _write(self, found: str | None, why: str) -> None:
        def write(session: Session) -> None:
            unchanged = select(Node).where(Node.id == self._node_id, Node.revision == self._revision, self._condition)
            node = session.scalars(unchanged.with_for_update()).first()
            if node is not None:
                for health in self._health:
                    power.note_health(session, node, health, self._host.name)
                self._react(session, node, found, mask_text(why))

        try:
            self._host.database.write(write)
        except SecretsUnreadable as error:
            log.warning("cannot note a power state", node_id=self._node_id, reason=str(error))


def _health(machine: Machine) -> tuple[str | None, ...]:
    """Return what the driver reads; nothing if it cannot, which the power state says already."""
    try:
        with progress.in_passing():
            return (Driver(machine).management.get_node_health(machine),)
    except UnsupportedByDriver:
        return ()
    except Exception as error:  # a driver may raise anything
        log.info("cannot read the health of a machine", node=machine.uuid, reason=str(error))
        return ()


def _power_state(machine: Machine) -> tuple[str | None, str]:
    """Return the state; None and the reason if the driver cannot tell. Raises OSError, MachineUnreachable."""
    try:
        with progress.in_passing():
            return Driver(machine).power.get_power_state(machine), ""
    except (OSError, MachineUnreachable):
        raise
    except SchedulerError as error:
        log.warning("cannot read a power state", node=machine.uuid, reason=str(error))
        return None, str(error)
    except Exception:  # a driver may raise anything
        log.exception("driver failed", node=machine.uuid)
        return None, "Its driver failed."
