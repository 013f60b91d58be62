"""A conductor: its host name, which only one may use at a time, its settings, its nodes, and its heartbeats."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial

import structlog
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.baremetal.conductors.conductors import LastHeartbeat
from baremetal_sched.baremetal.conductors.ownership import Membership, live_members
from baremetal_sched.conductor.database_clock import DatabaseClock, HeartbeatsAhead
from baremetal_sched.conductor.outage import BackOff, pause_after
from baremetal_sched.conductor.questions import Questions
from baremetal_sched.db.models import Node
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors.baremetal import HostNameTaken
from baremetal_sched.scheduling.gathering import SweepPlace
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Number of intervals by which a heartbeat may be late before the successor takes the conductor for dead.
_INTERVALS = 2
#: The minimum number of attempts to send a heartbeat within a time-out.
_PAUSES = 20


@dataclass(frozen=True)
class ConductorHost:
    """A conductor's host name, database and settings, with its open queries, unresponsive addresses and the place where
    its last sweep ended."""

    name: str
    database: Database
    settings: Settings
    questions: Questions = field(default_factory=Questions, compare=False)
    back_off: BackOff = field(default_factory=BackOff, compare=False)
    gathering: SweepPlace = field(default_factory=SweepPlace, compare=False)
    #: The ring, and a digest of the nodes of other conductors, when this one last looked for nodes to take over.
    of_others: list[object] = field(default_factory=list, compare=False)

    @cached_property
    def clock(self) -> DatabaseClock:
        """The clock of the database, as this conductor sees it."""
        return DatabaseClock(self.settings)

    @cached_property
    def ahead(self) -> HeartbeatsAhead:
        """The heartbeats that lie ahead, as this conductor sees them."""
        return HeartbeatsAhead(self.settings.conductor.heartbeat_timeout)

    def membership(self) -> Membership:
        """Return the conductors that are alive now."""
        return self.database.read(lambda session: live_members(session, self.settings))

    def own(self, condition: ColumnElement[bool]) -> list[int]:
        """Return the ids of the nodes that the ring assigns to this conductor and that meet ``condition``, in order.

        None while the clock of the database is not steady: others may only seem dead, and their nodes this one's.
        """
        return self.database.read(lambda session: self.select_own(session, condition))

    def select_own(self, session: Session, condition: ColumnElement[bool]) -> list[int]:
        """Return the same, within an existing transaction."""
        # SELECT … FROM nodes WHERE (condition) AND (a group and driver that it serves)
        membership = live_members(session, self.settings)
        rows = session.execute(
            select(Node.id, Node.uuid, Node.conductor_group, Node.driver)
            .where(condition, membership.served_by(self.name))
            .order_by(Node.id)
        )
        own = [node_id for node_id, uuid, group, driver in rows if membership.owner(uuid, group, driver) == self.name]
        # Asked afterwards: if this conductor lives by a new time, it has noted that time.
        return own if self.clock.is_steady() else []


def take_host_name(host: ConductorHost, stop: threading.Event) -> float | None:
    """Take over the host name unless its conductor is alive; return the time of the first heartbeat under it.

    None if ``stop`` is set before that is known. If the last heartbeat of the name is recent, wait for the next one:
    two heartbeat intervals. If several conductors take the name at the same time, one succeeds; the others wait for its
    heartbeats. A conductor whose heartbeats come later than that ends when it finds the name taken. Raises
    HostNameTaken.
    """
    while not stop.is_set():
        seen = _look(host)
        if seen is not None and seen.is_alive:
            log.warning(
                "a conductor of this name is alive, or was until a moment ago",
                conductor=host.name,
                waiting_seconds=_INTERVALS * host.settings.conductor.heartbeat_interval,
            )
            _await(host, stop, partial(_is_over, host.name, seen.at))
        elif (claimed := _claim(host, None if seen is None else seen.at)) is not None:
            return claimed
        else:
            # Another process has just taken the name, and will register.
            _await(host, stop, lambda now: now is not None and now.is_alive)
            continue
        if not stop.is_set() and (claimed := _claim(host, seen.at)) is not None:
            return claimed
    return None


def _look(host: ConductorHost) -> LastHeartbeat | None:
    timeout: float = host.settings.conductor.heartbeat_timeout
    return host.database.read(lambda session: conductors.last_heartbeat(session, host.name, timeout))


def _claim(host: ConductorHost, at: float | None) -> float | None:
    return host.database.write(lambda session: conductors.claim(session, host.name, at))


def _is_over(name: str, at: float, now: LastHeartbeat | None) -> bool:
    """Return whether the conductor has signed off, or its entry is gone. Raises HostNameTaken if it is alive."""
    if now is None or not now.is_alive:
        return True
    if now.at != at:
        raise HostNameTaken(host=name)
    return False


def _await(host: ConductorHost, stop: threading.Event, condition: Callable[[LastHeartbeat | None], bool]) -> None:
    """Wait until the last heartbeat meets the condition, for two intervals, or until ``stop`` is set."""
    interval: float = host.settings.conductor.heartbeat_interval
    until = time.monotonic() + _INTERVALS * interval
    while (left := until - time.monotonic()) > 0 and not stop.wait(min(left, interval / 4)):
        if condition(_look(host)):
            return


class ConductorHeartbeat:
    """Sends a heartbeat every ``interval`` seconds, and notices interruptions.

    ``beat`` returns whether it succeeded; otherwise it is retried after ``retry`` seconds, and then after longer
    pauses, which are a fraction of ``timeout``. ``timeout`` is how many
    seconds a conductor without heartbeats counts as alive.
    """

    def __init__(self, beat: Callable[[], bool], *, interval: float, retry: float, timeout: float) -> None:
        self._beat = beat
        self._interval = interval
        self._retry = min(retry, interval)
        self._timeout = timeout
        self._longest_gap = max(timeout / 2, interval * 1.5)
        self._last = time.monotonic()
        self._steady_since: float | None = None

    def run(self, stop: threading.Event) -> None:
        """Send heartbeats until ``stop`` is set."""
        self._last = self._steady_since = time.monotonic()
        due, failures = self._last + self._interval, 0
        while not stop.wait(max(0.0, due - time.monotonic())):
            worked = self._beat()
            now = time.monotonic()
            if now - self._last > self._longest_gap:
                self._steady_since = now
            if worked:
                self._last = now
            failures = 0 if worked else failures + 1
            pause = pause_after(failures, self._retry, min(self._interval, self._timeout / _PAUSES))
            due = max(due + self._interval, now) if worked else now + pause

    def is_uninterrupted(self) -> bool:
        """Return whether heartbeats have gone on without interruption for a time-out.

        An interruption (the database was unavailable, the machine was suspended), or the time before the start, may
        have affected all other conductors, too; after a time-out every live one has sent a heartbeat again.
        """
        now = time.monotonic()
        if now - self._last > self._longest_gap:
            return False
        return self._steady_since is None or now - self._steady_since > self._timeout
