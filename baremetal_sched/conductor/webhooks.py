"""Webhooks that a conductor delivers for: a thread each, so that no receiver waits for another one."""

import threading
from collections import Counter
from functools import cached_property, partial

import structlog

from baremetal_sched.conductor.outage import SHOWS_OUTAGE
from baremetal_sched.conductor.questions import spawn
from baremetal_sched.db.transaction import Database
from baremetal_sched.scheduling.webhooks.delivering import DUE, Delivery, Rights
from baremetal_sched.scheduling.webhooks.sending import Sender
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)


class Deliveries:
    """The deliveries of one conductor. ``rights``: what the maker of a webhook may read."""

    def __init__(self, database: Database, settings: Settings, rights: Rights) -> None:
        self._database = database
        self._settings = settings
        self._rights = rights
        self._lock = threading.Lock()
        #: Webhooks, by id, with their projects.
        self._running: dict[int, str] = {}

    @cached_property
    def _sender(self) -> Sender:
        return Sender(self._settings)

    def begin_due(self) -> None:
        """Begin to send what is due, as far as there are threads: half of them for one project at most."""
        most: int = self._settings.events.webhook_threads
        for webhook_id, project in self._database.select(lambda connection: connection.execute(DUE).all()):
            with self._lock:
                of_project = Counter(self._running.values())[project]
                if len(self._running) >= most:
                    return
                if webhook_id in self._running or (project and of_project >= most // 2):
                    continue
                self._running[webhook_id] = project
            spawn(partial(self._deliver, webhook_id), "conductor-webhook")

    def _deliver(self, webhook_id: int) -> None:
        """Send what is due to one webhook. If the database fails, its lease ends by itself."""
        try:
            Delivery(self._database, self._sender, self._rights, webhook_id).run()
        except SHOWS_OUTAGE as error:
            log.info("a delivery was interrupted", webhook_id=webhook_id, reason=str(error))
        except Exception:
            log.exception("a delivery failed", webhook_id=webhook_id)
        finally:
            with self._lock:
                del self._running[webhook_id]
