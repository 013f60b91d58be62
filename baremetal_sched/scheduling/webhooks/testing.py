"""Deliveries that are requested to try a receiver: beside the queue, whatever the state of the webhook.

The request writes a row. A conductor takes it, sends an event of its own type, which has no number and is in no list,
and writes the result, for which the request waits. A project has one row: one test at a time.
"""

import math
import uuid

from sqlalchemy import Connection, delete, false, select, true, update
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Webhook, WebhookTest, table_of
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.types import Query, Reader
from baremetal_sched.errors.webhooks import TooManyWebhookTests, WebhookTestUnderWay
from baremetal_sched.scheduling.webhooks.webhooks import SECONDS
from baremetal_sched.settings import Settings

#: The type of the events.
TYPE = "scheduling.webhook.test"
#: Seconds after a conductor has begun until its result is there, or there will be none.
LONGEST = SECONDS + 5.0
#: How many tests of a project may begin within a period, in seconds.
_MOST, _PERIOD = 6, 60.0
#: Seconds after which the row of a project may be forgotten.
_KEPT = 600.0

_TESTS = table_of(WebhookTest)
#: The tests that no conductor has begun.
WAITING: Query = select(_TESTS.c.token).where(_TESTS.c.is_taken == false(), _TESTS.c.begins_before > epoch())


def patience(settings: Settings) -> float:
    """Return the seconds within which a conductor begins, if one sends to webhooks at all."""
    interval: float = settings.events.webhooks_interval
    return 5.0 + 2 * interval


def begin(session: Session, hook: Webhook, seconds: float) -> str:
    """Ask for a delivery, which a conductor must begin within ``seconds``; return its token.

    Raises WebhookTestUnderWay, TooManyWebhookTests.
    """
    now = session.scalars(select(epoch())).one()
    test = session.scalars(select(WebhookTest).where(WebhookTest.project == hook.project).with_for_update()).first()
    if test is None:
        test = WebhookTest(project=hook.project, asked=[], answer={})
        session.add(test)
    ends = test.begins_before + (LONGEST if test.is_taken else 0) if test.answer is None else 0
    # What lies further ahead is of a time before the clock was set back.
    if now < ends <= now + seconds + LONGEST:
        raise WebhookTestUnderWay(retry_after=math.ceil(ends - now))
    recent = [each for each in test.asked if now - _PERIOD < each <= now]
    if len(recent) >= _MOST:
        raise TooManyWebhookTests(limit=_MOST, retry_after=math.ceil(recent[0] + _PERIOD - now))
    test.token, test.webhook_id, test.asked = str(uuid.uuid4()), hook.id, [*recent, now]
    test.begins_before, test.is_taken, test.answer = now + seconds, False, None
    return test.token


def answer_of(reader: Reader, token: str) -> dict[str, object] | None:
    """Return the result, as ``DeliveryResult.document`` has it; None as long as there is none."""
    found: dict[str, object] | None = reader.scalar(select(_TESTS.c.answer).where(_TESTS.c.token == token))
    return found


def withdraw(connection: Connection, token: str) -> bool:
    """Return whether no conductor has begun the test; then none will."""
    waits = update(_TESTS).where(_TESTS.c.token == token, _TESTS.c.is_taken == false())
    return bool(rows_changed(connection.execute(waits.values(begins_before=0))))


def take(connection: Connection, token: str) -> bool:
    """Return whether the test waited for a conductor; then it is this one's.

    UPDATE webhook_tests SET is_taken = true WHERE token = … AND (it waits)
    """
    waits = (_TESTS.c.token == token, _TESTS.c.is_taken == false(), _TESTS.c.begins_before > epoch())
    return bool(rows_changed(connection.execute(update(_TESTS).where(*waits).values(is_taken=true()))))


def webhook_of(session: Session, token: str) -> tuple[Webhook, float] | None:
    """Return the webhook that is tested, and the time; None if it was deleted."""
    of_test = select(_TESTS.c.webhook_id).where(_TESTS.c.token == token).scalar_subquery()
    found = session.execute(select(Webhook, epoch()).where(Webhook.id == of_test)).first()
    return None if found is None else (found[0], found[1])


def write_answer(connection: Connection, token: str, answer: dict[str, object]) -> None:
    """Write the result of a test, and forget tests of long ago."""
    connection.execute(update(_TESTS).where(_TESTS.c.token == token).values(answer=answer))
    connection.execute(delete(_TESTS).where(_TESTS.c.begins_before < epoch() - _KEPT))
