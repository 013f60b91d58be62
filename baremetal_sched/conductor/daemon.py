"""The life of a conductor: start, heartbeats, looking for work, a clean stop."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import structlog

from baremetal_sched.baremetal import conductors
from baremetal_sched.conductor import job, work
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import UnavailableError
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)


class Conductor:
    """One conductor, under the host name and in the group of the settings.

    ``run`` is the whole life; ``register``, ``beat``, ``work_once`` and ``sign_off`` are its parts. While the database
    is away it keeps trying.
    """

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings
        self._hostname: str = settings.host
        self._pool = ThreadPoolExecutor(settings.conductor.workers_pool_size, thread_name_prefix="conductor-work")
        self._doing: dict[int, Future[None]] = {}

    def register(self) -> None:
        """Enter the registry. Raises InvalidValue for a group or a hardware type that cannot be."""
        options = self._settings
        self._database.write(
            lambda session: conductors.register(
                session, self._hostname, options.conductor.conductor_group, options.enabled_hardware_types
            )
        )
        log.info("conductor registered", conductor=self._hostname, group=options.conductor.conductor_group.lower())

    def beat(self) -> None:
        """Send one heartbeat; register again if the entry is gone."""
        if not self._database.write(lambda session: conductors.heartbeat(session, self._hostname)):
            self.register()

    def work_once(self) -> list[Future[None]]:
        """Start on whatever work is pending; returns what is being done."""
        self._doing = {work_id: future for work_id, future in self._doing.items() if not future.done()}
        for item in job.pending(self._database, self._settings, self._hostname):
            if item.id not in self._doing:
                self._doing[item.id] = self._pool.submit(work.do, item)
        return list(self._doing.values())

    def sign_off(self) -> None:
        """Leave the registry's living, so that nobody asks for more, and finish what is being done."""
        self._database.write(lambda session: conductors.sign_off(session, self._hostname))
        self._pool.shutdown(wait=True)
        log.info("conductor stopped", conductor=self._hostname)

    def run(self, stop: threading.Event) -> None:
        """Live until ``stop`` is set."""
        self._persist(self.register, stop)
        heart = threading.Thread(target=self._beat_until, args=(stop,), name="conductor-heart", daemon=True)
        heart.start()
        interval = self._settings.conductor.work_interval
        while not stop.wait(interval):
            self._tolerate(self.work_once)
        heart.join()
        if not self._tolerate(self.sign_off):
            self._pool.shutdown(wait=True)

    def _beat_until(self, stop: threading.Event) -> None:
        interval = self._settings.conductor.heartbeat_interval
        due = time.monotonic() + interval
        while not stop.wait(max(0.0, due - time.monotonic())):
            self._tolerate(self.beat)
            due = max(due + interval, time.monotonic())

    def _persist(self, action: Callable[[], object], stop: threading.Event) -> None:
        while not self._tolerate(action):
            if stop.wait(self._settings.conductor.work_interval):
                return

    def _tolerate(self, action: Callable[[], object]) -> bool:
        """Run ``action``; False, and a line in the log, if it failed. A conductor does not end because of that."""
        try:
            action()
        except UnavailableError as error:
            log.warning("conductor has to wait", conductor=self._hostname, reason=str(error))
            return False
        except Exception:
            log.exception("conductor failed", conductor=self._hostname)
            return False
        return True
