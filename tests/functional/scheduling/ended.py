"""Claims that end, as tests make them: their ends are given directly."""

import uuid as uuid_module
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import select, update

from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db.models import ClaimEnd, Consumer, Node, NodeHistory
from baremetal_sched.drivers.fake.provisioning import FakeDeploy
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Effect, Machine
from baremetal_sched.placement import allocations, ends
from baremetal_sched.placement.consumers import ConsumerWrite
from baremetal_sched.placement.ends import End
from baremetal_sched.placement.events import ENDED, ENDS_SOON, LATE
from tests.functional.scheduling.test_events import Reader
from tests.service import Service

#: Seconds for which claims have their machines. (Conductors of tests are alive for an hour after a heartbeat.)
SPAN = 600.0


def claim(service: Service, *nodes: str, end: End | None = None, resource_class: str = "CUSTOM_GOLD") -> str:
    """A claim of nodes, which ends ten minutes after it is made; returns the UUID of its consumer."""
    consumer = str(uuid_module.uuid4())
    amounts = {node: {resource_class: 1} for node in nodes}
    asked = ConsumerWrite(consumer, amounts, "p", "u", None, kind="claim", end=end or End(seconds=SPAN))
    service.database.write(lambda session: allocations.write(session, [asked], "Unable to allocate:"))
    return consumer


def give_end(service: Service, consumer: str, end: End | None = None) -> None:
    """Let what a consumer has end, in ten minutes."""

    def give(session: Any) -> None:
        row = session.scalars(select(Consumer.id).where(Consumer.uuid == consumer)).one()
        ends.change(session, {row: consumer}, end or End(seconds=SPAN))

    service.database.write(give)


def under(consumer: str, booking: int) -> Any:
    """The statement that puts the end of a consumer under a booking (an id)."""
    own = select(Consumer.id).where(Consumer.uuid == consumer).scalar_subquery()
    return update(ClaimEnd).where(ClaimEnd.consumer_id == own).values(booking_id=booking)


def end_of(service: Service, consumer: str) -> ClaimEnd | None:
    """The end of a consumer."""
    query = select(ClaimEnd).join(Consumer, Consumer.id == ClaimEnd.consumer_id).where(Consumer.uuid == consumer)
    return service.database.read(lambda session: session.scalars(query).first())


def held(service: Service, consumer: str) -> list[str]:
    """The machines that a consumer has."""
    allocations: dict[str, Any] = service.placement("GET", f"/allocations/{consumer}").json["allocations"]
    return [*allocations]


def history(service: Service, node: str) -> list[str]:
    """The history of a node, the first entry first: those that name an end."""
    query = select(NodeHistory.event).join(Node).where(Node.uuid == node).order_by(NodeHistory.id)
    return [each for each in service.database.read(lambda session: session.scalars(query).all()) if "ended at" in each]


def state_of(service: Service, consumer: str) -> str | None:
    """The state of the end of a consumer; None: there is none any more."""
    end = end_of(service, consumer)
    return None if end is None else end.state


class Told:
    """Follows the events of ends."""

    def __init__(self, service: Service) -> None:
        self.reader = Reader(service)

    def next(self) -> list[dict[str, Any]]:
        """The events since the last call."""
        return [each for each in self.reader.next() if each["type"] in _TYPES]

    def types(self) -> list[str]:
        """Their types."""
        return [each["type"].removeprefix("scheduling.claim.") for each in self.next()]


_TYPES = {each.name for each in (ENDS_SOON, LATE, ENDED)}


def sweep(service: Service, conductor: str = "c1") -> None:
    """The periodic task of a conductor about ends."""
    service.conductors[conductor].run_periodic_task(next(task for task in PERIODIC_TASKS if task.name == "ends"))


@contextmanager
def stubborn(message: str = "The machine does not answer.") -> Iterator[None]:
    """No machine can be undeployed."""

    def fail(self: FakeDeploy, machine: Machine) -> Effect:
        raise InvalidValue(message=message)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeDeploy, "tear_down", fail)
        yield
