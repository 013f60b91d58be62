"""Calls of drivers that requests wait for: taken as soon as they are there, each made in a thread of its own.

Work on nodes has other threads, so no call waits for a deployment. A call is claimed before it is made, and made once:
what becomes of it is written with the claim still there, and of a reserved node with its reservation.
"""

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import structlog
from sqlalchemy import ColumnElement, and_, delete, or_, select, true, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import conductors, driver_calls, driver_replies, work
from baremetal_sched.baremetal.machine import NOTHING, Machine
from baremetal_sched.baremetal.ownership import alive
from baremetal_sched.conductor.driver_methods import Outcome, call_node, call_type
from baremetal_sched.conductor.host import Host
from baremetal_sched.db import requester
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Conductor, DriverCall, Node, NodeWork
from baremetal_sched.db.requester import Requester
from baremetal_sched.db.results import rows_changed
from baremetal_sched.errors import AnswerTimeout, CommitUnknown, SchedulerError, UnavailableError

log = structlog.get_logger(__name__)

#: How many times as many calls may hang as are made at the same time.
_HUNG = 4
#: Seconds after which a question has taken long.
_SLOW = 1.0
#: Seconds after its deadline in which a request takes back a call that was not begun.
_LATE = 10
#: Seconds for which calls whose requests have given up are kept.
_KEPT = 600


@dataclass(frozen=True)
class _Call:
    """A call that this process has claimed."""

    id: int
    method: str
    arguments: dict[str, Any]
    work_id: int | None
    hardware_type: str
    machine: Machine | None
    revision: int | None
    requester: Requester


@dataclass
class _Making:
    """A call that is being made, in a thread; ``call``: None until it is claimed."""

    thread: threading.Thread
    since: float = field(default_factory=time.monotonic)
    call: _Call | None = None
    is_claimed: bool = False


