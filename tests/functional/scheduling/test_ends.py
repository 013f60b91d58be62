# tier: first
"""Ends of claims: how they begin with a claim, in both of its forms, and wait with it."""

import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from baremetal_sched.db.clock import exactly, seconds_of
from baremetal_sched.db.models import ClaimEnd, Consumer, Inventory, WaitingRequest
from baremetal_sched.placement import allocations, ends
from baremetal_sched.placement.consumers import ConsumerWrite
from baremetal_sched.placement.ends import End
from tests.database_clock import settable
from tests.functional.scheduling.test_claims import ANNA, CLAIMS, OTHER, QUERY, UUID, message, post, show
from tests.restored import Rows
from tests.service import Service
from tests.unchanged import unchanged

PROJECT = "p"
NO_END = {"until": None, "for": None, "end": None, "late_since": None, "late_reason": None}


def moment(**ahead: float) -> str:
    """A time ahead of now, as clients write it."""
    return (datetime.now(UTC) + timedelta(**ahead)).isoformat()


def end_of(shown: dict[str, Any]) -> dict[str, Any]:
    return {name: shown[name] for name in NO_END}


def seconds(text: str | None) -> float:
    return seconds_of("until", text) or 0.0


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


# -- claims of the scheduling API --------------------------------------------------------------------------------------


def test_a_claim_until_and_a_claim_for(served: Service, row: Rows) -> None:
    until = moment(days=1)
    for count in (1, 2):
        for given in ({"until": until}, {"for": 7200.5}, {"until": None}, {}):
            with row(count, given):
                for number in range(count):
                    served.add_node(f"n{number}")
                shown = post(served, count=count, **given, consumer={"uuid": UUID}, status=201).json
                assert show(served)["end"] == shown["end"] == ("set" if any(given.values()) else None)
                if "for" in given:
                    assert seconds(shown["asked_at"]) - 1 <= seconds(shown["until"]) - 7200.5 <= time.time() + 1
                else:
                    assert shown["until"] == (given.get("until") and exactly(seconds(until)))
                assert {**end_of(shown), "until": None, "end": None} == NO_END
                assert end_of(served.http.get(CLAIMS).json["claims"][0]) == end_of(shown)
                assert calendars(served) == [int(any(given.values()))] * count
                rows = served.database.read(lambda session: session.scalars(select(ClaimEnd)).all())
                assert len({each.ends_at for each in rows}) == any(given.values())
                served.placement("DELETE", f"/allocations/{shown['machines'][0]['consumer']}")
                if count == 1:
                    assert (show(served)["state"], end_of(show(served))) == ("released", NO_END)


def test_ends_that_cannot_be(served: Service, row: Rows) -> None:
    served.add_node("n1")
    served.add_node("n2", resource_class="silver")
    post(served, {"resource_class": "silver"}, status=201)
    past, far = moment(seconds=-1), "9999-01-01T00:00:00Z"
    for given, words in [
        ({"query": "resources=CUSTOM_SILVER:1", "until": moment(seconds=55), "wait": 60}, "shortest_claim"),
        ({"until": past}, "must be later than now"),
        ({"until": "tomorrow"}, "until must be a time with a zone"),
        ({"until": "2030-01-01T00:00:00"}, "until must be a time with a zone"),
        ({"until": far}, "until must be a time with a zone"),
        ({"until": ""}, "until must be a time with a zone"),
        ({"until": 5}, "until"),
        *(({"for": value}, "for") for value in (0, -1, None, "60", True, 10**9 * 4, 10**400, [])),
        ({"until": moment(days=1), "for": 60}, "Give until or for, not both."),
        ({"end": "set"}, "end"),
    ]:
        with row(given), unchanged(served):
            assert words in message(post(served, **given, status=400))


def test_the_end_belongs_to_the_body(served: Service) -> None:
    served.add_node("n1")
    body = {**QUERY, "consumer": {"uuid": UUID}, "for": 3600}
    first = post(served, body, status=201).json
    assert end_of(post(served, body, status=201).json) == end_of(first)
    assert "another body" in message(post(served, {**body, "for": 3601}, status=409))


@pytest.mark.parametrize("count", [1, 2])
def test_an_end_waits_with_its_claim(served: Service, count: int) -> None:
    """Requests that differ only in their end are one entry of the queue; ``for`` counts from the machine on."""
    for number in range(count):
        served.add_node(f"n{number}")
    first = post(served, count=count, status=201).json
    waiting = post(served, count=count, consumer={"uuid": UUID}, wait=3600, **{"for": 600.125}, status=202).json
    assert end_of(waiting) == {**NO_END, "for": 600.125, "end": "set"}
    until = moment(seconds=1800)
    other = post(served, count=count, consumer={"uuid": OTHER}, wait=3600, until=until, status=202).json
    assert end_of(other) == {**NO_END, "until": exactly(seconds(until)), "end": "set"}
    assert seconds(other["deadline"]) == pytest.approx(seconds(until) - 60)
    keys = served.database.read(lambda session: session.scalars(select(WaitingRequest.request_key)).all())
    assert len(set(keys)) == 1
    with settable(served.database) as clock:
        clock.step(1000)
        served.http.delete(f"{CLAIMS}/{first['uuid']}")
        given = show(served)
        assert (given["state"], given["for"], given["end"]) == ("claimed", None, "set")
        assert seconds(waiting["asked_at"]) <= seconds(given["until"]) - 1600 <= time.time() + 1
        clock.step(800)
        assert show(served, OTHER)["state"] == "timed_out"
        assert end_of(show(served, OTHER)) == NO_END


def test_the_limits_of_ends(database_url: str) -> None:
    limits = {"default_claim": 600, "longest_claim": 3600, "longest_in_all": 7200}
    with Service(database_url, api={"auth_strategy": "noauth2"}, scheduling=limits) as service:
        service.add_conductor("c1")
        service.add_node("n1", owner="a")
        for given, status in [({"until": moment(seconds=4000)}, 400), ({"for": 3601}, 400), ({"until": None}, 403)]:
            said = message(post(service, **given, headers=ANNA, status=status))
            assert ("longest_claim" if status == 400 else "set_end_all") in said
        shown = post(service, headers=ANNA, status=201).json
        assert seconds(shown["asked_at"]) - 1 <= seconds(shown["until"]) - 600 <= time.time() + 1


def test_the_default_is_within_the_limits(database_url: str) -> None:
    """A request that names no end is not refused for one that it did not name."""
    limits = {"default_claim": 7200, "longest_claim": 3600, "longest_in_all": 600}
    with Service(database_url, api={"auth_strategy": "noauth2"}, scheduling=limits) as service:
        service.add_conductor("c1")
        service.add_node("n1", owner="a")
        given = post(service, headers=ANNA, status=201).json
        assert seconds(given["until"]) - seconds(given["asked_at"]) == pytest.approx(600, abs=1)
