"""Claims since the move was finished: the originals do not know them, which matters to an operator who goes back."""

from collections.abc import Iterator
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.db import mirror
from baremetal_sched.db.models import Allocation, Consumer, ResourceProvider
from baremetal_sched.errors import ConflictError


def claims_since(session: Session) -> Iterator[str]:
    """Yield a line for each consumer that was created since, and each provider that it holds something of.

    Raises ConflictError if no move was finished.
    """
    state = mirror.read(session.connection())
    if state is None or state.until is None:
        raise ConflictError(message="No move was finished here: there are no claims that the originals do not know.")
    since = datetime.fromtimestamp(state.until, UTC).replace(microsecond=0, tzinfo=None)
    rows = session.execute(
        select(Consumer.uuid, Consumer.project_id, ResourceProvider.name, Consumer.created_at)
        .distinct()
        .join(Allocation, Allocation.consumer_id == Consumer.id)
        .join(ResourceProvider, ResourceProvider.id == Allocation.provider_id)
        .where(Consumer.created_at >= since)
        .order_by(Consumer.created_at, Consumer.uuid)
    )
    for uuid, project, provider, created in rows:
        yield f"{created.isoformat()} consumer {uuid} of project {project}: {provider}"