class Answering:
    """Makes the calls that are asked of the conductor ``host``, in the process ``process``.

    Those that hang are given up after ``[conductor] driver_call_timeout``, and do not count any more.
    """

    def __init__(self, host: Host, process: str) -> None:
        self._host = host
        self._process = process
        self._most: int = host.settings.conductor.driver_calls_at_once
        self._patience: float = host.settings.conductor.answer_timeout
        self._longest: float = host.settings.conductor.driver_call_timeout
        self._making: dict[int, _Making] = {}

    @property
    def is_busy(self) -> bool:
        """Whether calls are being made for which somebody waits."""
        return self._awaited() > 0

    def begin_all(self) -> None:
        """Begin the calls that are waiting, as far as there is room. Hanging ones take none."""
        self._give_up(self._longest)
        self._claim_slow()
        self._making = {call_id: each for call_id, each in self._making.items() if each.thread.is_alive()}
        free = min(self._most - self._awaited(), self._most * _HUNG - len(self._making))
        for call_id in self._host.database.read(lambda session: _waiting(session, self._host.name, free)):
            if call_id not in self._making:
                thread = threading.Thread(target=self._make, args=(call_id,), name="driver-call", daemon=True)
                self._making[call_id] = _Making(thread)
                thread.start()

    def answer_all(self) -> None:
        """Make the calls that are waiting, one after the other."""
        for call_id in self._host.database.read(lambda session: _waiting(session, self._host.name, self._most)):
            self._make(call_id)

    def give_up_all(self) -> None:
        """Answer the requests that still wait: the conductor ends."""
        self._give_up(0)

    def _awaited(self) -> int:
        since = time.monotonic() - self._patience
        return sum(1 for each in list(self._making.values()) if each.since > since and each.thread.is_alive())

    def _give_up(self, seconds: float) -> None:
        """Give up the calls that have taken so long."""
        late = time.monotonic() - seconds
        for call_id, making in list(self._making.items()):
            if making.since <= late and making.call is not None and making.thread.is_alive():
                log.error("a call of a driver is given up", call=call_id, method=making.call.method)
                error = AnswerTimeout()
                self._write(making.call, Outcome(), driver_replies.failed(error, None))
                self._host.database.write(partial(conductors.count_given_up_call, hostname=self._host.name))
                del self._making[call_id]

    def _claim_slow(self) -> None:
        """Say of questions that take long that they have been begun, which is not worth a commit of the others."""
        for call_id, making in self._making.items():
            if making.call is not None and not making.is_claimed and making.since < time.monotonic() - _SLOW:
                unclaimed = and_(DriverCall.id == call_id, DriverCall.claimed_by.is_(None))
                claim = update(DriverCall).where(unclaimed).values(claimed_by=self._process)
                self._host.database.write(partial(Session.execute, statement=claim))
                making.is_claimed = True

    def _make(self, call_id: int) -> None:
        try:
            call = self._host.database.read(lambda session: self._look_up(session, call_id))
            if call is None:
                call = self._claim_surely(call_id)
            if call is not None:
                if call_id in self._making:
                    self._making[call_id].call = call
                self._write(call, *self._outcome(call))
        except UnavailableError as error:
            log.warning("a call of a driver has to wait", conductor=self._host.name, call=call_id, reason=str(error))
        except Exception:
            log.exception("a call of a driver failed", conductor=self._host.name, call=call_id)

    def _claim_surely(self, call_id: int) -> _Call | None:
        """Claim the call, and find out whether that was done if the answer to the commit is lost.

        Raises UnavailableError if it certainly was not.
        """
        may_be_claimed = False
        while True:
            try:
                return self._host.database.write(lambda session: self._claim(session, call_id))
            except UnavailableError as error:
                may_be_claimed = may_be_claimed or isinstance(error, CommitUnknown)
                if not may_be_claimed:
                    raise
                log.warning("a claim has to be repeated", conductor=self._host.name, call=call_id, reason=str(error))
                time.sleep(self._host.settings.conductor.work_interval)

    def _look_up(self, session: Session, call_id: int) -> _Call | None:
        """The call, if it only asks something: that may be asked twice, so it need not be claimed, which takes time."""
        asks = and_(DriverCall.id == call_id, DriverCall.idempotent == true(), DriverCall.work_id.is_(None))
        row = session.scalars(select(DriverCall).where(asks, DriverCall.reply.is_(None))).first()
        node = None if row is None else session.get(Node, row.node_id)
        return None if row is None or node is None else self._call(row, node)

    def _claim(self, session: Session, call_id: int) -> _Call | None:
        """The call, which is this process's from now on; None if it is not to be made, or not by this one."""
        claimed = session.execute(
            update(DriverCall)
            .where(
                DriverCall.id == call_id,
                DriverCall.conductor == self._host.name,
                # By this process only if it is not known whether it has just been: nothing is claimed twice here.
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
        if row.work_id is not None:
            session.execute(update(NodeWork).where(NodeWork.id == row.work_id).values(claimed_by=self._process))
            node = work.hold(session, row.work_id, self._host.name)
        else:
            node = None if row.node_id is None else session.get(Node, row.node_id)
        if node is None and row.node_id is not None:  # it was taken away, and is answered by whoever did
            return None
        if (session.scalar(select(epoch())) or 0.0) > row.deadline:  # it took long to find out that it was claimed
            if row.work_id is not None:
                work.finish(session, row.work_id, self._host.name)
            driver_calls.forget(session, [call_id])
            return None
        return self._call(row, node)

    def _call(self, row: DriverCall, node: Node | None) -> _Call:
        by = Requester(row.request_id, row.user_id, row.project_id)
        machine = None if node is None else Machine.of(node, self._host.settings)
        revision = None if node is None else node.revision
        return _Call(row.id, row.method, row.arguments, row.work_id, row.hardware_type, machine, revision, by)

    def _outcome(self, call: _Call) -> tuple[Outcome, dict[str, Any]]:
        """Make the call."""
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
        except Exception as error:  # a driver may fail in any way; the request has to say so
            if isinstance(error, SchedulerError):
                bound.info("driver refused", reason=str(error))
            else:
                bound.exception("driver failed")
            return Outcome(), driver_replies.failed(error, call.revision)

    def _write(self, call: _Call, outcome: Outcome, document: dict[str, Any]) -> None:
        """Write down what the driver said and did, and free the node, unless the call was taken away."""

        def write(session: Session) -> None:
            requester.attach(session, call.requester)
            if call.work_id is not None:
                node = work.finish(session, call.work_id, self._host.name)
                if node is None:
                    log.warning("a call was taken away; nothing written", call=call.id, method=call.method)
                    unknown = driver_replies.failed(AnswerTimeout(), None)
                    driver_calls.reply(session, call.id, self._process, unknown)
                    return
                outcome.effect.write(node)
            driver_calls.reply(session, call.id, self._process, document)

        try:
            self._persist(lambda: self._host.database.write(write), call)
        except Exception as error:  # what a driver said may be anything: too large, too deep, no JSON
            if outcome.effect is NOTHING and "error" in document:
                raise
            log.exception("what a driver said cannot be written", call=call.id, method=call.method)
            self._write(call, Outcome(), driver_replies.failed(error, call.revision))

    def _persist(self, action: Callable[[], None], call: _Call) -> None:
        """What was done to a machine has to be written down, so it is tried until the database is there."""
        pause = threading.Event()
        while True:
            try:
                action()
            except UnavailableError as error:
                log.warning("a reply has to wait", conductor=self._host.name, call=call.id, reason=str(error))
                pause.wait(self._host.settings.conductor.work_interval)
            else:
                return


def _waiting(session: Session, conductor: str, most: int) -> Collection[int]:
    query = select(DriverCall.id).where(
        DriverCall.conductor == conductor, DriverCall.claimed_by.is_(None), DriverCall.deadline > epoch()
    )
    return session.scalars(query.order_by(DriverCall.id).limit(max(0, most))).all()


def give_up_before_start(host: Host) -> None:
    """Answer the calls that somebody was making under this conductor's name: nobody knows what became of them. Those
    that only ask something are made again."""
    mine = and_(DriverCall.conductor == host.name, DriverCall.claimed_by.is_not(None), DriverCall.reply.is_(None))
    _settle(host, mine)


def settle_abandoned(host: Host) -> None:
    """Answer the calls of this conductor's nodes that a dead one was making, or one that lost its work, and make those
    that it had not begun; take back what is too late, and delete what nobody waits for any more."""
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
        # Its request has died, or it would have taken it back.
        host.database.write(partial(driver_calls.withdraw, call_id=call_id))
    old = DriverCall.deadline < epoch() - _KEPT
    over = or_(DriverCall.claimed_by.is_(None), DriverCall.reply.is_not(None))
    host.database.write(lambda session: session.execute(delete(DriverCall).where(old, over)))


def _settle(host: Host, condition: ColumnElement[bool]) -> None:
    """Answer these calls, or, of those that were not begun or only ask something, make them here."""

    def settle(session: Session) -> None:
        for call in session.scalars(select(DriverCall).where(condition).with_for_update()):
            if call.claimed_by is not None and not call.idempotent:
                call.reply = driver_replies.failed(AnswerTimeout(), None)
            elif call.work_id is None or call.claimed_by is not None:
                # The reservation goes with the work of the dead; a question does not need it.
                call.claimed_by, call.conductor, call.work_id = None, host.name, None

    host.database.write(settle)
