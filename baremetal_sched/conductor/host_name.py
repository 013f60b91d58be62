"""Ownership of a host name: only one conductor at a time may use it."""

import threading
import time
from collections.abc import Callable
from functools import partial

import structlog

from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.baremetal.conductors.conductors import LastHeartbeat
from baremetal_sched.conductor.host import Host
from baremetal_sched.errors.baremetal import HostNameTaken

log = structlog.get_logger(__name__)

#: Number of intervals by which a heartbeat may be late before the successor takes the conductor for dead.
_INTERVALS = 2


def take_over(host: Host, stop: threading.Event) -> bool:
    """Take over the host name unless its conductor is alive; False if ``stop`` is set before that is known.

    If the last heartbeat of the name is recent, wait for the next one: two heartbeat intervals. If several conductors
    take the name at the same time, one succeeds; the others wait for its heartbeats. Raises HostNameTaken.
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
        elif _claim(host, None if seen is None else seen.at):
            return True
        else:
            # Another process has just taken the name, and will register.
            _await(host, stop, lambda now: now is not None and now.is_alive)
            continue
        if not stop.is_set() and _claim(host, seen.at):
            return True
    return False


def _look(host: Host) -> LastHeartbeat | None:
    timeout: float = host.settings.conductor.heartbeat_timeout
    return host.database.read(lambda session: conductors.last_heartbeat(session, host.name, timeout))


def _claim(host: Host, at: float | None) -> bool:
    return host.database.write(lambda session: conductors.claim(session, host.name, at))


def _is_over(name: str, at: float, now: LastHeartbeat | None) -> bool:
    """Return whether the conductor has signed off, or its entry is gone. Raises HostNameTaken if it is alive."""
    if now is None or not now.is_alive:
        return True
    if now.at != at:
        raise HostNameTaken(host=name)
    return False


def _await(host: Host, stop: threading.Event, condition: Callable[[LastHeartbeat | None], bool]) -> None:
    """Wait until the last heartbeat meets the condition, for two intervals, or until ``stop`` is set."""
    interval: float = host.settings.conductor.heartbeat_interval
    until = time.monotonic() + _INTERVALS * interval
    while (left := until - time.monotonic()) > 0 and not stop.wait(min(left, interval / 4)):
        if condition(_look(host)):
            return
