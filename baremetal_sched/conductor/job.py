"""A work item as seen by the conductor that does it."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import work_queue
from baremetal_sched.baremetal.conductors.work_queue import HeldWork
from baremetal_sched.conductor.database_clock import DatabaseClock
from baremetal_sched.conductor.noted_calls import NotedCalls, NotedDriver
from baremetal_sched.conductor.outage import SHOWS_OUTAGE, Retry
from baremetal_sched.db import requester
from baremetal_sched.db.models import Node
from baremetal_sched.db.requester import UNKNOWN, Requester
from baremetal_sched.db.transaction import Database
from baremetal_sched.drivers import driver
from baremetal_sched.drivers.driver import Driver
from baremetal_sched.errors import CommitUnknown, LastingConflict, TooManyConflicts
from baremetal_sched.machines.machine import Effect, Machine
from baremetal_sched.settings import Settings

T = TypeVar("T")

#: Maximum number of consecutive rounds, of several attempts each, in which a violated key counts as a race. With the
#: pauses between rounds this takes minutes; after that, the change itself must be violating the key.
MOST_CLASHES = 1000

_UNCHANGED: Any = object()


@dataclass
class JobEnd:
    """The time, by the monotonic clock, at which work is due after its job has ended: None if the work has ended, too;
    0 if it was left as it was."""

    due: float | None = 0.0


@dataclass(frozen=True)
class Job:
    """A piece of work: its node, its requester, and the means to do it. ``id`` is the fence: see
    ``baremetal.conductors.work_queue``. ``held_at``, by the monotonic clock: until then at least it was the conductor's
    when it was claimed."""

    work: HeldWork
    node_uuid: str
    kind: str
    arguments: dict[str, Any]
    database: Database
    settings: Settings
    clock: DatabaseClock = field(compare=False)
    log: Any = field(compare=False)
    requester: Requester = UNKNOWN
    calls: NotedCalls = field(default_factory=NotedCalls, compare=False)
    end: JobEnd = field(default_factory=JobEnd, compare=False)
    held_at: float = -math.inf

    @property
    def id(self) -> int:
        """Return the number of the work."""
        return self.work.id

    @property
    def node_id(self) -> int:
        """Return the id of its node."""
        return self.work.node_id

    @property
    def conductor(self) -> str:
        """Return the host name of the conductor that does it."""
        return self.work.conductor

    def seen(self) -> Node | None:
        """Return the node as it was when the work was claimed or last written, to begin an action on the machine at
        once; None if it is not known, or if the work may have been taken over since, as polled work may at any time."""
        return None if self.kind == work_queue.POLL or self._is_old(self.held_at) else self.work.node

    @property
    def has_instance(self) -> bool:
        """Return whether the node had an instance with a UUID when it was last seen, or may have had one."""
        node = self.work.node
        return node is None or node.instance_uuid is not None

    def _is_old(self, moment: float) -> bool:
        longest: float = self.settings.conductor.heartbeat_timeout / 2
        return time.monotonic() - moment > longest

    def driver(self, machine: Machine) -> Driver:
        """Return the interfaces of a machine; their calls are recorded in ``calls``."""
        return NotedDriver(machine, self.calls, self._is_lost)

    def _is_lost(self, seconds: float) -> bool | None:
        """Return whether another conductor has the work, or may have it; it was this one's ``seconds`` ago. None if
        this cannot be determined, but it is too early for a take-over."""
        try:
            return not self.database.read(lambda session: work_queue.is_held(session, self.id, self.conductor))
        except SHOWS_OUTAGE:
            return True if seconds > self.settings.conductor.heartbeat_timeout / 2 else None

    @contextmanager
    def calling(self, name: str) -> Iterator[None]:
        """Record that the work waits for a call of this name: see ``NotedCalls.calling``."""
        with self.calls.calling(name, self._is_lost):
            yield

    def switch(self, machine: Machine, target: str, timeout: int | None = None) -> Effect:
        """Call ``drivers.power.switch``; the call is recorded in ``calls``."""
        return driver.switch(machine, target, timeout, power=self.driver(machine).power)

    def now(self) -> float:
        """Return the time by the clock of the database, in seconds since 1970."""
        return self.read(self.clock.now)

    def ago(self, seconds: float) -> float:
        """Return what the clock of the database showed ``seconds`` ago: see ``DatabaseClock.ago``."""
        return self.read(lambda session: self.clock.ago(session, seconds))

    def read(self, query: Callable[[Session], T]) -> T:
        """Run ``Database.read``, repeated until the database is available with a schema that this release can serve."""
        retry = self._retry()
        while True:
            try:
                return self.database.read(query)
            except SHOWS_OUTAGE as error:
                retry.wait(error)

    def hold(self, change: Callable[[Session, Node], T], *, gives_up: bool = False) -> T | None:
        """Run ``change`` in a transaction if the work is still this conductor's; otherwise return None.

        The caller then begins its action on the machine at once. So if the transaction took so long that the work may
        have been taken over since, as when the process was suspended, this is checked again. ``gives_up``: see
        ``write``.
        """
        asked = time.monotonic()
        outcome = self._fenced(work_queue.hold, change, gives_up=gives_up)
        while outcome is not None and self._is_old(asked):
            asked = time.monotonic()
            if not self._fenced(work_queue.hold, lambda session, node: True):
                return None
        return outcome

    def finish(self, change: Callable[[Session, Node], T], *, gives_up: bool = False) -> T | None:
        """Like ``hold``, and the work ends with it."""
        return self._fenced(work_queue.finish, change, gives_up=gives_up)

    def postpone(
        self,
        seconds: float,
        arguments: Mapping[str, Any],
        change: Callable[[Session, Node], T],
        *,
        gives_up: bool = False,
    ) -> T | None:
        """Like ``hold``, and the work is taken up again in ``seconds``: see ``work_queue.postpone``."""

        def give_back(session: Session, work: HeldWork) -> Node | None:
            return work_queue.postpone(session, work, seconds, arguments)

        return self._fenced(give_back, change, gives_up=gives_up)

    def reserve_related(self, node_id: int, check: Callable[[Node], None]) -> Self | None:
        """Reserve another node for this conductor until the returned work on it is finished.

        None if this conductor has lost its own work. Raises NodeNotFound, NodeLocked, LastingConflict, and what
        ``check`` raises, which sees the node with its row locked.
        """

        def reserve(session: Session) -> tuple[HeldWork, str] | None:
            subordinate = work_queue.reserve_related(session, self.work, node_id)
            if subordinate is None:
                return None
            node = session.get_one(Node, node_id)
            check(node)
            return subordinate, node.uuid

        reserved = self.write(reserve, gives_up=True)
        if reserved is None:
            return None
        work, uuid = reserved
        self.calls.reserved[work.id] = node_id
        log = self.log.bind(node=uuid, work=work.id, led_by=self.id)
        return replace(
            self, work=work, node_uuid=uuid, kind=work_queue.SUBORDINATE, arguments={}, log=log, end=JobEnd(),
            held_at=-math.inf,
        )  # fmt: skip

    def _fenced(
        self,
        take: Callable[[Session, HeldWork], Node | None],
        change: Callable[[Session, Node], T],
        *,
        gives_up: bool = False,
    ) -> T | None:
        def run(session: Session) -> T | None:
            node = take(session, self.work)
            return None if node is None else change(session, node)

        return self.write(run, gives_up=gives_up)

    def write(self, transaction: Callable[[Session], T], *, gives_up: bool = False) -> T:
        """Run ``Database.write``, repeated until it succeeds: what was done to a machine must be recorded.

        ``transaction`` begins with ``hold``, ``finish``, ``postpone`` or ``reserve_related`` of ``work_queue``. It is
        not repeated if it was committed and only the reply was lost. With ``gives_up``, for work that can still be
        reported as failed, LastingConflict is raised after ``MOST_CLASHES`` consecutive rounds that failed only by
        violated keys.
        """
        writes: int | None = None
        node: Node | None = None
        outcome: Any = None
        due_in: Any = _UNCHANGED
        clashes, retry = 0, self._retry()

        def attempt(session: Session) -> T:
            nonlocal writes, node, outcome, due_in
            requester.attach(session, self.requester)
            outcome = transaction(session)
            writes, node = session.info.get(work_queue.WRITES), session.info.get(work_queue.NODE)
            due_in = session.info.get(work_queue.DUE_IN, _UNCHANGED)
            return outcome  # type: ignore[no-any-return]

        while True:
            try:
                outcome = self.database.write(attempt)
                self.work.node = node
                break
            except CommitUnknown as error:
                clashes = 0
                retry.wait(error)
                if writes is not None and self.read(lambda session: work_queue.has_written(session, self.id, writes)):
                    break
            except (*SHOWS_OUTAGE, TooManyConflicts) as error:
                cause = error.__cause__
                clashes = clashes + 1 if isinstance(cause, IntegrityError) else 0
                if gives_up and isinstance(cause, IntegrityError) and clashes >= MOST_CLASHES:
                    self.log.error("the result cannot be recorded", reason=str(cause.orig))
                    raise LastingConflict(rounds=clashes) from error
                retry.wait(error)
        self.work.writes = self.work.writes if writes is None else writes
        if due_in is not _UNCHANGED:
            self.end.due = None if due_in is None else time.monotonic() + due_in
        return outcome  # type: ignore[no-any-return]

    def _retry(self) -> Retry:
        return Retry(self.log, "work waits", self.settings.conductor.work_interval)
