"""Webhooks that a conductor delivers for: a thread each, so that no receiver waits for another one."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from itertools import count

import structlog

from baremetal_sched.conductor.outage import SHOWS_OUTAGE
from baremetal_sched.conductor.questions import spawn
from baremetal_sched.db.transaction import Database
from baremetal_sched.db.types import AnyRow
from baremetal_sched.scheduling.webhooks.delivering import DUE, Delivery, Rights, deliver_test
from baremetal_sched.scheduling.webhooks.sending import Sender
from baremetal_sched.scheduling.webhooks.testing import WAITING
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
        self._testing: set[str] = set()

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

    def begin_tests(self) -> None:
        """Begin the deliveries that were asked for as tests, as many at a time as there are threads."""
        for token in self._database.select(lambda connection: connection.scalars(WAITING).all()):
            with self._lock:
                if token in self._testing or len(self._testing) >= self._settings.events.webhook_threads:
                    continue
                self._testing.add(token)
            spawn(partial(self._test, token), "conductor-webhook-test")

    def _deliver(self, webhook_id: int) -> None:
        """Send what is due to one webhook. If the database fails, its lease ends by itself."""
        with _logged(webhook_id=webhook_id):
            Delivery(self._database, self._sender, self._rights, webhook_id).run()
        with self._lock:
            del self._running[webhook_id]

    def _test(self, token: str) -> None:
        with _logged(test=token):
            deliver_test(self._database, self._sender, token)
        with self._lock:
            self._testing.discard(token)


@contextmanager
def _logged(**subject: object) -> Iterator[None]:
    try:
        yield
    except SHOWS_OUTAGE as error:
        log.info("a delivery was interrupted", **subject, reason=str(error))
    except Exception:
        log.exception("a delivery failed", **subject)
