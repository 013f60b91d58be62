"""The life cycle of a conductor: start, heartbeats, polling for work, periodic tasks, graceful stop."""

import random
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import cached_property, partial

import structlog

from baremetal_sched.conductor import answering, claiming, orphaned_reservations
from baremetal_sched.conductor.answering import Answering
from baremetal_sched.conductor.call_watch import CallWatch
from baremetal_sched.conductor.entry import ConductorEntry
from baremetal_sched.conductor.host import ConductorHeartbeat, ConductorHost
from baremetal_sched.conductor.job import Job
from baremetal_sched.conductor.looks import Looks
from baremetal_sched.conductor.orphaned_reservations import hand_over
from baremetal_sched.conductor.outage import SHOWS_OUTAGE, Outage
from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS, PeriodicTask
from baremetal_sched.conductor.servers import migrate_own
from baremetal_sched.conductor.settings_warnings import warn
from baremetal_sched.conductor.wake_pipe import WakePipe
from baremetal_sched.conductor.webhooks import EventLooks
from baremetal_sched.conductor.workers import Workers
from baremetal_sched.db.transaction import Database
from baremetal_sched.drivers import registry
from baremetal_sched.drivers.enabled import EnabledDrivers, served_types
from baremetal_sched.errors import UnavailableError
from baremetal_sched.errors.baremetal import HostNameTaken
from baremetal_sched.machines.interface_types import ServedType
from baremetal_sched.scheduling import handover
from baremetal_sched.scheduling.events import numbering
from baremetal_sched.scheduling.webhooks.delivering import Rights
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Seconds that a stopping conductor waits for its thread that polls for calls.
_END_SECONDS = 2.0
#: Seconds between two looks at what only time could have changed; new and due work wakes the conductor.
_QUIET_INTERVAL = 60.0
#: Seconds between two looks at the calls that are being made.
_CALLS_INTERVAL = 0.5
#: Seconds that the drivers of one kind of controllers may take to log out.
_LOGOUT_SECONDS = 5.0


