"""Operations of conductors that no request does."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from sqlalchemy import select

from baremetal_sched.baremetal.holds import due
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import ClaimEnd
from baremetal_sched.errors import SchedulerError
from baremetal_sched.scheduling import ends as ending
from baremetal_sched.scheduling import sweep
from baremetal_sched.scheduling.bookings import keeping
from tests.races.operations.operation import Operation
from tests.service import Service


class Sweep(Operation):
    """The sweep of the claims that wait, by one that has all nodes, and whose machines are not counted."""

    def act(self, service: Service, facts: Mapping[str, Any]) -> int:
        """Sweep; return the status of a request that would."""
        try:
            sweep.sweep(service.database, service.app.settings, "nobody", lambda *_: True)
        except SchedulerError:
            return 503
        return 204


class SweepHolds(Operation):
    """The sweep of holds that are due, by a conductor that has all nodes."""

    def act(self, service: Service, facts: Mapping[str, Any]) -> int:
        """Begin and end holds; return the status of a request that would."""
        settings = service.app.settings
        try:
            for node in service.database.read(due.due_nodes):
                service.database.write(partial(due.settle_due, node_id=node.id, settings=settings))
        except SchedulerError:
            return 503
        return 204


class EndClaims(Operation):
    """What a conductor that has all nodes does about the ends of claims that are due."""

    def act(self, service: Service, facts: Mapping[str, Any]) -> int:
        """Give back what has ended; return the status of a request that would."""
        settle, due = partial(ending.settle, settings=service.app.settings, conductor="c1"), ClaimEnd.due_at <= epoch()
        query = select(ClaimEnd.consumer_id).where(due).order_by(ClaimEnd.consumer_id)
        try:
            for consumer in service.database.read(lambda session: session.scalars(query).all()):
                service.database.write(partial(settle, consumer=consumer))
        except SchedulerError:
            return 503
        return 204


class SweepBookings(Operation):
    """The sweep of bookings: what is over is put away, and what cannot be had is replaced."""

    def act(self, service: Service, facts: Mapping[str, Any]) -> int:
        """Sweep; return the status of a request that would."""
        try:
            keeping.sweep(service.database, service.app.settings)
        except SchedulerError:
            return 503
        return 204


OPERATIONS = (
    SweepBookings("sweep bookings", api="conductor", method="PUT", path="", is_hot=True),
    EndClaims("end claims", api="conductor", method="DELETE", path="", is_hot=True),
    Sweep("sweep", api="conductor", method="PUT", path="", is_hot=True),
    SweepHolds("sweep holds", api="conductor", method="PUT", path="", is_hot=True),
)
