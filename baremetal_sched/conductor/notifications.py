"""PostgreSQL's notifications of new work (LISTEN, NOTIFY). On other databases a conductor polls."""

import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import structlog
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from baremetal_sched.baremetal.conductors.work import CHANNEL
from baremetal_sched.conductor.host import Host
from baremetal_sched.conductor.outage import Outage

log = structlog.get_logger(__name__)

#: Seconds between two checks whether the listener is to stop.
_TICK = 0.5


def listen(host: Host, wake: Callable[[], None], outage: Outage, stop: threading.Event) -> None:
    """Call ``wake`` whenever work is requested from this conductor, until ``stop`` is set.

    Lost connections are replaced, and ``outage`` is told. Returns at once on databases without notifications.
    """
    if host.database.engine.dialect.name != "postgresql":
        return
    import psycopg  # not installed with other databases

    while not stop.is_set():
        try:
            with closing(_connect(host)) as connection:
                connection.execute(f"LISTEN {CHANNEL}")
                outage.works("listener")
                log.debug("listening for work", conductor=host.name)
                wake()  # for earlier requests
                while not stop.is_set():
                    for notification in connection.notifies(timeout=_TICK, stop_after=1):
                        if notification.payload == host.name:
                            wake()
        except (psycopg.Error, DBAPIError, PoolTimeout) as error:
            outage.failed("listener", f"It cannot listen for work: {str(error).splitlines()[0]}")
            stop.wait(outage.pause)


def _connect(host: Host) -> Any:
    """Return a connection that is detached from the pool."""
    pooled = host.database.engine.raw_connection()
    connection: Any = pooled.driver_connection
    pooled.detach()
    connection.autocommit = True
    return connection
