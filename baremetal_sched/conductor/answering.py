"""Driver calls that requests wait for: started as soon as they are requested, each in its own thread.

Work on nodes has other threads, so no call waits for a deployment. A call is claimed before it is made, and made only
once: its result is written under that claim and, if the node is reserved, under the reservation.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import structlog
from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, or_, select, true, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import conductors, driver_calls, driver_replies, work_queue
from baremetal_sched.baremetal.conductors.ownership import alive
from baremetal_sched.baremetal.conductors.work_queue import HeldWork
from baremetal_sched.conductor.driver_methods import Outcome, call_node, call_type
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.conductor.outage import Retry
from baremetal_sched.db import compiled, requester
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Conductor, DriverCall, Node, NodeWork, table_of
from baremetal_sched.db.requester import Requester
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.types import Writer
from baremetal_sched.errors import AnswerTimeout, CommitUnknown, SchedulerError, UnavailableError
from baremetal_sched.machines.machine import NOTHING, Machine

log = structlog.get_logger(__name__)

#: Maximum number of hanging calls, as a multiple of the number of concurrent calls.
_HUNG = 4
#: Seconds after which a query counts as slow.
_SLOW = 1.0
#: Seconds after its deadline during which the request withdraws a call that was not begun.
_LATE = 10
#: Seconds for which calls whose requests have given up are kept.
_KEPT = 600


#: Created once: it runs again and again, and mostly finds nothing.
_WAITING = (
    select(DriverCall.id)
    .where(
        DriverCall.conductor == bindparam("conductor"), DriverCall.claimed_by.is_(None), DriverCall.deadline > epoch()
    )
    .order_by(DriverCall.id)
)
_CALLS, _NODES = table_of(DriverCall), table_of(Node)
_OF_CALL = ("id", "method", "arguments", "work_id", "hardware_type", "request_id", "user_id", "project_id")
#: A call that only asks something, with the whole node: SELECT n.*, c.… FROM driver_calls c JOIN nodes n ON …
_QUESTION = (
    select(*_NODES.c, *(_CALLS.c[name].label(f"call_{name}") for name in _OF_CALL))
    .join_from(_CALLS, _NODES, _NODES.c.id == _CALLS.c.node_id)
    .where(_CALLS.c.id == bindparam("call"), _CALLS.c.idempotent == true())
    .where(_CALLS.c.work_id.is_(None), _CALLS.c.reply.is_(None))
)


@dataclass(frozen=True)
class _Call:
    """A call that this process has claimed."""

    id: int
    method: str
    arguments: dict[str, Any]
    work: HeldWork | None
    hardware_type: str
    machine: Machine | None
    revision: int | None
    requester: Requester


@dataclass
class _Making:
    """A call that is being made in a thread. ``call`` is None until it is claimed."""

    thread: threading.Thread
    since: float = field(default_factory=time.monotonic)
    call: _Call | None = None
    is_claimed: bool = False


class Answering:
    """Makes the driver calls requested from the conductor ``host``, in the process ``process``.

    Hanging calls are given up after ``[conductor] driver_call_timeout``, and do not count from then on.
    """

    def __init__(self, host: ConductorHost, process: str) -> None:
        self._host = host
        self._process = process
        self._most: int = host.settings.conductor.driver_calls_at_once
        self._patience: float = host.settings.conductor.answer_timeout
        self._longest: float = host.settings.conductor.driver_call_timeout
        self._making: dict[int, _Making] = {}

    @property
    def is_busy(self) -> bool:
        """Return whether calls are being made for which a request waits."""
        return self._awaited() > 0

    def begin_all(self) -> None:
        """Begin the waiting calls, up to the limit of concurrent calls. Hanging calls do not count."""
        self._give_up(self._longest)
        self._claim_slow()
        self._making = {call_id: each for call_id, each in self._making.items() if each.thread.is_alive()}
        free = min(self._most - self._awaited(), self._most * _HUNG - len(self._making))
        waiting = self._host.database.select(lambda connection: _waiting(connection, self._host.name))
        for call_id in waiting[: max(0, free)]:
            if call_id not in self._making:
                thread = threading.Thread(target=self._make, args=(call_id,), name="driver-call", daemon=True)
                self._making[call_id] = _Making(thread)
                thread.start()

    def give_up_all(self) -> None:
        """Answer all waiting requests, as the conductor stops."""
        self._give_up(0)

    def _awaited(self) -> int:
        since = time.monotonic() - self._patience
        return sum(1 for each in list(self._making.values()) if each.since > since and each.thread.is_alive())

    def _give_up(self, seconds: float) -> None:
        """Give up the calls that have taken this many seconds."""
        late = time.monotonic() - seconds
        for call_id, making in list(self._making.items()):
            if making.since <= late and making.call is not None and making.thread.is_alive():
                log.error("a call of a driver is given up", call=call_id, method=making.call.method)
                error = AnswerTimeout()
                self._write(making.call, Outcome(), driver_replies.failed(error, None))
                self._host.database.write(partial(conductors.count_given_up_call, hostname=self._host.name))
                del self._making[call_id]

    def _claim_slow(self) -> None:
        """Record that slow queries have been begun. For fast ones this would not be worth a commit."""
        for call_id, making in self._making.items():
            if making.call is not None and not making.is_claimed and making.since < time.monotonic() - _SLOW:
                unclaimed = and_(DriverCall.id == call_id, DriverCall.claimed_by.is_(None))
                claim = update(DriverCall).where(unclaimed).values(claimed_by=self._process)
                self._host.database.write(partial(Session.execute, statement=claim))
                making.is_claimed = True

    def _make(self, call_id: int) -> None:
        try:
            call = self._host.database.select(lambda connection: self._look_up(connection, call_id))
            if call is None:
                call = self._claim_surely(call_id)
            if call is not None:
                if call_id in self._making:
                    self._making[call_id].call = call
                self._write(call, *self._outcome(call))
        except UnavailableError as error:
            log.warning("a call of a driver waits", conductor=self._host.name, call=call_id, reason=str(error))
        except Exception:
            log.exception("a call of a driver failed", conductor=self._host.name, call=call_id)

    def _claim_surely(self, call_id: int) -> _Call | None:
        """Claim the call. If the reply to the commit was lost, find out whether it took effect.

        Raises UnavailableError if the call certainly was not claimed.
        """
        may_be_claimed, retry = False, self._retry("a claim is repeated", call_id)
        while True:
            try:
                return self._host.database.write(lambda session: self._claim(session, call_id))
            except UnavailableError as error:
                may_be_claimed = may_be_claimed or isinstance(error, CommitUnknown)
                if not may_be_claimed:
                    raise
                retry.wait(error)

    def _look_up(self, connection: Connection, call_id: int) -> _Call | None:
        """Return the call if it is a query: it may be made twice, so it is not claimed, which would take time."""
        row = connection.execute(_QUESTION, {"call": call_id}).first()
        if row is None:
            return None
        return self._call(SimpleNamespace(**{name: getattr(row, f"call_{name}") for name in _OF_CALL}), row)

    def _claim(self, session: Session, call_id: int) -> _Call | None:
        """Claim the call and return it; None if it is not to be made, or not by this process."""
        claimed = session.execute(
            update(DriverCall)
            .where(
                DriverCall.id == call_id,
                DriverCall.conductor == self._host.name,
                # If it is unknown whether this process has just claimed the call, accept its own claim. Nothing is
                # claimed twice here.
                or_(
                    and_(DriverCall.claimed_by.is_(None), DriverCall.deadline > epoch()),
                    and_(DriverCall.claimed_by == self._process, DriverCall.reply.is_(None)),
                ),
            )
            .values(claimed_by=self._process)
        )
        if not rows_changed(claimed):
            return None
        row = session.get_one(DriverCall, call_id)
        work = driver_calls.work_of(row)
        if work is not None:
            session.execute(update(NodeWork).where(NodeWork.id == row.work_id).values(claimed_by=self._process))
            node = work_queue.hold(session, work)
        else:
            node = None if row.node_id is None else session.get(Node, row.node_id)
        if node is None and row.node_id is not None:  # deleted, and answered by the process that deleted it
            return None
        if (session.scalar(select(epoch())) or 0.0) > row.deadline:  # it took long to find out that it was claimed
            if work is not None:
                work_queue.finish(session, work)
            driver_calls.forget(session, [call_id])
            return None
        return self._call(row, node)

    def _call(self, row: Any, node: Any) -> _Call:
        """``row`` has the columns of ``_OF_CALL``, ``node`` those of a node, unless it is None."""
        by = Requester(row.request_id, row.user_id, row.project_id)
        machine = None if node is None else Machine.of(node, self._host.settings)
        work = driver_calls.work_of(row)
        revision = None if node is None else node.revision
        return _Call(row.id, row.method, row.arguments, work, row.hardware_type, machine, revision, by)

    def _outcome(self, call: _Call) -> tuple[Outcome, dict[str, Any]]:
        """Make the call, and return its outcome and the answer."""
        machine, known = call.machine, call.requester.known()
        subject = {"driver": call.hardware_type} if machine is None else {"node": machine.uuid}
        bound = log.bind(**subject, call=call.id, method=call.method, **known)
        try:
            if machine is None:
                outcome = call_type(call.method, call.hardware_type, call.arguments, self._host.settings)
            else:
                outcome = call_node(call.method, machine, call.arguments)
            document = driver_replies.said(outcome.value, call.revision)
            bound.info("driver called")
            return outcome, document
        except Exception as error:  # a driver may raise anything; the request must be answered
            if isinstance(error, SchedulerError):
                bound.info("driver refused", reason=str(error))
            else:
                bound.exception("driver failed")
            return Outcome(), driver_replies.failed(error, call.revision)

    def _write(self, call: _Call, outcome: Outcome, document: dict[str, Any]) -> None:
        """Record the result of the call and free the node, unless the call was taken over by another conductor."""

        def write(writer: Writer) -> None:
            said = document
            if call.work is not None and isinstance(writer, Session):
                requester.attach(writer, call.requester)
                node = work_queue.finish(writer, call.work)
                if node is None:
                    log.warning("a call was taken away; nothing written", call=call.id, method=call.method)
                    said = driver_replies.failed(AnswerTimeout(), None)
                else:
                    outcome.effect.write(node)
            driver_calls.reply(writer, call.id, self._process, said)

        database = self._host.database
        try:
            self._persist(lambda: (database.change if call.work is None else database.write)(write), call)
        except Exception as error:  # a driver may return anything: too large, too deep, not JSON
            if outcome.effect is NOTHING and "error" in document:
                raise
            log.exception("what a driver said cannot be written", call=call.id, method=call.method)
            self._write(call, Outcome(), driver_replies.failed(error, call.revision))

    def _persist(self, action: Callable[[], None], call: _Call) -> None:
        """Retry until the database is available: what was done to a machine must be recorded."""
        retry = self._retry("a reply waits", call.id)
        while True:
            try:
                return action()
            except UnavailableError as error:
                retry.wait(error)

    def _retry(self, event: str, call_id: int) -> Retry:
        bound = log.bind(conductor=self._host.name, call=call_id)
        return Retry(bound, event, self._host.settings.conductor.work_interval)


def _waiting(connection: Connection, conductor: str) -> Sequence[int]:
    """Return the calls that wait; each has a request behind it, so there are not many."""
    return [call for (call,) in compiled.run(connection, _WAITING, {"conductor": conductor})]


def give_up_before_start(host: ConductorHost) -> None:
    """Answer the calls claimed by a previous process with this conductor's name, whose results are unknown. Queries are
    made again."""
    mine = and_(DriverCall.conductor == host.name, DriverCall.claimed_by.is_not(None), DriverCall.reply.is_(None))
    _settle(host, mine)


def settle_abandoned(host: ConductorHost) -> None:
    """Settle abandoned calls of this conductor's nodes, begun by a dead conductor or by one that lost its work.

    Begun calls are answered, calls that were not begun are made here, late calls are withdrawn, and calls without a
    waiting request are deleted.
    """
    lost = DriverCall.work_id.is_not(None) & ~select(NodeWork.id).where(NodeWork.id == DriverCall.work_id).exists()
    claimed, unanswered = DriverCall.claimed_by.is_not(None), DriverCall.reply.is_(None)
    _settle(host, and_(claimed, unanswered, lost))
    dead = (
        ~select(Conductor.id)
        .where(Conductor.hostname == DriverCall.conductor, alive(host.settings.conductor.heartbeat_timeout))
        .exists()
    )
    own = host.own(select(DriverCall.id).where(DriverCall.node_id == Node.id, dead, unanswered).exists())
    if own:
        _settle(host, and_(DriverCall.node_id.in_(own), dead, unanswered))
    late = and_(DriverCall.claimed_by.is_(None), DriverCall.deadline < epoch() - _LATE, DriverCall.node_id.is_not(None))
    for call_id in host.database.read(lambda session: session.scalars(select(DriverCall.id).where(late)).all()):
        # The request died, or it would have withdrawn the call.
        host.database.write(partial(driver_calls.withdraw, call_id=call_id))
    old = DriverCall.deadline < epoch() - _KEPT
    over = or_(DriverCall.claimed_by.is_(None), DriverCall.reply.is_not(None))
    host.database.write(lambda session: session.execute(delete(DriverCall).where(old, over)))


def _settle(host: ConductorHost, condition: ColumnElement[bool]) -> None:
    """Answer the calls that meet ``condition``; make those here that were not begun or are queries."""

    def settle(session: Session) -> None:
        for call in session.scalars(select(DriverCall).where(condition).with_for_update()):
            if call.claimed_by is not None and not call.idempotent:
                call.reply = driver_replies.failed(AnswerTimeout(), None)
            elif call.work_id is None or call.claimed_by is not None:
                # The reservation ends with the dead conductor's work; a query does not need it.
                call.claimed_by, call.conductor, call.work_id = None, host.name, None

    host.database.write(settle)
