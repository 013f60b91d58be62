"""A host name belongs to one conductor at a time: whether another one has it now, and how to take it over."""

import threading
import time
from collections.abc import Callable
from functools import partial

import structlog

from baremetal_sched.baremetal import conductors
from baremetal_sched.baremetal.conductors import LastHeartbeat
from baremetal_sched.conductor.host import Host
from baremetal_sched.errors.baremetal import HostNameTaken

log = structlog.get_logger(__name__)

#: How many of its intervals a conductor may be late with a heartbeat until it is taken for dead by its successor.
_INTERVALS = 2


def take_over(host: Host, stop: threading.Event) -> bool:
    """Take the host name, unless the conductor that has it is alive; False if ``stop`` is set before that is known.

    If the last heartbeat under the name is recent, the next one is waited for: two heartbeat intervals. Of several that
    take the name at the same time one gets it; the others wait for its heartbeats. Raises HostNameTaken.
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
            # Another process did at the same moment, and will register.
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
    """Wait until the last heartbeat meets the condition; or for two intervals, or until ``stop`` is set."""
    interval: float = host.settings.conductor.heartbeat_interval
    until = time.monotonic() + _INTERVALS * interval
    while (left := until - time.monotonic()) > 0 and not stop.wait(min(left, interval / 4)):
        if condition(_look(host)):
            return
