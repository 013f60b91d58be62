"""One thread of a process that reads the database for all requests of the process that wait for a change there."""

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
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
    """Looks for what requests expect. Its thread, called ``name``, runs while there are any.

    ``look`` gets all keys at once, and returns the results that are there, by key. ``pause`` returns the seconds until
    it looks again, from the age of the youngest expectation. ``delivered`` is called with the keys of these results.
    """

    def __init__(
        self,
        name: str,
        look: Callable[[Collection[Key]], Mapping[Key, Found]],
        pause: Callable[[float], float],
        delivered: Callable[[Collection[Key]], object] | None = None,
    ) -> None:
        self._name = name
        self._find = look
        self._pause = pause
        self._delivered = delivered
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
            thread = self._thread
        self._more.set()
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                expected = list(self._expected)
                if not expected:
                    self._thread = None
                    return
            try:
                self._deliver(expected)
            except DatabaseAway as error:
                log.info("cannot look for what requests wait for", thread=self._name, reason=str(error))
            except Exception:
                log.exception("cannot look for what requests wait for", thread=self._name)
            youngest = min(time.monotonic() - each.since for each in expected)
            self._more.wait(self._pause(youngest))
            self._more.clear()

    def _deliver(self, expected: Collection[Expected[Key, Found]]) -> None:
        found = self._find({each.key for each in expected})
        done = [each for each in expected if each.key in found]
        for each in done:
            each.found = found[each.key]
            each.event.set()
        if done and self._delivered is not None:
            self._delivered({each.key for each in done})
        with self._lock:
            self._expected.difference_update(done)
