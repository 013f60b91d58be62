"""Numbers for events, as a conductor gives them."""

from sqlalchemy import update

from baremetal_sched.scheduling.events import numbering
from baremetal_sched.scheduling.events.numbering import Numbering
from tests.service import Service


def number_all(service: Service) -> None:
    """Give all events numbers, also if another process had the stream."""
    free = update(numbering.STREAM).values(held_until=0)
    service.database.change(lambda connection: connection.execute(free))
    giver = Numbering(service.database)
    while giver.step():
        pass
    giver.stop()
