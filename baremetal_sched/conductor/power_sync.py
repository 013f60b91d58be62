"""Comparison of the recorded power states with the machines.

A round reads the nodes in chunks, without locks. If a machine is in the state that its node says, nothing is locked or
written. Otherwise the node is locked and read again. If it has changed since it was read, the next round compares it.

No round waits for slow machines. A machine that does not answer at all has failed when the next round begins, and its
address is not contacted for a while.
"""

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache, partial

import structlog
from sqlalchemy import ColumnElement, Integer, and_, bindparam, false, select, true
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.baremetal.hardware import power
from baremetal_sched.baremetal.holds import guards
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.conductor.outage import addresses_of
from baremetal_sched.conductor.questions import MachineQuestion
from baremetal_sched.db import compiled
from baremetal_sched.db.models import Node
from baremetal_sched.db.sql_functions import constant
from baremetal_sched.db.types import Query
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

#: Number of nodes that are read in one statement.
_CHUNK = 100
#: Seconds after which the revision of a node is read before its machine is queried: a conductor may have begun to work
#: on it.
_FRESH = 1.0

#: Reacts to the state that was found (None: unknown, with the reason), with the node locked.
React = Callable[[Session, Node, str | None, str], None]
#: Returns whether there is nothing to react to, as far as the node is known without its lock.
AtRest = Callable[[Machine, str | None], bool]

_COMPARED = and_(
    Node.maintenance == false(), Node.provision_state != constant(states.ENROLL), Node.target_power_state.is_(None)
)
_FAILED = and_(Node.maintenance == true(), Node.fault == constant(states.POWER_FAILURE), ~guards.IS_LOCKED_OUT)


def synchronize(host: ConductorHost) -> None:
    """Compare the power states of this conductor's nodes with their machines, where a machine can be queried.

    Nodes that are reserved, in the state enroll, or in maintenance are skipped.
    """
    _ask_all(
        host,
        _COMPARED,
        lambda session, node, found, why: power.compare(session, node, found, host.name, host.settings, why),
        power.agrees,
        with_health=host.settings.conductor.enable_health_monitoring,
    )


def recover(host: ConductorHost) -> None:
    """Retry nodes that are in maintenance because their power could not be read or set, and that are not locked out."""
    _ask_all(
        host,
        _FAILED,
        lambda session, node, found, why: power.recover(session, node, found, host.name),
        lambda machine, found: found is None,
    )


def _ask_all(
    host: ConductorHost, condition: ColumnElement[bool], react: React, at_rest: AtRest, *, with_health: bool = False
) -> None:
    askable = sorted(name for name, each in registry.loaded("power").items() if not each.only_remembers)
    if not askable:
        return
    condition, unchanged = _asked(condition, tuple(askable))
    options = host.settings.conductor
    host.questions.give_up(min(options.driver_call_timeout, options.sync_power_state_interval or math.inf))
    node_ids = host.own(condition)
    for start in range(0, len(node_ids), _CHUNK):
        chunk = node_ids[start : start + _CHUNK]
        # From before they are read: a lockout that begins later waits for these queries.
        with host.questions.announced(chunk):
            for node_id, found in _read(host, chunk, condition).items():
                inquiry = _Inquiry(host, node_id, condition, unchanged, found, react, at_rest, with_health=with_health)
                host.questions.ask(node_id, inquiry.ask, inquiry.give_up, most=options.sync_power_state_workers)
    host.questions.finish()


@lru_cache(maxsize=8)
def _asked(condition: ColumnElement[bool], askable: tuple[str, ...]) -> tuple[ColumnElement[bool], Query]:
    """Return the condition on nodes whose machines can be queried, too; and the statement, created once, that returns
    the revision of a node that meets it."""
    names = map(constant, askable)
    condition = and_(condition, Node.reservation.is_(None), Node.power_interface.in_(names))
    return condition, select(Node.revision).where(Node.id == bindparam("node", type_=Integer()), condition)


@dataclass(frozen=True)
class _NodeReading:
    """A node as it was read without a lock, ``at`` a time of ``time.monotonic``."""

    machine: Machine
    revision: int
    health: str | None
    at: float


