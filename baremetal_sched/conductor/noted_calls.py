"""Records which driver call a work item waits for, and since when: a machine may be slow, or never answer."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from baremetal_sched.drivers import progress
from baremetal_sched.drivers.driver import Driver
from baremetal_sched.errors.baremetal import CallGivenUp
from baremetal_sched.machines.interface_types import Step, StepKind
from baremetal_sched.machines.machine import Machine

#: Seconds after which a running call checks whether the work was taken over.
_LOOK_EVERY = 5.0

#: See ``NotedCalls.calling``.
IsLost = Callable[[float], bool | None]


@dataclass(frozen=True)
class NotedCall:
    """A running call: its name (for example ``power.set_power_state``), its start, and its last sign of life (both
    monotonic)."""

    name: str
    begun: float
    heard: float


class NotedCalls:
    """The calls of one work item, one after the other.

    ``extra_seconds`` is how much longer the work may take, as requested. ``reserved`` has the other nodes reserved for
    it, by the ids of the work on them.
    """

    def __init__(self) -> None:
        self.extra_seconds = 0.0
        self.reserved: dict[int, int] = {}
        self._lock = threading.Lock()
        self._current: NotedCall | None = None
        self._is_given_up = False
        self._held = 0.0

    @property
    def current(self) -> NotedCall | None:
        """Return the call that the work waits for, or None."""
        with self._lock:
            return self._current

    def takes_longer_than(self, seconds: float) -> bool:
        """Return whether the work has been waiting for one call for this many seconds."""
        call = self.current
        return call is not None and time.monotonic() - call.begun > seconds

    def is_silent_for(self, seconds: float) -> bool:
        """Return whether the current call has shown no sign of life for this many seconds: see ``drivers.progress``."""
        call = self.current
        return call is not None and time.monotonic() - call.heard > seconds

    def give_up(self) -> None:
        """Prevent calls that return late from doing anything more to the machine."""
        with self._lock:
            self._is_given_up = True

    def _note_progress(self, is_lost: IsLost) -> None:
        now = time.monotonic()
        with self._lock:
            if self._is_given_up:
                raise CallGivenUp
            if self._current is not None:
                self._current = replace(self._current, heard=now)
        if now - self._held < _LOOK_EVERY:
            return
        lost = is_lost(now - self._held)
        if lost:
            raise CallGivenUp
        if lost is not None:
            self._held = now

    @contextmanager
    def calling(self, name: str, is_lost: IsLost = lambda seconds: False) -> Iterator[None]:
        """Record that a driver is being called.

        During a long call, ``is_lost`` is called now and then to check whether the work was taken over. Its argument is
        the seconds since it certainly was not; it returns None if this cannot be determined, which has no consequences
        yet.
        """
        now = time.monotonic()
        with self._lock:
            self._current = NotedCall(name, now, now)
            self._held = now
        try:
            with progress.noted_by(partial(self._note_progress, is_lost)):
                yield
        finally:
            with self._lock:
                self._current = None


class NotedDriver(Driver):
    """The interfaces of a machine, with their calls recorded."""

    def __init__(self, machine: Machine, calls: NotedCalls, is_lost: IsLost) -> None:
        super().__init__(machine)
        self._plain = Driver(machine)
        self._calls = calls
        self._is_lost = is_lost

    def __getattr__(self, interface_type: str) -> Any:
        """See ``Driver``."""
        found = _NotedInterface(getattr(self._plain, interface_type), interface_type, self._calls, self._is_lost)
        self.__dict__[interface_type] = found
        return found

    def steps(self, kind: StepKind) -> list[Step]:
        """See ``Driver``."""
        return self._plain.steps(kind)


class _NotedInterface:
    """A proxy of an interface that records its calls."""

    def __init__(self, interface: Any, kind: str, calls: NotedCalls, is_lost: IsLost) -> None:
        self._interface = interface
        self._kind = kind
        self._calls = calls
        self._is_lost = is_lost

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._interface, name)
        return self._noted(name, value) if callable(value) else value

    def _noted(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            with self._calls.calling(f"{self._kind}.{name}", self._is_lost):
                return method(*arguments, **named)

        return call
