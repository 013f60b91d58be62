"""/webhooks: receivers of events: whether they take them, how far behind they are, their last attempts."""

from datetime import UTC, datetime
from typing import Any

from flask import Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Domain, Webhook
from baremetal_sched.scheduling.api.webhooks import visible_to
from baremetal_sched.scheduling.events import reading
from baremetal_sched.scheduling.events.reading import Stream
from baremetal_sched.scheduling.webhooks.webhooks import cursor_of
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.rendering import page

#: The number of webhooks on the page: parked ones and failing ones first.
MOST_WEBHOOKS = 200


def show_webhooks(call: UiCall, session: Session) -> Response:
    """GET /webhooks"""
    call.refuse_query()
    order = (Webhook.parked.desc(), Webhook.failing_since.is_(None), Webhook.id)
    query = select(Webhook, Domain.level, Domain.name).outerjoin(Domain, Domain.uuid == Webhook.domain)
    found = session.execute(query.where(*visible_to(call)).order_by(*order).limit(MOST_WEBHOOKS + 1)).all()
    stream = reading.stream(session)
    return page(
        call,
        "webhooks.html",
        rows=[_row(hook, level and f"{level}:{name}", stream) for hook, level, name in found[:MOST_WEBHOOKS]],
        has_more=len(found) > MOST_WEBHOOKS,
        most=MOST_WEBHOOKS,
        now=utcnow(),
    )


def _row(hook: Webhook, domain: str | None, stream: Stream) -> dict[str, Any]:
    """Return what the row shows; ``domain``: LEVEL:NAME of that of the webhook, None if it is gone."""
    return {
        "uuid": hook.uuid,
        "name": hook.name or hook.uuid[:8],
        "url": str(hook.url),
        "project": hook.project or None,
        "types": hook.types,
        "nodes": hook.nodes,
        "domain": domain or hook.domain,
        "parked": hook.parked,
        "failing_since": hook.failing_since and datetime.fromtimestamp(hook.failing_since, UTC).replace(tzinfo=None),
        "error": hook.last_error,
        "behind": _behind(hook, stream),
        "attempts": [{**each, "time": _naive(str(each["time"]))} for each in hook.attempts or ()],
    }


def _naive(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=None)


def _behind(hook: Webhook, stream: Stream) -> int | None:
    """Return how many events come after the cursor, also of those that are not for this webhook: an exact number would
    take statements for each. None: some have been deleted, or are of another stream."""
    cursor = cursor_of(hook)
    is_left = stream.has(cursor) and cursor.number >= stream.oldest - 1
    return stream.last - cursor.number if is_left else None
