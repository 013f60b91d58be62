"""Time that passes for holds and webhooks: all that is planned comes nearer, as the clock of the database cannot be
set."""

from typing import Any

from sqlalchemy import update

from baremetal_sched.db.models import Hold, Inventory, Node, ResourceProvider, Webhook
from tests.service import Service

#: Seconds.
HOUR = 3600.0

_COLUMNS: dict[Any, tuple[Any, ...]] = {
    Hold: (Hold.asserted_at, Hold.written_at, Hold.starts_at, Hold.ends_at, Hold.drain_deadline, Hold.begun_at),
    Node: (Node.closes_at,),
    ResourceProvider: (ResourceProvider.closes_at,),
    Inventory: (Inventory.closes_at,),
    Webhook: (Webhook.leased_until, Webhook.retry_at, Webhook.failing_since, Webhook.previous_until),
}


def go_by(service: Service, seconds: float) -> None:
    """Let that many seconds pass."""
    for entity, columns in _COLUMNS.items():
        statement = update(entity).values({column.key: column - seconds for column in columns})
        service.database.write(lambda session, statement=statement: session.execute(statement) and None)