class ConductorDaemon:
    """One conductor, with the host name and the group of the settings.

    ``run`` is the whole life cycle; ``start``, ``beat``, ``work_once``, ``run_periodic_task``, ``sign_off`` and
    ``finish`` are its phases. While the database is unavailable, it keeps trying. All shared state is in the database.
    """

    def __init__(
        self, database: Database, settings: Settings, pipe: WakePipe | None = None, rights: Rights | None = None
    ) -> None:
        """``rights``: what makers of webhooks may read; without it, none are delivered."""
        handover.install(database, settings)
        self._database = database
        self._settings = settings
        self._hostname: str = settings.host
        self._host = ConductorHost(settings.host, database, settings)
        self._entry = ConductorEntry(self._host, lambda: self._served)
        self._is_registered = False
        #: Set when another process has taken the host name.
        self._replaced = threading.Event()
        #: Identifies this process: no other process with the same host name takes its claims for its own.
        self._process = str(uuid.uuid4())
        self._workers = Workers(settings.conductor.workers_pool_size)
        self.events = EventLooks(database, settings, rights)
        self._outage = Outage(settings.host, settings.conductor.work_interval)
        self._looks, self._called = Looks(), threading.Event()
        #: Whether the last look found more work than workers.
        self._is_work_left = False
        self._watch = CallWatch(self._host, self._called.set, self._looks.now, self._outage, pipe)
        self.answering = Answering(self._host, self._process)
        self._heartbeat = ConductorHeartbeat(
            lambda: self._tolerate(self.beat, "heartbeat"),
            interval=settings.conductor.heartbeat_interval,
            retry=settings.conductor.work_interval,
            timeout=settings.conductor.heartbeat_timeout,
        )

    @cached_property
    def _served(self) -> list[ServedType]:
        """Return the hardware types that this conductor serves. Types that cannot be loaded are logged."""
        enabled = EnabledDrivers.of(self._settings)
        for name, reason in enabled.left_out.items():
            log.info("interface left out", conductor=self._hostname, interface=name, reason=reason)
        return served_types(enabled)

    @property
    def is_idle(self) -> bool:
        """Return whether no work is in progress."""
        return self._workers.is_idle

    def start(self, stop: threading.Event | None = None) -> None:
        """Clean up after the previous process of this host name, and register; not if ``stop`` is set before that.

        Raises HostNameTaken if another conductor of this name is running, and what ``register`` raises.
        """
        if not self._entry.take(stop or threading.Event()):
            return
        orphaned_reservations.release_before_start(self._host)
        answering.give_up_before_start(self._host)
        self.register()
        orphaned_reservations.fail_unfinished(self._host)
        warn(self._database, self._settings)

    def register(self) -> None:
        """Register. Raises InvalidValue for an invalid group, or invalid hardware types and interfaces, and
        HostNameTaken if another process has taken the host name since."""
        self._entry.register()
        self._is_registered = True

    def beat(self) -> None:
        """Send one heartbeat; register again if the registration is gone.

        Raises HostNameTaken if another process has taken the host name.
        """
        self._entry.beat()

    def work_once(self) -> list[Future[None]]:
        """Begin pending work while workers are free; return the futures of the work in progress."""
        self._workers.give_up_hung()
        free = self._workers.free
        found = 0
        if free > 0:
            for item in claiming.take(
                *(self._database, self._settings, self._hostname, self._process),
                most=free, doing=self._workers.doing(), clock=self._host.clock, later=self._look_in,
            ):  # fmt: skip
                self._workers.begin(item, self._job_ended)
                found += 1
        self._is_work_left = found >= free
        return self._workers.futures()

    def _look_in(self, seconds: float) -> None:
        self._looks.at(time.monotonic() + seconds)

    def _job_ended(self, item: Job) -> None:
        """Look for work when that of the job is due again, and at once if a worker was missing."""
        if self._is_work_left:
            self._looks.now()
        elif item.end.due is not None:
            self._looks.at(item.end.due or time.monotonic() + self._settings.conductor.work_interval)

    def run_periodic_task(self, task: PeriodicTask) -> None:
        """Run a periodic task, unless heartbeats were interrupted, or the clock of the database was set, and it depends
        on them."""
        if not task.trusts_heartbeats or (self._heartbeat.is_uninterrupted() and self._host.clock.is_steady()):
            task.run(self._host)

    def sign_off(self) -> None:
        """Mark the conductor as offline, so that no new work is requested from it.

        Raises HostNameTaken if another process has taken the host name.
        """
        self._entry.sign_off()

    def finish(self) -> None:
        """Hand over work that was not begun, and finish the rest within ``graceful_shutdown_timeout``.

        Work that is not finished by then has failed, and its node is freed.
        """
        until = time.monotonic() + self._settings.graceful_shutdown_timeout
        self._tolerate(lambda: hand_over(self._host))
        while not self._replaced.is_set() and (remaining := until - time.monotonic()) > 0:
            if self._tolerate(self.work_once, "work") and not self._workers.doing() and not self.answering.is_busy:
                break
            if self._database.schema.is_refused:  # another release takes over; this one can no longer write
                break
            wait(self._workers.futures(), remaining, FIRST_COMPLETED)
            if self.is_idle:  # the database is unavailable, or has more work: wait a little
                time.sleep(min(remaining, self._settings.conductor.work_interval))
        self._tolerate(self.answering.give_up_all)
        if not self._replaced.is_set():  # otherwise the work is the successor's
            # Steps may have begun to be polled since.
            self._tolerate(lambda: hand_over(self._host, with_polls=True))
            self._tolerate(lambda: orphaned_reservations.release_after_stop(self._host, self._process))
        self._tolerate(_log_out)
        log.info("conductor stopped", conductor=self._hostname)

    def run(self, stop: threading.Event, started: Callable[[], None] = lambda: None) -> None:
        """Run until ``stop`` is set. Work that did not end in time may still be running in a thread afterwards.

        ``started`` is called once the conductor is registered: from then on nodes can be enrolled.

        Raises HostNameTaken if another conductor of this name is running, or has taken the name later, since heartbeats
        of this one were late; ``stop`` is set then.
        """
        self._persist(lambda: self.start(stop), "start", stop)
        if not self._is_registered:  # the registration and reservations of the name may belong to another conductor
            return
        started()
        over = threading.Event()
        migration = partial(migrate_own, self._host, stop)  # of old servers, until it succeeds once
        answering = threading.Thread(target=self._answer, args=(over,), name="conductor-calls", daemon=True)
        threads = [
            answering,
            threading.Thread(target=self._live, args=(over, stop), name="conductor-heartbeat", daemon=True),
            threading.Thread(
                target=self._persist, args=(migration, "migration", stop), name="conductor-migration", daemon=True
            ),
            threading.Thread(target=self._watch.run, args=(over,), name="conductor-watch", daemon=True),
            threading.Thread(target=self._end, args=(stop,), name="conductor-stop", daemon=True),
            threading.Thread(target=self._look_at_events, args=(stop, over), name="conductor-events", daemon=True),
            *(threading.Thread(target=self._do_again, args=(task, stop), daemon=True) for task in PERIODIC_TASKS),
        ]
        for thread in threads:
            thread.start()
        while not stop.is_set():
            self._looks.wait(self._pause())
            if not self._tolerate(self._work_if_due, "work"):
                stop.wait(self._outage.pause)
                self._looks.now()
        try:
            if self._replaced.is_set():
                raise HostNameTaken(host=self._hostname)
            self._tolerate(self.sign_off)
            self.finish()
        finally:
            over.set()
            self._called.set()
            answering.join(_END_SECONDS)

    def _live(self, over: threading.Event, stop: threading.Event) -> None:
        """Send heartbeats until ``over`` is set; stop the conductor if another process has taken the host name."""
        try:
            self._heartbeat.run(over)
        except HostNameTaken as error:
            log.error("another process has taken the host name", conductor=self._hostname, reason=str(error))
            self._replaced.set()
            stop.set()
            self._looks.now()

    def _pause(self) -> float:
        """Return the seconds until the next look at the workers: those whose drivers are slow become free by time."""
        is_busy = self._is_work_left or self._workers.doing()
        return self._settings.conductor.work_interval if is_busy else _QUIET_INTERVAL

    def _work_if_due(self) -> None:
        """Begin pending work if there is a reason to look for it; in any case give up drivers that hang."""
        if self._looks.is_due() or (self._is_work_left and self._workers.free):
            self.work_once()
        else:
            self._workers.give_up_hung()

    def _end(self, stop: threading.Event) -> None:
        """Wake the thread that looks for work when ``stop`` is set."""
        stop.wait()
        self._looks.now()

    def _answer(self, stop: threading.Event) -> None:
        """Make the calls that requests wait for, until the conductor has finished."""
        while not stop.is_set():
            self._called.wait(_CALLS_INTERVAL if self.answering.is_busy else _QUIET_INTERVAL)
            self._called.clear()
            if not self._tolerate(self.answering.begin_all, "calls"):
                stop.wait(self._outage.pause)
                self._called.set()

    def _look_at_events(self, stop: threading.Event, over: threading.Event) -> None:
        """Give numbers to events until ``over`` is set, also to those of the end of the conductor's work; send them to
        webhooks until ``stop`` is set."""
        if not self._settings.events.enabled:
            self._persist(lambda: self._database.change(numbering.begin_stream), "events", over)
        while not over.wait(self.events.pause):
            self._tolerate(partial(self.events.step, delivers=not stop.is_set()), "events")
        self._tolerate(self.events.stop)

    def _do_again(self, task: PeriodicTask, stop: threading.Event) -> None:
        """Run a periodic task repeatedly, with a random delay so that conductors do not run it simultaneously."""
        interval: float = self._settings[task.group][task.interval]
        pause = interval * random.uniform(0.1, 1)  # noqa: S311 - not a secret
        while interval and not stop.wait(pause):
            self._tolerate(lambda: self.run_periodic_task(task))
            pause = interval

    def _persist(self, action: Callable[[], object], who: str, stop: threading.Event) -> None:
        while not self._tolerate(action, who):
            if stop.wait(self._outage.pause):
                return

    def _tolerate(self, action: Callable[[], object], who: str | None = None) -> bool:
        """Run ``action`` and return whether it succeeded. Failures are logged; they do not stop the conductor.

        ``who``: its name for the outage, if it is tried again soon.
        """
        try:
            action()
        except HostNameTaken:
            raise
        except SHOWS_OUTAGE as error:
            self._outage.failed(who, error)
            return False
        except UnavailableError as error:
            log.warning("conductor waits", conductor=self._hostname, reason=str(error))
            return False
        except Exception:
            log.exception("conductor failed", conductor=self._hostname)
            return False
        if who is not None and self._outage.works(who):
            self._looks.now()
        return True


def _log_out() -> None:
    """Let the drivers log out of controllers."""
    for interface in registry.loaded("power").values():
        interface.close(_LOGOUT_SECONDS)
