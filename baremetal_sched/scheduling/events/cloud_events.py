"""Events in the JSON format of CloudEvents 1.0."""

from datetime import UTC, datetime
from typing import Any

from baremetal_sched.scheduling.events.reading import Event
from baremetal_sched.settings import Settings


def source_of(settings: Settings) -> str:
    """Return the source of all events: the URL of the scheduling API by ``[api] public_endpoint``, or its path."""
    return f"{(settings.api.public_endpoint or '').rstrip('/')}/scheduling/v1"


def cloud_event(event: Event, source: str) -> dict[str, Any]:
    """Return the event, masked already, as CloudEvents 1.0 has it in JSON.

    ``id`` is the event's UUID, ``source`` that of ``source_of``, ``subject`` the UUID of a node, a claim or an
    allocation, ``sequence`` the number as text (its order is that of the numbers: 20 digits).
    """
    at = datetime.fromtimestamp(event.at, UTC).isoformat(timespec="microseconds")
    return {
        "specversion": "1.0",
        "id": event.uuid,
        "source": source,
        "type": event.type,
        "subject": event.subject,
        "time": at.replace("+00:00", "Z"),
        "sequence": f"{event.number:020}",
        "datacontenttype": "application/json",
        "data": event.data,
    }
