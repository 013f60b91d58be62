"""One thread of a process that reads the database for all requests of the process that wait for a change there."""

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

import structlog

from baremetal_sched.errors import DatabaseAway

log = structlog.get_logger(__name__)

Key = TypeVar("Key")
Found = TypeVar("Found")


@dataclass(eq=False)
class Expected(Generic[Key, Found]):
    """The expectation of one request: ``event`` is set as soon as the expected result is there, as ``found``."""

    key: Key
    since: float = field(default_factory=time.monotonic)
    event: threading.Event = field(default_factory=threading.Event)
    found: Found | None = None


class Poller(Generic[Key, Found]):
    """Looks for what requests expect. Its thread, called ``name``, runs while there are any, and ``rest`` seconds more.

    ``look`` gets all keys at once, and returns the results that are there, by key. ``pause`` returns the seconds until
    it looks again, from the age of the youngest expectation. ``delivered`` is called with the keys of results, of many
    at once: every ``rest`` seconds, and when the thread ends.
    """

    def __init__(
        self,
        name: str,
        look: Callable[[Collection[Key]], Mapping[Key, Found]],
        pause: Callable[[float], float],
        delivered: Callable[[Collection[Key]], object] | None = None,
        rest: float = 0.0,
    ) -> None:
        self._name = name
        self._find = look
        self._pause = pause
        self._delivered = delivered
        self._rest = rest
        self._is_closing = False
        #: The keys of results since ``delivered`` was called.
        self._done: set[Key] = set()
        self._lock = threading.Lock()
        self._expected: set[Expected[Key, Found]] = set()
        self._thread: threading.Thread | None = None
        self._more = threading.Event()

    @contextmanager
    def expecting(self, key: Key) -> Iterator[Expected[Key, Found]]:
        """Look for what belongs to ``key``, within this."""
        expected: Expected[Key, Found] = Expected(key)
        with self._lock:
            self._expected.add(expected)
            if self._thread is None:  # begun here, since a server forks after the application is made
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        self._more.set()
        try:
            yield expected
        finally:
            with self._lock:
                self._expected.discard(expected)

    def close(self) -> None:
        """Wait for the thread, which ends when no request waits."""
        with self._lock:
            thread, self._is_closing = self._thread, True
        self._more.set()
        if thread is not None:
            thread.join()
        self._is_closing = False

    def _run(self) -> None:
        told = looked = time.monotonic()
        while True:
            with self._lock:
                expected = list(self._expected)
                is_over = not expected and (self._is_closing or time.monotonic() - looked >= self._rest)
                if is_over and not self._done:
                    self._thread = None
                    return
            if expected:
                self._try(partial(self._deliver, expected))
                looked = time.monotonic()
            if is_over or time.monotonic() - told >= self._rest:
                self._try(self._tell)
                told = time.monotonic()
            if expected:
                self._more.wait(self._pause(min(time.monotonic() - each.since for each in expected)))
            elif not is_over:
                self._more.wait(self._rest)
            self._more.clear()

    def _try(self, action: Callable[[], object]) -> None:
        try:
            action()
        except DatabaseAway as error:
            log.info("cannot look for what requests wait for", thread=self._name, reason=str(error))
        except Exception:
            log.exception("cannot look for what requests wait for", thread=self._name)

    def _tell(self) -> None:
        done, self._done = self._done, set()
        if done and self._delivered is not None:
            self._delivered(done)

    def _deliver(self, expected: Collection[Expected[Key, Found]]) -> None:
        found = self._find({each.key for each in expected})
        done = [each for each in expected if each.key in found]
        for each in done:
            each.found = found[each.key]
            each.event.set()
        self._done.update(each.key for each in done)
        with self._lock:
            self._expected.difference_update(done)
