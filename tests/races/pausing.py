"""Requests in threads of their own, of which one is paused before its k-th statement or COMMIT."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import event

from baremetal_sched.db.transaction import Database
from tests.races.waiting import LockWaits
from tests.waiting import PATIENCE

#: Seconds after which a request that neither ends nor waits for a lock of the database is left alone, and after which
#: one must have ended.
_PATIENCE, _LONGEST = 2.0, PATIENCE

#: Seconds between two looks at a request.
_PAUSE = 0.002


@dataclass
class Party:
    """A request: ``act`` makes it, and returns its status. ``points`` are its statements and commits so far."""

    act: Callable[[], int]
    stops_at: int | None = None
    points: list[str] = field(default_factory=list)
    status: int | None = None
    error: BaseException | None = None
    stopped: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    #: When its present statement began; None between two.
    since: float | None = None

    def run(self) -> None:
        """Make the request, whatever comes of it."""
        try:
            self.status = self.act()
        except BaseException as error:  # raised where the threads are joined
            self.error = error
        finally:
            self.ended.set()

    def reach(self, statement: str) -> None:
        """Note a statement that is about to be executed; stop if it is the one."""
        self.points.append(statement)
        if len(self.points) == self.stops_at:
            self.stopped.set()
            if not self.released.wait(_LONGEST):
                raise TimeoutError("nobody lets it go")
        self.since = time.monotonic()


@dataclass(frozen=True)
class Run:
    """The result: the statuses of all parties; where the first was paused (None: it has fewer points); and which
    of the others waited for a lock then."""

    statuses: tuple[int, ...]
    paused_before: str | None
    waited: tuple[bool, ...]


class Pausing:
    """Pauses requests to one service."""

    def __init__(self, database: Database, waits: LockWaits) -> None:
        self._waits = waits
        self._engines = {database.engine, database.reading_engine}
        self._parties: dict[int, Party] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Threads are followed meanwhile."""
        listeners = (
            ("before_cursor_execute", self._before_statement),
            ("after_cursor_execute", self._after_statement),
            ("handle_error", self._after_error),
            ("commit", self._before_commit),
        )
        for engine in self._engines:
            for name, listener in listeners:
                event.listen(engine, name, listener)
        try:
            yield
        finally:
            for engine in self._engines:
                for name, listener in listeners:
                    event.remove(engine, name, listener)

    def run(self, acts: Sequence[Callable[[], int]], stops_at: int) -> Run:
        """Pause the first of ``acts`` before its point ``stops_at`` (1 is the first); let each of the others run
        meanwhile until it ends or waits for a lock; then let the first go on."""
        first, *others = [Party(act) for act in acts]
        first.stops_at = stops_at
        threads = [self._start(first)]
        _await(lambda: first.stopped.is_set() or first.ended.is_set(), _LONGEST)
        waited = []
        for place, other in enumerate(others):
            threads.append(self._start(other))
            running = [other, *others[:place]]
            self._let_run(other, running)
            waited.append(not other.ended.is_set())
        first.released.set()
        for thread in threads:
            thread.join(_LONGEST)
        self._parties.clear()
        for party in (first, *others):
            if party.error is not None:
                raise party.error
        statuses = tuple(party.status or 0 for party in (first, *others))
        return Run(statuses, first.points[stops_at - 1] if first.stopped.is_set() else None, tuple(waited))

    def follow(self, act: Callable[[], int]) -> Sequence[str]:
        """Return the points of a request that nothing meets."""
        party = Party(act)
        self._start(party).join(_LONGEST)
        return party.points

    def _start(self, party: Party) -> threading.Thread:
        thread = threading.Thread(target=self._follow, args=(party,), name="race", daemon=True)
        thread.start()
        return thread

    def _follow(self, party: Party) -> None:
        self._parties[threading.get_ident()] = party
        party.run()

    def _let_run(self, other: Party, running: Sequence[Party]) -> None:
        """Return when ``other`` has ended, or waits for a lock. ``running`` may all be waiting."""
        until = time.monotonic() + _PATIENCE
        while not other.ended.wait(_PAUSE) and time.monotonic() < until:
            since = other.since
            if since is None or time.monotonic() - since < self._waits.least:
                continue
            unfinished = sum(not each.ended.is_set() for each in running)
            if self._waits.count() >= unfinished and other.since == since:
                return

    def _here(self) -> Party | None:
        return self._parties.get(threading.get_ident())

    def _before_statement(
        self, connection: Any, cursor: Any, sent: str, parameters: Any, context: Any, many: bool
    ) -> None:
        party = self._here()
        if party is not None:
            party.reach(sent if context is None else context.statement or sent)

    def _after_statement(self, *_: Any) -> None:
        party = self._here()
        if party is not None:
            party.since = None

    def _after_error(self, context: Any) -> None:
        self._after_statement()

    def _before_commit(self, connection: Any) -> None:
        party = self._here()
        if party is not None:
            party.reach("COMMIT")
            party.since = None


def _await(condition: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= until:
            raise TimeoutError("a request neither ends nor stops")
        time.sleep(_PAUSE / 4)
