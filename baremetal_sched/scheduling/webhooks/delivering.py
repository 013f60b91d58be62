"""Delivering events to a webhook: in order, each at least once, by one conductor at a time.

A conductor takes a webhook with a lease and a new fence (a number). It reads some events, sends them one after the
other, and moves the cursor if the fence is still its own. No delivery begins so late that it could outlast the lease,
so two conductors do not send at the same time.

The clock of the database may be set. So a lease that is given back has no time, and one that lies further ahead than a
lease lasts is over, as is a pause longer than the longest. If its conductor still sends then, some events are delivered
twice, and the fence decides which of the two moves the cursor.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
import structlog
from sqlalchemy import ColumnElement, Connection, and_, case, false, or_, select, true, update
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import epoch, in_words, is_over
from baremetal_sched.db.models import EventStream, Webhook, table_of
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.sealing import UnreadableText
from baremetal_sched.db.transaction import Database
from baremetal_sched.db.types import Query
from baremetal_sched.errors import AuthenticationUnavailable
from baremetal_sched.errors.events import EventsGone
from baremetal_sched.errors.webhooks import DomainOfWebhookGone, MakerGone
from baremetal_sched.scheduling.events import reading
from baremetal_sched.scheduling.events.cloud_events import cloud_event
from baremetal_sched.scheduling.events.cursors import Cursor, mark_of
from baremetal_sched.scheduling.events.masks import Mask
from baremetal_sched.scheduling.events.reading import Event
from baremetal_sched.scheduling.webhooks import testing
from baremetal_sched.scheduling.webhooks.sending import DeliveryResult, Envelope, Sender
from baremetal_sched.scheduling.webhooks.webhooks import SECONDS, Document, cursor_of, filter_of, keys_of

log = structlog.get_logger(__name__)

#: Seconds for which a conductor has a webhook to itself; another may begin after that.
LEASE = 30.0
#: Seconds without a success after which a webhook is parked.
PARK_AFTER = 86_400.0
#: The longest pause between two attempts, in seconds: of its own accord, and if the receiver asks for it.
_LONGEST_BACK_OFF, _LONGEST_PAUSE = 600.0, 3600.0
#: Attempts that are kept.
MOST_ATTEMPTS = 20
#: Events that are read at a time, and seconds after which the rest is read again, by the rights of that time.
_BATCH, _BATCH_SECONDS = 20, 1.0
#: Seconds after which other webhooks have their turn. After an attempt that took longer than ``_SLOW``, they have it at
#: once.
_TURN_SECONDS, _SLOW = 10.0, 1.0

_UNREADABLE = DeliveryResult("The secret cannot be decrypted.")

#: What a maker may read today; None: nothing. Raises MakerGone, AuthenticationUnavailable.
Rights = Callable[[Document], Mask | None]

_ROWS, _STREAM = table_of(Webhook), table_of(EventStream)
_HAS_MORE = or_(
    _ROWS.c.number != select(_STREAM.c.last).scalar_subquery(),
    _ROWS.c.stream != select(_STREAM.c.uuid).scalar_subquery(),
)
_IS_DUE: ColumnElement[bool] = and_(
    _ROWS.c.parked == false(),
    is_over(_ROWS.c.leased_until, LEASE),
    is_over(_ROWS.c.retry_at, _LONGEST_PAUSE),
    _HAS_MORE,
)
_IS_SLOW = case((_ROWS.c.last_seconds > _SLOW, true()), else_=false()).label("is_slow")
#: The webhooks with events to send that no conductor holds, with their projects, and whether they were slow.
DUE: Query = select(_ROWS.c.id, _ROWS.c.project, _IS_SLOW).where(_IS_DUE).order_by(_ROWS.c.leased_until, _ROWS.c.id)
#: Any of them.
ONE_DUE = select(_ROWS.c.id).where(_IS_DUE).limit(1).scalar_subquery()


@dataclass(frozen=True)
class _Batch:
    """What comes after ``start``. When all of it is sent, the cursor moves to ``end``; ``is_last``: there is no more.

    ``refusal``: why nothing may be sent.
    """

    start: Cursor
    envelopes: Sequence[Envelope] = ()
    end: Cursor | None = None
    is_last: bool = True
    refusal: DeliveryResult | None = None


class Delivery:
    """The turn of one webhook."""

    def __init__(self, database: Database, sender: Sender, rights: Rights, webhook_id: int) -> None:
        self._database = database
        self._sender = sender
        self._rights = rights
        self._is_own = _ROWS.c.id == webhook_id
        self._leased_until = 0.0
        #: By how much the clock of the database is ahead of the monotonic one.
        self._ahead = 0.0
        self._keys: list[str] = []
        #: The last attempts, the newest first, and how long the newest took.
        self._attempts: list[dict[str, object]] = []
        self._seconds: float | None = None

    def run(self) -> None:
        """Send what is due, unless another conductor does, for some seconds at most, or until something is refused."""
        ends = time.monotonic() + _TURN_SECONDS
        goes_on = self._hold(self._take)
        while goes_on:
            batch = self._database.read(self._read)
            if batch is not None:
                cursor, result, is_over = self._send(batch)
                goes_on = not is_over and time.monotonic() < ends
                note = partial(self._record, cursor=cursor, result=result, goes_on=goes_on)
            if batch is None or not self._hold(note):
                self._database.change(self._give_back)
                return

    def _hold(self, work: Callable[[Connection], bool]) -> bool:
        """Run a change that begins or renews the lease; return whether it did."""
        begins = time.monotonic()
        is_held = self._database.change(work)
        self._leased_until = begins + LEASE if is_held else self._leased_until
        return is_held

    def _give_back(self, connection: Connection) -> None:
        """Let another turn begin at once, as the webhook was changed or resumed. While its row is locked, no other
        takes it.

        SELECT id FROM webhooks WHERE id = … FOR UPDATE
        UPDATE webhooks SET leased_until = 0 WHERE id = …
        """
        connection.execute(select(_ROWS.c.id).where(self._is_own).with_for_update())
        if time.monotonic() < self._leased_until:
            connection.execute(update(_ROWS).where(self._is_own).values(leased_until=0))

    def _take(self, connection: Connection) -> bool:
        """UPDATE webhooks SET fence = fence + 1, leased_until = … WHERE id = … AND (it is due)"""
        values = {"fence": _ROWS.c.fence + 1, "leased_until": epoch() + LEASE}
        if not rows_changed(connection.execute(update(_ROWS).where(self._is_own, _IS_DUE).values(values))):
            return False
        self._fence = connection.scalars(select(_ROWS.c.fence).where(self._is_own)).one()
        return True

    def _read(self, session: Session) -> _Batch | None:
        """Return the next events; None if the webhook is no longer this conductor's."""
        begins = time.monotonic()
        own = select(Webhook, epoch()).where(self._is_own, Webhook.fence == self._fence, Webhook.parked == false())
        row = session.execute(own).first()
        if row is None:
            return None
        hook, now = row
        self._ahead = now - begins
        self._attempts = hook.attempts or []
        self._url, self._uuid, self._failures, cursor = hook.url, hook.uuid, hook.failures, cursor_of(hook)
        self._keys = keys_of(hook, now)
        if any(isinstance(each, UnreadableText) for each in (hook.url, *self._keys)):
            return _Batch(cursor, refusal=_UNREADABLE)
        try:
            mask = self._rights(hook.maker)
            if mask is not None:
                return self._next(session, hook, cursor, mask)
            refusal = DeliveryResult("Its maker may no longer read events.")
        except (MakerGone, DomainOfWebhookGone) as error:
            refusal = DeliveryResult(str(error), parks=True)
        except AuthenticationUnavailable as error:
            refusal = DeliveryResult(f"The rights of its maker are unknown: {error.details['reason']}.", parks=None)
        except EventsGone as error:
            reason = error.details["reason"]
            refusal = DeliveryResult(f"Events after its cursor cannot be read: {reason}.", parks=True)
        return _Batch(cursor, refusal=refusal)

    def _next(self, session: Session, hook: Webhook, cursor: Cursor, mask: Mask) -> _Batch:
        """Return the next events that the filter and the rights of the maker let through. Raises EventsGone,
        DomainOfWebhookGone."""
        stream = reading.stream(session, hook.number)
        stream.require(cursor)
        until = min(stream.last, hook.number + reading.WINDOW) if hook.types or hook.domain else stream.last
        filters = filter_of(session, hook)
        events = reading.read_after(session, hook.number, _BATCH, project=mask.project, **filters, until=until)
        end = until if len(events) < _BATCH else events[-1].number
        # If the oldest event was deleted in between, some of these may have been, too.
        now = reading.stream(session, end)
        now.require(cursor)
        source = self._sender.source
        envelopes = [
            Envelope(
                now.cursor(each.number, mark_of(each.uuid)),
                each.uuid,
                orjson.dumps(cloud_event(mask.apply(each), source)),
            )
            for each in events
        ]
        return _Batch(cursor, envelopes, now.cursor(end), end >= stream.last)

    def _send(self, batch: _Batch) -> tuple[Cursor, DeliveryResult | None, bool]:
        """Send events in order until one is refused, or the time is over.

        Returns the cursor up to which everything is delivered, the result of the last attempt, and whether the turn is
        over.
        """
        cursor, result = batch.start, batch.refusal
        ends = time.monotonic() + _BATCH_SECONDS
        for envelope in batch.envelopes:
            now = time.monotonic()
            if now >= min(ends, self._leased_until - SECONDS):
                return cursor, result, False
            result = self._sender.send(self._url, envelope, self._keys, now + SECONDS, now + self._ahead)
            self._seconds = time.monotonic() - now
            attempt = {"time": in_words(now + self._ahead), **result.document(self._seconds), "event": envelope.uuid}
            self._attempts = [attempt, *self._attempts[: MOST_ATTEMPTS - 1]]
            if result.error is None:
                cursor, self._failures = envelope.cursor, 0
            if result.error is not None or self._seconds > _SLOW:
                return cursor, result, True
        return batch.end or cursor, result, batch.is_last

    def _record(self, connection: Connection, cursor: Cursor, result: DeliveryResult | None, goes_on: bool) -> bool:
        """UPDATE webhooks SET number = …, … WHERE id = … AND fence = …; return whether the fence is still its own."""
        moved = {"number": cursor.number, "mark": cursor.mark}
        values: dict[str, Any] = {**moved, "leased_until": epoch() + LEASE if goes_on else 0}
        if result is not None:
            values |= {"last_status": result.status, "last_error": result.error, "last_seconds": self._seconds}
            values["attempts"] = self._attempts
        if result is not None and result.error is not None:
            values |= _failed(self._failures, result)
            log.info("an event was not delivered", webhook=self._uuid, reason=result.error)
        elif result is not None or not goes_on:
            values |= {"failures": 0, "failing_since": None, "retry_at": 0}
        own = update(_ROWS).where(self._is_own, _ROWS.c.fence == self._fence).values(values)
        return bool(rows_changed(connection.execute(own)))


