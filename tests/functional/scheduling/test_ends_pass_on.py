# tier: first
"""The end of a machine passes with it to another consumer; whatever changes when it is free counts up its calendar."""

import uuid
from typing import Any

import pytest
from sqlalchemy import event, select, update

from baremetal_sched.db.models import ClaimEnd, Consumer
from baremetal_sched.errors.scheduling import HasEnded
from baremetal_sched.placement import allocations, ends
from baremetal_sched.placement.ends import End
from tests.database_clock import settable
from tests.functional.scheduling.test_ends import calendars, claim, row_of
from tests.service import Service

DAY = End(seconds=86_400.0)
TWO_DAYS = End(seconds=2 * 86_400.0, told_before=(90_000.0, 3600.0))
OTHER = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"


def to(service: Service, consumer: str, *providers: str, resource_class: str = "CUSTOM_GOLD") -> dict[str, Any]:
    """What a request gives to a consumer."""
    known = service.placement("GET", f"/allocations/{consumer}").json
    return {
        "allocations": {provider: {"resources": {resource_class: 1}} for provider in providers},
        "consumer_generation": known.get("consumer_generation"),
        "project_id": "p",
        "user_id": "u",
        "consumer_type": "INSTANCE",
    }


def columns(row: ClaimEnd | None) -> dict[str, Any] | None:
    """All of an end except whose it is."""
    if row is None:
        return None
    return {column.key: getattr(row, column.key) for column in ClaimEnd.__table__.c if column.key != "consumer_id"}


def set_end(service: Service, **values: Any) -> None:
    service.database.write(lambda session: session.execute(update(ClaimEnd).values(values)) and None)


@pytest.fixture
def nodes(service: Service) -> list[str]:
    return [service.add_node(f"n{number}", resource_class="gold") for number in range(3)]


def pass_on(service: Service, giver: str, taker: str, door: str, *machines: str, kept: tuple[str, ...] = ()) -> None:
    writes = {giver: to(service, giver, *kept), taker: to(service, taker, *machines)}
    if door == "reshaper":
        pool = service.placement("POST", "/resource_providers", {"name": f"pool of {taker}"}).json["uuid"]
        shapes = {pool: {"inventories": {}, "resource_provider_generation": 0}}
        service.placement("POST", "/reshaper", {"inventories": shapes, "allocations": writes}, status=204)
    else:
        service.placement("POST", "/allocations", writes, status=204)


@pytest.mark.parametrize("door", ["allocations", "reshaper"])
def test_the_end_passes_with_the_machine(service: Service, nodes: list[str], door: str) -> None:
    giver, taker = claim(service, nodes[:1], TWO_DAYS), str(uuid.uuid4())
    set_end(service, state=ends.LATE, told=90_000.0, tries=3, late_since=5.0, reason="It is being cleaned.")
    before = columns(row_of(service, giver))
    pass_on(service, giver, taker, door, nodes[0])
    assert (columns(row_of(service, giver)), columns(row_of(service, taker))) == (None, before)
    assert calendars(service) == [0, 0, 2]
    pass_on(service, taker, OTHER, door, nodes[0])
    assert columns(row_of(service, OTHER)) == before
    assert calendars(service) == [0, 0, 3]


@pytest.mark.parametrize(("own", "passed"), [(DAY, TWO_DAYS), (TWO_DAYS, DAY), (None, DAY), (DAY, None)])
def test_of_two_ends_the_earlier_one_counts(
    service: Service, nodes: list[str], own: End | None, passed: End | None
) -> None:
    giver, taker = claim(service, nodes[:1], passed), claim(service, nodes[1:2], own)
    known = [row for row in (row_of(service, giver), row_of(service, taker)) if row is not None]
    earlier = min(known, key=lambda row: row.ends_at)
    pass_on(service, giver, taker, "allocations", *nodes[:2])
    assert columns(row_of(service, taker)) == columns(earlier)
    service.database.write(lambda session: allocations.release(session, taker))
    assert row_of(service, taker) is row_of(service, giver) is None


def test_who_keeps_a_machine_keeps_its_end(service: Service, nodes: list[str]) -> None:
    giver = claim(service, nodes[:2], DAY)
    end = columns(row_of(service, giver))
    pass_on(service, giver, OTHER, "allocations", nodes[0], kept=(nodes[1],))
    assert columns(row_of(service, giver)) == columns(row_of(service, OTHER)) == end


def test_an_end_stays_with_a_consumer_that_gets_another_machine(service: Service, nodes: list[str]) -> None:
    """Of its own: no machine passes."""
    consumer, stranger = claim(service, nodes[:1], DAY), claim(service, nodes[1:2], None)
    end = columns(row_of(service, consumer))
    service.placement("PUT", f"/allocations/{consumer}", to(service, consumer, nodes[2]), status=204)
    writes = {consumer: to(service, consumer, nodes[0]), stranger: to(service, stranger, nodes[1])}
    service.placement("POST", "/allocations", writes, status=204)
    assert (columns(row_of(service, consumer)), row_of(service, stranger)) == (end, None)


