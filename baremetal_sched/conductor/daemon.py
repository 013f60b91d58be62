"""The life of a conductor: start, heartbeats, looking for work, chores, a clean stop."""

import random
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import structlog

from baremetal_sched.baremetal import conductors
from baremetal_sched.conductor import host_name, job, listening, orphans, work
from baremetal_sched.conductor.chores import CHORES, Chore
from baremetal_sched.conductor.flavor_migration import migrate_own
from baremetal_sched.conductor.handing_over import hand_over
from baremetal_sched.conductor.heart import Heart
from baremetal_sched.conductor.host import Host
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import UnavailableError
from baremetal_sched.errors.baremetal import HostNameTaken
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)


class Conductor:
    """One conductor, under the host name and in the group of the settings.

    ``run`` is the whole life; ``start``, ``beat``, ``work_once``, ``do_chore``, ``sign_off`` and ``finish`` are its
    parts. While the database is away it keeps trying. It keeps nothing that another would need.
    """

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings
        self._hostname: str = settings.host
        self._host = Host(settings.host, database, settings)
        self._online = True
        self._is_registered = False
        #: This very process: what it claims, no other under the same name finds.
        self._process = str(uuid.uuid4())
        self._workers: int = settings.conductor.workers_pool_size
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="conductor-work")
        self._doing: dict[int, Future[None]] = {}
        self._wake = threading.Event()
        self._heart = Heart(
            lambda: self._tolerate(self.beat),
            interval=settings.conductor.heartbeat_interval,
            retry=settings.conductor.work_interval,
            timeout=settings.conductor.heartbeat_timeout,
        )

    @property
    def is_idle(self) -> bool:
        """Is no work being done?"""
        return all(future.done() for future in self._doing.values())

    def start(self, stop: threading.Event | None = None) -> None:
        """Clear away what was left under this name, and enter the registry; not if ``stop`` is set meanwhile.

        Raises HostNameTaken if another conductor of this name is running, and like ``register``.
        """
        if not host_name.take_over(self._host, stop or threading.Event()):
            return
        orphans.release_before_start(self._host)
        self.register()
        orphans.fail_unfinished(self._host)

    def register(self) -> None:
        """Enter the registry. Raises InvalidValue for a group or a hardware type that cannot be."""
        options = self._settings
        self._database.write(
            lambda session: conductors.register(
                session,
                self._hostname,
                options.conductor.conductor_group,
                options.enabled_hardware_types,
                options.pin_release_version,
            )
        )
        self._is_registered = True
        log.info("conductor registered", conductor=self._hostname, group=options.conductor.conductor_group.lower())

    def beat(self) -> None:
        """Send one heartbeat; register again if the entry is gone."""
        # A database that is silent must not keep a conductor from trying another connection before it counts as dead.
        deadline = time.monotonic() + self._settings.conductor.heartbeat_timeout / 3
        known = self._database.write(
            lambda session: conductors.heartbeat(session, self._hostname, online=self._online), deadline=deadline
        )
        if not known and self._online:
            self.register()

    def work_once(self) -> list[Future[None]]:
        """Start on the work that is pending, as far as there are workers; returns what is being done."""
        self._doing = {work_id: future for work_id, future in self._doing.items() if not future.done()}
        free = self._workers - len(self._doing)
        if free > 0:
            for item in job.take(
                self._database, self._settings, self._hostname, self._process, most=free, doing=self._doing
            ):
                future = self._doing[item.id] = self._pool.submit(work.do, item)
                future.add_done_callback(lambda _: self._wake.set())
        return list(self._doing.values())

    def do_chore(self, chore: Chore) -> None:
        """Do a chore, unless this is no time for it."""
        if not chore.trusts_heartbeats or self._heart.is_steady():
            chore.do(self._host)

    def sign_off(self) -> None:
        """Leave the registry's living, so that nobody asks for more."""
        self._online = False
        self._database.write(lambda session: conductors.sign_off(session, self._hostname))

    def finish(self) -> None:
        """Give what has not been begun to others, and finish the rest, within ``graceful_shutdown_timeout``.

        What is still not done then has failed, and its node is free.
        """
        until = time.monotonic() + self._settings.graceful_shutdown_timeout
        self._tolerate(lambda: hand_over(self._host))
        while (remaining := until - time.monotonic()) > 0:
            if self._tolerate(self.work_once) and not self._doing:
                break
            if self._database.schema.is_refused:  # another release goes on with it; this one cannot write any more
                break
            wait(list(self._doing.values()), remaining, FIRST_COMPLETED)
            if self.is_idle:  # and the database is away, or has more: not too fast
                time.sleep(min(remaining, self._settings.conductor.work_interval))
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._tolerate(lambda: orphans.release_after_stop(self._host, self._process))
        log.info("conductor stopped", conductor=self._hostname)

    def run(self, stop: threading.Event, started: Callable[[], None] = lambda: None) -> None:
        """Live until ``stop`` is set. Work that did not end in time may be going on in a thread afterwards.

        ``started`` is called once the conductor is registered: from then on nodes can be enrolled.

        Raises HostNameTaken if another conductor of this name is running.
        """
        self._persist(lambda: self.start(stop), stop)
        if not self._is_registered:  # so the entry, and what is reserved under the name, may be another's
            return
        started()
        over = threading.Event()
        threads = [
            threading.Thread(target=self._heart.run, args=(over,), name="conductor-heart", daemon=True),
            threading.Thread(target=self._migrate, args=(stop,), name="conductor-migration", daemon=True),
            threading.Thread(target=listening.listen, args=(self._host, self._wake.set, stop), daemon=True),
            *(threading.Thread(target=self._do_again, args=(chore, stop), daemon=True) for chore in CHORES),
        ]
        for thread in threads:
            thread.start()
        while not stop.is_set():
            self._wake.wait(self._settings.conductor.work_interval)
            self._wake.clear()
            self._tolerate(self.work_once)
        self._tolerate(self.sign_off)
        self.finish()
        over.set()

    def _migrate(self, stop: threading.Event) -> None:
        """Migrate old servers once, however often that takes."""
        self._persist(lambda: migrate_own(self._host, stop), stop)

    def _do_again(self, chore: Chore, stop: threading.Event) -> None:
        """Do a chore again and again; not all conductors at the same time."""
        interval: float = getattr(self._settings.conductor, chore.interval)
        pause = interval * random.uniform(0.1, 1)  # noqa: S311 - not a secret
        while interval and not stop.wait(pause):
            self._tolerate(lambda: self.do_chore(chore))
            pause = interval

    def _persist(self, action: Callable[[], object], stop: threading.Event) -> None:
        while not self._tolerate(action):
            if stop.wait(self._settings.conductor.work_interval):
                return

    def _tolerate(self, action: Callable[[], object]) -> bool:
        """Run ``action``; False, and a line in the log, if it failed. A conductor does not end because of that."""
        try:
            action()
        except HostNameTaken:
            raise
        except UnavailableError as error:
            log.warning("conductor has to wait", conductor=self._hostname, reason=str(error))
            return False
        except Exception:
            log.exception("conductor failed", conductor=self._hostname)
            return False
        return True
