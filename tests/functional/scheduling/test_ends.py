# tier: first
"""Ends of claims: how they begin with a claim, in both of its forms."""

import uuid

import pytest
from sqlalchemy import select

from baremetal_sched.db.models import ClaimEnd, Consumer, Inventory
from baremetal_sched.placement import allocations, ends
from baremetal_sched.placement.consumers import ConsumerWrite
from baremetal_sched.placement.ends import End
from tests.service import Service

PROJECT = "p"


def claim(service: Service, nodes: list[str], end: End | None) -> str:
    consumer = str(uuid.uuid4())
    amounts = {node: {"CUSTOM_GOLD": 1} for node in nodes}
    request = ConsumerWrite(consumer, amounts, PROJECT, "u", None, kind="claim", end=end)
    service.database.write(lambda session: allocations.write(session, [request], "Unable to allocate:"))
    return consumer


def row_of(service: Service, consumer: str) -> ClaimEnd | None:
    query = select(ClaimEnd).join(Consumer, Consumer.id == ClaimEnd.consumer_id).where(Consumer.uuid == consumer)
    return service.database.read(lambda session: session.scalars(query).first())


def calendars(service: Service) -> list[int]:
    return sorted(service.database.read(lambda session: session.scalars(select(Inventory.calendar)).all()))


@pytest.mark.parametrize("count", [1, 2])
def test_an_end_begins_with_the_claim_and_goes_with_it(service: Service, count: int) -> None:
    nodes: list[str] = [service.add_node(f"n{number}", resource_class="gold") for number in range(3)]
    consumer = claim(service, nodes[:count], End(seconds=7200.0, told_before=(86400.0, 3600.0)))
    row = row_of(service, consumer)
    assert row is not None
    assert (row.state, row.ends_at - row.began_at, row.due_at - row.began_at) == (ends.SET, 7200.0, 3600.0)
    assert calendars(service) == [0] * (3 - count) + [1] * count
    service.database.write(lambda session: allocations.release(session, consumer))
    assert row_of(service, consumer) is None
    assert row_of(service, claim(service, nodes[:count], None)) is None