def test_only_machines_take_their_end_along(service: Service, nodes: list[str]) -> None:
    """Not what any provider gives, and the parts of a machine do."""
    pool = service.placement("POST", "/resource_providers", {"name": "pool"}).json["uuid"]
    child = {"name": "child", "parent_provider_uuid": nodes[0]}
    part = service.placement("POST", "/resource_providers", child).json["uuid"]
    for provider, name in ((pool, "VCPU"), (part, "PGPU")):
        stock = {"resource_class": name, "total": 4}
        service.placement("POST", f"/resource_providers/{provider}/inventories", stock)
    giver = claim(service, nodes[:1], DAY)
    both = to(service, giver, nodes[0])
    both["allocations"][pool] = {"resources": {"VCPU": 1}}
    service.placement("PUT", f"/allocations/{giver}", both, status=204)
    writes = {giver: to(service, giver, nodes[0]), OTHER: to(service, OTHER, pool, resource_class="VCPU")}
    service.placement("POST", "/allocations", writes, status=204)
    assert row_of(service, giver) is not None
    assert row_of(service, OTHER) is None
    writes = {giver: to(service, giver), OTHER: to(service, OTHER, part, resource_class="PGPU")}
    service.placement("POST", "/allocations", writes, status=204)
    assert (row_of(service, giver), row_of(service, OTHER) is None) == (None, False)


def test_nothing_is_asked_of_ends_unless_a_machine_passes(service: Service, nodes: list[str]) -> None:
    with service.statements() as seen:
        writes = {OTHER: to(service, OTHER, nodes[0]), str(uuid.uuid4()): to(service, OTHER, nodes[1])}
        service.placement("POST", "/allocations", writes, status=204)
        service.placement("DELETE", f"/allocations/{OTHER}", status=204)
    # A release reads the state of the end along with what the consumer has.
    read = "(SELECT claim_ends.state FROM claim_ends WHERE claim_ends.consumer_id = allocations.consumer_id)"
    assert not [each for each in seen if "claim_ends" in " ".join(each.split()).replace(read, "")]


def test_a_new_end_counts_up_the_calendar(service: Service, nodes: list[str]) -> None:
    consumer = claim(service, nodes[:2], None)
    assert calendars(service) == [0, 0, 0]
    row_id = holder(service, consumer)
    for times, end in enumerate((DAY, TWO_DAYS, None), 1):
        service.database.write(lambda session, end=end: ends.change(session, {row_id: consumer}, end))
        assert calendars(service) == [0, times, times]
        assert (row_of(service, consumer) is None) == (end is None)


def holder(service: Service, consumer: str) -> int:
    query = select(Consumer.id).where(Consumer.uuid == consumer)
    return service.database.read(lambda session: session.execute(query).scalar_one())


def test_an_end_that_has_come_cannot_be_changed(service: Service, nodes: list[str]) -> None:
    consumer = claim(service, nodes[:1], DAY)
    row_id = holder(service, consumer)
    with settable(service.database) as clock:
        clock.step(86_401)
        for end in (TWO_DAYS, None):
            with pytest.raises(HasEnded):
                service.database.write(lambda session, end=end: ends.change(session, {row_id: consumer}, end))
    assert calendars(service) == [0, 0, 1]


def test_a_lost_swap_is_tried_again(service: Service, nodes: list[str]) -> None:
    consumer = claim(service, nodes[:1], DAY)
    row_id, swaps = holder(service, consumer), []

    def lose_first(
        connection: Any, cursor: Any, text: str, parameters: Any, context: Any, many: bool
    ) -> tuple[str, Any]:
        is_swap = text.startswith("UPDATE inventories SET calendar")
        swaps.extend([text] * is_swap)
        return (f"{text} AND 1 = 0" if is_swap and len(swaps) == 1 else text), parameters

    with settable(service.database):  # statements are sent as they are
        event.listen(service.database.engine, "before_cursor_execute", lose_first, retval=True)
        try:
            service.database.write(lambda session: ends.change(session, {row_id: consumer}, None))
        finally:
            event.remove(service.database.engine, "before_cursor_execute", lose_first)
    assert (len(swaps), row_of(service, consumer), calendars(service)) == (2, None, [0, 0, 2])


def test_a_planned_hold_counts_up_the_calendar(service: Service, nodes: list[str]) -> None:
    holds = f"/scheduling/v1/nodes/{nodes[0]}/holds"
    planned = {"type": "window", "starts_at": "2050-01-01T00:00:00Z"}
    hold = service.http.post_json(holds, planned).json
    assert calendars(service) == [0, 0, 1]
    service.http.post_json(holds, {**planned, "reason": "later", "starts_at": "2051-01-01T00:00:00Z"})
    assert calendars(service) == [0, 0, 1], "it is free as before until the first one"
    service.http.delete(f"{holds}/{hold['uuid']}")
    assert calendars(service) == [0, 0, 2]
    service.baremetal("PUT", f"/nodes/{nodes[1]}/maintenance")
    assert calendars(service) == [0, 0, 2]
