"""Operations of conductors that no request does."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.holds import due
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Allocation, ClaimEnd, Consumer
from baremetal_sched.errors import SchedulerError
from baremetal_sched.errors.scheduling import HasEnded
from baremetal_sched.placement import allocations, ends
from baremetal_sched.placement.consumers import ConsumerWrite
from baremetal_sched.placement.ends import End
from baremetal_sched.placement.waiting_requests import CLAIM
from baremetal_sched.scheduling import ends as ending
from baremetal_sched.scheduling import sweep
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


class SetEnd(Operation):
    """A new end of the claim that has n1; the body: in how many seconds, None: none any more."""

    def act(self, service: Service, facts: Mapping[str, Any]) -> int:
        """Set it; return the status of a request that would."""
        query = select(Consumer.id, Consumer.uuid).join(Allocation).where(Consumer.uuid == facts["consumer"])
        end = None if self.body is None else End(seconds=self.body, told_before=(3600.0,))

        def change(session: Session) -> int:
            found = session.execute(query).first()
            if found is None:
                return 404
            ends.change(session, {found.id: found.uuid}, end)
            return 200

        try:
            return service.database.write(change)
        except HasEnded:
            return 409
        except SchedulerError:
            return 503


class ClaimWithEnd(Operation):
    """A claim of n1 with an end."""

    def act(self, service: Service, facts: Mapping[str, Any]) -> int:
        """Claim it; return the status of a request that would."""
        amounts, end = {facts["node"]: {"CUSTOM_GOLD": 1}}, End(seconds=7200.0)
        request = ConsumerWrite(facts["new_consumer"], amounts, "p", "u", None, kind=CLAIM, end=end)
        try:
            service.database.write(lambda session: allocations.write(session, [request], "Unable to allocate:"))
        except SchedulerError:
            return 409
        return 204


OPERATIONS = (
    EndClaims("end claims", api="conductor", method="DELETE", path="", is_hot=True),
    SetEnd("prolong", api="conductor", method="PATCH", path="", body=86_400.0, is_hot=True),
    SetEnd("take the end away", api="conductor", method="PATCH", path="", is_hot=True),
    ClaimWithEnd("claim for a while", api="conductor", method="POST", path="", is_hot=True),
    Sweep("sweep", api="conductor", method="PUT", path="", is_hot=True),
    SweepHolds("sweep holds", api="conductor", method="PUT", path="", is_hot=True),
)
