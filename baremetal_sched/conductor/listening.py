"""PostgreSQL tells of new work at once (LISTEN, NOTIFY); on other databases a conductor looks for it now and then."""

import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import structlog
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from baremetal_sched.baremetal.work import CHANNEL
from baremetal_sched.conductor.host import Host

log = structlog.get_logger(__name__)

#: How often the listener looks whether it is to stop, in seconds.
_TICK = 0.5


def listen(host: Host, wake: Callable[[], None], stop: threading.Event) -> None:
    """Call ``wake`` whenever work is requested of this conductor, until ``stop`` is set.

    A connection that is lost is made anew. Returns at once on databases that cannot tell.
    """
    if host.database.engine.dialect.name != "postgresql":
        return
    import psycopg  # which users of other databases need not have

    while not stop.is_set():
        try:
            with closing(_connect(host)) as connection:
                connection.execute(f"LISTEN {CHANNEL}")
                log.info("listening for work", conductor=host.name)
                wake()  # for what was requested before
                while not stop.is_set():
                    for notification in connection.notifies(timeout=_TICK, stop_after=1):
                        if notification.payload == host.name:
                            wake()
        except (psycopg.Error, DBAPIError, PoolTimeout) as error:
            log.warning("cannot listen for work", conductor=host.name, reason=str(error).split("\n")[0])
            stop.wait(host.settings.conductor.work_interval)


def _connect(host: Host) -> Any:
    """A connection of its own, that the pool does not know any more."""
    pooled = host.database.engine.raw_connection()
    connection: Any = pooled.driver_connection
    pooled.detach()
    connection.autocommit = True
    return connection
