"""Time that passes for ends of claims, holds, waiting requests and webhooks: all that is planned comes nearer, as the
clock of the database cannot be set."""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from baremetal_sched.db.models import (
    BookedMachine,
    Booking,
    ClaimEnd,
    Hold,
    Inventory,
    Node,
    ResourceProvider,
    Server,
    WaitingRequest,
    Webhook,
)
from tests.service import Service

#: Seconds.
HOUR = 3600.0

#: The moments that are moved.
MOVED: Mapping[Any, tuple[Any, ...]] = {
    BookedMachine: (BookedMachine.starts_at, BookedMachine.ends_at, BookedMachine.made_at, BookedMachine.used_at),
    Booking: (Booking.starts_at, Booking.ends_at, Booking.made_at, Booking.due_at),
    ClaimEnd: (ClaimEnd.began_at, ClaimEnd.set_at, ClaimEnd.ends_at, ClaimEnd.due_at, ClaimEnd.late_since),
    Hold: (
        *(Hold.asserted_at, Hold.written_at, Hold.starts_at, Hold.ends_at, Hold.drain_deadline, Hold.begun_at),
        Hold.acknowledged_at,
    ),
    Node: (Node.closes_at,),
    ResourceProvider: (ResourceProvider.closes_at,),
    Inventory: (Inventory.closes_at,),
    WaitingRequest: (
        *(WaitingRequest.asked_at, WaitingRequest.deadline, WaitingRequest.decided_at, WaitingRequest.ends_at),
        WaitingRequest.kept_since,
    ),
    Server: (Server.asked_at, Server.wait_until),
    Webhook: (Webhook.leased_until, Webhook.retry_at, Webhook.failing_since, Webhook.previous_until),
}

#: By table, the columns with times that are never moved; "": those of every table.
NEVER: Mapping[str, Collection[str]] = {
    "": ("created_at", "updated_at"),
    # Durations, and other numbers.
    "booked_machines": ("turnaround",),
    "bookings": ("told",),
    "claim_ends": ("told",),
    "pending_claims": ("lasts",),
    "flavors": ("rxtx_factor",),
    "inventories": ("allocation_ratio",),
    "webhooks": ("last_seconds",),
    # Work that is under way: processes live while time passes, and so do people who have logged in.
    "conductors": ("clock_difference", "heartbeat_at"),
    "driver_calls": ("deadline", "requested_at"),
    "event_stream": ("held_until",),
    "node_work": ("not_before", "requested_at"),
    "page_sessions": ("expires_at", "used_at"),
    "schema_state": ("mirror_until",),
    "webhook_tests": ("begins_before",),
    # What has happened.
    "event_notes": ("at",),
    "events": ("at",),
    "node_history": ("duration_seconds",),
    "nodes": (
        *("inspection_finished_at", "inspection_started_at", "provision_updated_at", "waiting_since"),
        "waiting_since_of",
    ),
    "server_actions": ("started_at",),
    "servers": ("launched_at",),
}


def go_by(service: Service, seconds: float) -> None:
    """Let that many seconds pass."""

    def move(session: Session) -> None:
        for entity, columns in MOVED.items():
            session.execute(update(entity).values({column.key: column - seconds for column in columns}))

    service.database.write(move)
