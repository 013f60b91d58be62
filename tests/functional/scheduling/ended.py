"""Claims that end, as tests make them: their ends are given directly."""

import uuid as uuid_module
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import select

from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db.models import ClaimEnd, Consumer
from baremetal_sched.drivers.fake.provisioning import FakeDeploy
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Effect, Machine
from baremetal_sched.placement import allocations, consumers, ends
from baremetal_sched.placement.consumers import ConsumerWrite
from baremetal_sched.placement.ends import End
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


def end_of(service: Service, consumer: str) -> ClaimEnd | None:
    """The end of a consumer."""
    query = select(ClaimEnd).join(Consumer, Consumer.id == ClaimEnd.consumer_id).where(Consumer.uuid == consumer)
    return service.database.read(lambda session: session.scalars(query).first())


def held(service: Service, consumer: str) -> Mapping[str, Any]:
    """What a consumer has."""
    return service.database.read(
        lambda session: consumers.amounts_held_by(
            session, [consumer], service.database.read(lambda other: _kind_of(other, consumer))
        )
    ).get(consumer, {})


def _kind_of(session: Any, consumer: str) -> str:
    kind: str | None = session.scalars(select(Consumer.request_kind).where(Consumer.uuid == consumer)).first()
    return kind or consumers.PLACEMENT


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
