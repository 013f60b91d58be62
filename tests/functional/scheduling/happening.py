"""Events for tests of those who read them, entered as rows."""

import uuid
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from baremetal_sched.db.models import EventProject, EventStream, NumberedEvent, table_of
from baremetal_sched.scheduling.events import reading
from tests.service import Service

#: Types whose events have the members that ``happen`` gives them.
CLAIMED, RELEASED = "scheduling.machine.claimed", "scheduling.machine.released"

EVENTS, PROJECTS, STREAM = table_of(NumberedEvent), table_of(EventProject), table_of(EventStream)


def happen(service: Service, *subjects: str, projects: tuple[str, ...] = (), **values: Any) -> list[str]:
    """Events with these subjects, of these projects; returns their UUIDs."""

    def write(connection: Connection) -> list[str]:
        last = connection.scalar(select(STREAM.c.last)) or 0
        rows = [
            {
                "number": last + place, "uuid": str(uuid.uuid4()), "type": CLAIMED, "data": '{"consumer": null}',
                "at": 1_800_000_000.0, "subject": subject, "node": subject,
                "project_id": projects[0] if projects else None, **values,
            }
            for place, subject in enumerate(subjects, 1)
        ]  # fmt: skip
        connection.execute(insert(EVENTS), rows)
        owned = [{"number": row["number"], "project_id": project} for row in rows for project in projects]
        if owned:
            connection.execute(insert(PROJECTS), owned)
        connection.execute(update(STREAM).values(last=last + len(rows)))
        return [row["uuid"] for row in rows]

    return service.database.change(write)


def forget(service: Service, count: int) -> None:
    """Delete the oldest events, as they are after ``[events] keep``."""

    def oldest(connection: Connection) -> None:
        numbers = connection.scalars(select(EVENTS.c.number).order_by(EVENTS.c.number).limit(count)).all()
        connection.execute(delete(EVENTS).where(EVENTS.c.number.in_(numbers)))

    service.database.change(oldest)


def lose(service: Service, count: int) -> None:
    """Lose the newest events, as in a failover to a server that did not have them: their numbers are given again."""

    def newest(connection: Connection) -> None:
        left = (connection.scalar(select(STREAM.c.last)) or 0) - count
        for column in (PROJECTS.c.number, EVENTS.c.number):
            connection.execute(delete(column.table).where(column > left))
        connection.execute(update(STREAM).values(last=left))

    service.database.change(newest)


def last(service: Service) -> str:
    """The cursor after all events."""
    return service.database.select(lambda connection: str(reading.stream(connection).now))


def begin_anew(service: Service) -> None:
    """Begin another stream, as after a backup was restored."""
    service.database.change(lambda connection: connection.execute(update(STREAM).values(uuid=str(uuid.uuid4()))))
