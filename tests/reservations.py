"""UUIDs of requests that wait: they are reserved, except while a release may serve that knows no reservations."""

from sqlalchemy import delete

from baremetal_sched.db.models import Consumer
from tests.service import Service


def free_uuid(service: Service, uuid: str) -> None:
    """Let the UUID of a request that waits be taken, as if the release before had let it wait."""
    service.database.write(lambda session: session.execute(delete(Consumer).where(Consumer.uuid == uuid)) and None)
