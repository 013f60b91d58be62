"""What a conductor does about events: it numbers them, and sends them to webhooks.

One statement a second asks whether there is anything to do. Each webhook has a thread while events are sent to it, so
no receiver waits for another one.
"""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from itertools import count

import structlog

from baremetal_sched.conductor.outage import SHOWS_OUTAGE
from baremetal_sched.conductor.questions import spawn
from baremetal_sched.db import compiled
from baremetal_sched.db.transaction import Database
from baremetal_sched.db.types import AnyRow, Query
from baremetal_sched.scheduling import capacity_history
from baremetal_sched.scheduling.events import numbering
from baremetal_sched.scheduling.events.numbering import Numbering
from baremetal_sched.scheduling.webhooks.delivering import DUE, ONE_DUE, Delivery, Rights, deliver_test
from baremetal_sched.scheduling.webhooks.sending import Sender
from baremetal_sched.scheduling.webhooks.testing import WAITING
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Seconds between two looks without events, once what was left of them is numbered.
_OFF = 60.0

#: What waits for a number, and whether a webhook and a test are due. The times of pauses and of leases are in it.
_LOOK: Query = numbering.LOOK.add_columns(ONE_DUE.label("webhook"), WAITING.limit(1).scalar_subquery().label("test"))


class EventLooks:
    """The looks of one conductor at events. ``rights``: what makers of webhooks may read; None: it sends to none."""

    def __init__(self, database: Database, settings: Settings, rights: Rights | None) -> None:
        self._database = database
        self._numbering = Numbering(database)
        self.deliveries = None if rights is None else Deliveries(database, settings, rights)
        self._is_off = not settings.events.enabled
        self._interval: float = settings.events.webhooks_interval
        #: When webhooks have their next turn, by the monotonic clock.
        self._turn = 0.0 if rights is not None and self._interval else math.inf
        #: When machines are counted next. That is twice as often as rows are written, so that none is left out.
        self._count_at = 0.0

    @property
    def pause(self) -> float:
        """Return the seconds until the next ``step``."""
        pause = self._numbering.pause
        if self._is_off and pause == numbering.IDLE:
            return _OFF
        return max(0.0, min(pause, self._turn - time.monotonic()))

    def step(self, *, delivers: bool) -> None:
        """Look for events, and for webhooks if it ``delivers`` and ``webhooks_interval`` has passed."""
        is_turn = delivers and self._turn <= time.monotonic()
        if is_turn or not delivers:
            self._turn = time.monotonic() + self._interval if delivers else math.inf
        found = self.look(with_webhooks=is_turn)
        if self._count_at <= time.monotonic() and not self._numbering.is_others(found):
            self._count_at = time.monotonic() + capacity_history.EVERY / 2
            self._database.change(capacity_history.write)

    def look(self, *, with_webhooks: bool) -> AnyRow:
        """Number the events that wait, and begin what is due to webhooks, also by the numbers that were just given.
        Return what was found."""
        deliveries = self.deliveries if with_webhooks else None
        query = numbering.LOOK if deliveries is None else _LOOK
        found = self._database.select(lambda connection: compiled.run(connection, query, {}).one())
        try:
            if deliveries is not None and found.test is not None:
                deliveries.begin_tests()
            if deliveries is not None and found.webhook is not None:
                deliveries.begin_due()
        finally:
            if self._numbering.number(found) and deliveries is not None:
                deliveries.begin_due()
        return found

    def stop(self) -> None:
        """Let another process number events at once."""
        self._numbering.stop()


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
        due = self._database.select(lambda connection: compiled.run(connection, DUE, {}).all())
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