def _failed(before: int, result: DeliveryResult) -> dict[str, Any]:
    """Return what a failure sets, ``before`` which there were so many. The pause doubles each time, with jitter, and is
    not shorter than the receiver wants it.

    What is not the receiver's fault (``parks`` is None) does not count for the day after which a webhook is parked.
    """
    pause = min(_LONGEST_BACK_OFF, 2.0 ** min(before, 10)) * random.uniform(0.5, 1)  # noqa: S311 - not a secret
    is_over = case((_ROWS.c.failing_since <= epoch() - PARK_AFTER, true()), else_=false())
    counts = bool(before) and result.parks is not None
    return {
        "failures": before + 1,
        "failing_since": _ROWS.c.failing_since if counts else epoch(),
        "retry_at": epoch() + max(pause, min(result.pause, _LONGEST_PAUSE)),
        "parked": true() if result.parks else is_over if counts else false(),
    }


def deliver_test(database: Database, sender: Sender, token: str) -> None:
    """Send the event of a test, unless another conductor does, and write the result."""
    if database.change(partial(testing.take, token=token)):
        answer = _test(database, sender, token)
        database.change(partial(testing.write_answer, token=token, answer=answer))


def _test(database: Database, sender: Sender, token: str) -> dict[str, object]:
    asked = time.monotonic()
    found = database.read(partial(testing.webhook_of, token=token))
    if found is None:
        return DeliveryResult("It was deleted.").document(0)
    hook, now = found
    keys = keys_of(hook, now)
    if any(isinstance(each, UnreadableText) for each in (hook.url, *keys)):
        return _UNREADABLE.document(0)
    event = cloud_event(Event(0, token, testing.TYPE, hook.uuid, None, now, {}), sender.source)
    del event["sequence"]
    begins = time.monotonic()
    envelope = Envelope(cursor_of(hook), token, orjson.dumps(event))
    result = sender.send(hook.url, envelope, keys, begins + SECONDS, now + begins - asked)
    return result.document(time.monotonic() - begins)
