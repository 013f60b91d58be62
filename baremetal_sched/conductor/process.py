"""The process of a conductor: the checks before its start, and how it starts and stops."""

import os
import signal
import sys
import threading
from collections.abc import Callable

from baremetal_sched.allowed_hosts import allowed_hosts
from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.baremetal.inspection.hooks import registry as hooks
from baremetal_sched.baremetal.inspection.rules import engine
from baremetal_sched.conductor.daemon import ConductorDaemon
from baremetal_sched.conductor.outage import Outage
from baremetal_sched.conductor.wake_pipe import WakePipe
from baremetal_sched.db import limits, schema
from baremetal_sched.db.transaction import Database
from baremetal_sched.drivers.enabled import EnabledDrivers
from baremetal_sched.errors import (
    DatabaseAway,
    DatabaseCorrupt,
    DatabaseDenied,
    DatabaseLoginRefused,
    DatabaseMissing,
)
from baremetal_sched.memory import limit_memory
from baremetal_sched.scheduling.webhooks.delivering import Rights
from baremetal_sched.scheduling.webhooks.sending import Sender
from baremetal_sched.settings import Settings

#: Seconds between two checks whether the parent process has ended.
_WATCH_SECONDS = 1.0


def check_registration(settings: Settings) -> None:
    """Raise InvalidValue if a conductor with these settings could not register or work."""
    conductors.check_registration(settings.host, settings.conductor.conductor_group)
    EnabledDrivers.of(settings)
    engine.load_file(settings.inspection_rules.built_in_rules)
    allowed_hosts(settings)
    Sender(settings)
    hooks.check(settings)


def run(
    settings: Settings,
    parent: int | None = None,
    started: Callable[[], None] = lambda: None,
    pipe: WakePipe | None = None,
    rights: Rights | None = None,
) -> None:
    """Run a conductor until SIGTERM, SIGINT or SIGHUP; or, with ``parent``, until that process has ended.

    ``started`` is called once the conductor is registered. All processes that request work use ``pipe``, if given.
    ``rights``: what makers of webhooks may read; without it, none are delivered.
    """
    check_registration(settings)
    limit_memory()
    database = Database(settings, limits.CONDUCTOR)
    if pipe is not None:
        database.on_work = pipe.wake
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: stop.set())
    if parent is not None:
        threading.Thread(target=_watch, args=(parent, stop), daemon=True).start()
    _await_schema(settings.host, database, stop, settings.conductor.work_interval)
    conductor = ConductorDaemon(database, settings, pipe, rights)
    conductor.run(stop, started)
    database.dispose()
    if not conductor.is_idle:
        # Driver calls that are still running are abandoned, and must not keep the process alive.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _await_schema(name: str, database: Database, stop: threading.Event, interval: float) -> None:
    """Wait until the database is available and at a schema that this release can serve.

    Raises SchemaNotServed if this release cannot serve it, and errors that waiting does not resolve: DatabaseMissing,
    DatabaseLoginRefused, DatabaseDenied, DatabaseCorrupt.
    """
    outage = Outage(name, interval)
    while not stop.is_set():
        try:
            schema.require_served(database.engine)
        except (DatabaseMissing, DatabaseLoginRefused, DatabaseDenied, DatabaseCorrupt):
            raise
        except DatabaseAway as error:
            outage.failed("start", error)
            stop.wait(outage.pause)
        else:
            outage.works("start")
            return


def _watch(parent: int, stop: threading.Event) -> None:
    while os.getppid() == parent:
        if stop.wait(_WATCH_SECONDS):
            return
    stop.set()
