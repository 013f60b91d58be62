"""Webhooks that a conductor delivers for: a thread each, so that no receiver waits for another one."""

import threading
from functools import cached_property, partial
from itertools import count

import structlog

from baremetal_sched.conductor.outage import SHOWS_OUTAGE
from baremetal_sched.conductor.questions import spawn
from baremetal_sched.db.transaction import Database
from baremetal_sched.db.types import AnyRow
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
        #: Webhooks to which events are being sent, as DUE returned them, by id.
        self._running: dict[int, AnyRow] = {}
        #: When each of the webhooks had its last turn here: a count, as the clock of the database may be set.
        self._turns: dict[int, int] = {}
        self._counter = count(1)

    @cached_property
    def _sender(self) -> Sender:
        return Sender(self._settings)

    def begin_due(self) -> None:
        """Begin to send what is due, as far as there are threads, first to webhooks whose last turn is longest ago."""
        due = self._database.select(lambda connection: connection.execute(DUE).all())
        with self._lock:
            known = {each.id for each in due} | self._running.keys()
            self._turns = {webhook: turn for webhook, turn in self._turns.items() if webhook in known}
            chosen = []
            for each in sorted(due, key=lambda each: self._turns.get(each.id, 0)):
                if self._has_thread(each):
                    chosen.append(each.id)
                    self._running[each.id], self._turns[each.id] = each, next(self._counter)
        for webhook_id in chosen:
            spawn(partial(self._deliver, webhook_id), "conductor-webhook")

    def _has_thread(self, webhook: AnyRow) -> bool:
        """Return whether a thread may send to this webhook now.

        A project has at most half of the threads, as have webhooks without a project, and webhooks whose last attempt
        was slow have a quarter. As others may prove to be slow as well, a project that has a thread leaves a quarter of
        them to projects that have none.
        """
        most: int = self._settings.events.webhook_threads
        quarter, free = max(1, most // 4), most - len(self._running)
        own = sum(each.project == webhook.project for each in self._running.values())
        slow = sum(each.is_slow for each in self._running.values())
        if webhook.id in self._running or own >= most // 2 or (webhook.is_slow and slow >= quarter):
            return False
        return free > (quarter if own else 0)

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
