"""Times without the database or without a management controller: pauses that grow, and a line in the log for each."""

import logging
import threading
import time
from collections.abc import Callable, Collection
from typing import Any

import structlog

from baremetal_sched.db.sealing import readable
from baremetal_sched.errors import DatabaseAway, IsMirror, SchemaNotServed
from baremetal_sched.machines.machine import Machine

log = structlog.get_logger(__name__)

#: Errors that show an outage, or are treated like one. Others (lost races) concern one transaction.
SHOWS_OUTAGE = (DatabaseAway, SchemaNotServed, IsMirror)

#: The longest pause between two attempts, in seconds.
_LONGEST = 2.0

#: The longest time, in seconds, for which an address is not contacted.
_LONGEST_PAUSE = 3600.0

#: Suffix of the addresses in ``driver_info``, for any driver: ``ipmi_address``, ``redfish_address``.
_SUFFIX = "_address"


class Outage:
    """The common knowledge of the threads of the conductor ``name`` about the database.

    An outage begins when one of them fails, and is over when all that failed have succeeded: reads may succeed while
    nothing can be written. ``shortest``: seconds between the first attempts.
    """

    def __init__(self, name: str, shortest: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._shortest = shortest
        self._clock = clock
        self._lock = threading.Lock()
        self._failing: set[str] = set()
        self._since: float | None = None

    def failed(self, who: str | None, reason: object) -> None:
        """Note that ``who`` failed; None if it will not be tried again soon."""
        with self._lock:
            if who is not None:
                self._failing.add(who)
            is_new = self._since is None
            if is_new:
                self._since = self._clock()
        if is_new:
            log.warning("conductor waits", conductor=self._name, reason=str(reason))

    def works(self, who: str) -> bool:
        """Note that ``who`` succeeded, and return whether the outage is over by that."""
        if self._since is None:
            return False
        with self._lock:
            self._failing.discard(who)
            since = self._since
            if self._failing or since is None:
                return False
            self._since = None
        log.info("conductor continues", conductor=self._name, waited_seconds=round(self._clock() - since, 1))
        return True

    @property
    def pause(self) -> float:
        """Return the seconds until the next attempt: the longer the outage, the more."""
        since = self._since
        if since is None:
            return self._shortest
        return max(self._shortest, min(_LONGEST, (self._clock() - since) / 2))


def pause_after(failures: int, shortest: float, longest: float = _LONGEST) -> float:
    """Return the seconds until the next attempt: twice as long after each of the ``failures`` so far."""
    doubled: float = shortest * 2 ** min(failures - 1, 20)
    return max(shortest, min(longest, doubled))


class Retry:
    """Pauses between the attempts of an action that must succeed, for example to record a change of a machine.

    Each failure is logged as ``event``; quietly in an outage, which the conductor logs in one line for everything that
    waits. ``shortest``: seconds of the first pause.
    """

    def __init__(self, log: Any, event: str, shortest: float) -> None:
        self._log = log
        self._event = event
        self._shortest = shortest
        self._failures = 0

    def wait(self, error: Exception) -> None:
        """Log the error of an attempt, and wait until the next one is due."""
        self._failures += 1
        level = logging.DEBUG if isinstance(error, SHOWS_OUTAGE) else logging.WARNING
        self._log.log(level, self._event, reason=str(error))
        time.sleep(pause_after(self._failures, self._shortest))


def addresses_of(machine: Machine) -> frozenset[str]:
    """Return the addresses of the machine's management controller; a machine without one counts as its own address."""
    named = [value for name, value in readable(machine.driver_info).items() if name.endswith(_SUFFIX) and value]
    return frozenset(str(value) for value in named) or frozenset((machine.uuid,))


class BackOff:
    """Tracks which addresses may be contacted now."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        #: address: (consecutive failures, time of the next attempt)
        self._silent: dict[str, tuple[int, float]] = {}

    def is_due(self, addresses: Collection[str]) -> bool:
        """Return whether all of these may be contacted now."""
        now = self._clock()
        with self._lock:
            return all(self._silent.get(address, (0, now))[1] <= now for address in addresses)

    def note_silence(self, addresses: Collection[str], pause: float, longest: float | None = None) -> None:
        """Back off from these addresses: first for ``pause`` seconds, then twice as long each time. Machines that share
        an address are contacted in the same round: until it is due again, that is one failure.

        ``longest`` is the maximum in seconds; None means an hour.
        """
        now = self._clock()
        with self._lock:
            for address in addresses:
                times, due = self._silent.get(address, (0, now))
                if due <= now:
                    longer = min(pause * 2 ** min(times, 30), longest or _LONGEST_PAUSE)
                    self._silent[address] = (times + 1, now + longer)

    def note_answer(self, addresses: Collection[str]) -> None:
        """End the back-off from these addresses."""
        with self._lock:
            for address in addresses:
                self._silent.pop(address, None)