def _read(host: ConductorHost, node_ids: Collection[int], condition: ColumnElement[bool]) -> dict[int, _NodeReading]:
    """Return those of the nodes that meet ``condition``, by id, in order. Nodes whose secrets are needed, but cannot be
    decrypted, are logged."""

    def read(session: Session) -> dict[int, _NodeReading]:
        # SELECT … FROM nodes WHERE id IN (…) AND (condition) ORDER BY id
        at, found = time.monotonic(), {}
        for node in session.scalars(select(Node).where(Node.id.in_(node_ids), condition).order_by(Node.id)):
            try:
                machine = Machine.of(node, host.settings)
            except SecretsUnreadable as error:
                log.warning("cannot query a machine", node=node.uuid, reason=str(error))
            else:
                found[node.id] = _NodeReading(machine, node.revision, node.health, at)
        return found

    return host.database.read(read)


class _Inquiry:
    """Queries one machine without any lock, and reacts if its node is unchanged. ``found``: the node."""

    def __init__(
        self,
        host: ConductorHost,
        node_id: int,
        condition: ColumnElement[bool],
        unchanged: Query,
        found: _NodeReading,
        react: React,
        at_rest: AtRest,
        *,
        with_health: bool,
    ) -> None:
        self._host = host
        self._node_id = node_id
        self._condition = condition
        self._unchanged = unchanged
        self._found = found
        self._react = react
        self._at_rest = at_rest
        self._with_health = with_health
        #: The health of the machine, in a tuple; empty if it was not read.
        self._health: tuple[str | None, ...] = ()

    def ask(self, question: MachineQuestion) -> None:
        """Query the machine, unless it is backed off from."""
        if time.monotonic() - self._found.at > _FRESH:
            node = {"node": self._node_id}
            revision = self._host.database.select(lambda db: compiled.run(db, self._unchanged, node).scalar())
            if revision != self._found.revision:
                return
        machine = self._found.machine
        if not self._host.back_off.is_due(addresses_of(machine)):
            return
        question.begun = time.monotonic()
        state, why = None, ""
        try:
            state, why = _power_state(machine)
        except (OSError, MachineUnreachable) as error:
            why = str(error)
            log.warning("cannot reach a machine", node=machine.uuid, reason=why)
            self._note_silence()
        else:
            self._host.back_off.note_answer(addresses_of(machine))
            if self._with_health and state is not None:
                self._health = _health(machine)
        if not question.is_given_up:
            self._write(state, why)

    def give_up(self) -> None:
        """Record that the power state is unknown, as the driver does not return."""
        log.warning("a machine does not answer", node=self._found.machine.uuid)
        self._note_silence()
        self._write(None, "Its driver does not come back.")
        self._host.database.write(partial(conductors.count_given_up_call, hostname=self._host.name))

    def _note_silence(self) -> None:
        options = self._host.settings.conductor
        pause = _PAUSE_IN_INTERVALS * options.sync_power_state_interval
        longest = options.power_failure_recovery_interval
        machine = self._found.machine
        self._host.back_off.note_silence(addresses_of(machine), pause, max(pause, longest) if longest else None)

    def _write(self, state: str | None, why: str) -> None:
        def write(session: Session) -> None:
            revision = self._found.revision
            unchanged = select(Node).where(Node.id == self._node_id, Node.revision == revision, self._condition)
            node = session.scalars(unchanged.with_for_update()).first()
            if node is not None:
                for health in self._health:
                    power.note_health(session, node, health, self._host.name)
                self._react(session, node, state, mask_text(why))

        try:
            if not self._is_at_rest(state):
                self._host.database.write(write)
        except SecretsUnreadable as error:
            log.warning("cannot note a power state", node_id=self._node_id, reason=str(error))

    def _is_at_rest(self, state: str | None) -> bool:
        """Return whether nothing is to be written. Raises SecretsUnreadable."""
        known = all(health == self._found.health for health in self._health)
        return known and self._at_rest(self._found.machine, state)


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
