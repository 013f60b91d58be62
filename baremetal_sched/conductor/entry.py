"""A conductor's entry in the registry: registered, kept alive by heartbeats, and marked offline at the end."""

import threading
import time
from collections.abc import Callable

import structlog
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import conductors, work_queue
from baremetal_sched.conductor.host import ConductorHost, take_host_name
from baremetal_sched.machines.interface_types import ServedType

log = structlog.get_logger(__name__)

#: Seconds by which the clock of a host may be off, and seconds between two warnings.
_MOST_AHEAD, _WARN_EVERY = 60.0, 3600.0


class ConductorEntry:
    """The entry of ``host``, which serves what ``served`` returns.

    All methods that change it raise HostNameTaken if another process has taken the host name.
    """

    def __init__(self, host: ConductorHost, served: Callable[[], list[ServedType]]) -> None:
        self._host = host
        self._served = served
        self._online = True
        #: Held while the entry is changed: the time of its last heartbeat shows whose it is.
        self._lock = threading.RLock()
        self._last: float | None = None
        self._warns_at = 0.0
        #: Seconds by which the last heartbeat has brought postponed work forward.
        self._moved = 0.0

    def take(self, stop: threading.Event) -> bool:
        """Take the host name over, unless ``stop`` is set first; return whether it did."""
        self._last = take_host_name(self._host, stop)
        return self._last is not None

    def register(self) -> None:
        """Register. Raises InvalidValue for an invalid group, or invalid hardware types and interfaces."""
        options, served = self._host.settings, self._served()
        group, pinned = options.conductor.conductor_group, options.pin_release_version

        def enter(session: Session) -> None:
            self._last = conductors.register(session, self._host.name, group, served, pinned, self._last)

        self._host.database.write(enter)
        log.info("conductor registered", conductor=self._host.name, group=group.lower())

    def beat(self) -> None:
        """Send one heartbeat; register again if the registration is gone."""
        # Within this time-out, an unresponsive database leaves time for a second connection before the conductor counts
        # as dead.
        deadline = time.monotonic() + self._host.settings.conductor.heartbeat_timeout / 3
        with self._lock:
            sent = self._host.database.write(self._send, deadline=deadline)
            if sent is not None:
                self._last = sent
                self._host.clock.put_back -= self._moved
            elif self._online:
                self.register()

    def _send(self, session: Session) -> float | None:
        began, by_host = time.monotonic(), time.time()
        sent = conductors.heartbeat(session, self._host.name, online=self._online, last=self._last)
        if sent is not None:
            # Kept even if the commit fails or remains unknown: a heartbeat later than both is certainly not this
            # process's. The one before is the later one if the clock was put back.
            self._last = max(sent, self._last or sent)
            # Before the commit: as soon as the conductor lives by a new time, it knows that the clock was set.
            self._host.clock.note(sent, began)
            self._warn(by_host - sent)
            self._moved = self._host.clock.put_back
            if self._moved:
                work_queue.bring_forward(session, self._host.name, self._moved)
        return sent

    def _warn(self, ahead: float) -> None:
        """Warn now and then if the clock of this host is ahead, or behind, by much."""
        now = time.monotonic()
        if abs(ahead) > _MOST_AHEAD and now >= self._warns_at:
            self._warns_at = now + _WARN_EVERY
            log.warning(
                "the clock of this host and that of the database differ: set the wrong one",
                conductor=self._host.name, ahead_seconds=round(ahead),
            )  # fmt: skip

    def sign_off(self) -> None:
        """Mark the conductor as offline, so that no new work is requested from it."""
        self._online = False
        with self._lock:
            self._host.database.write(lambda session: conductors.sign_off(session, self._host.name, self._last))
