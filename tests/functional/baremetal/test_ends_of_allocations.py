# tier: first
"""Ends of bare metal allocations: ``Prefer: allocation-until``."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select
from werkzeug.test import Client

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db import schema_state
from baremetal_sched.db.clock import in_words
from baremetal_sched.db.models import WaitingRequest
from tests.database_clock import settable
from tests.functional.baremetal.test_waiting_allocations import SWEEP, A, show
from tests.functional.scheduling.test_ends import row_of
from tests.service import Service, fault
from tests.unchanged import unchanged

HOUR = 3600
APPLIED = "Preference-Applied"
GOLD = {"resource_class": "gold"}


@pytest.fixture(autouse=True)
def is_consistent(service: Service) -> Iterator[None]:
    yield
    assert service.database.snapshot(audit) == []


def at(seconds: float) -> tuple[str, float]:
    """Return a moment so many seconds from now on, in words and in seconds since 1970."""
    moment = int(time.time() + seconds)
    return in_words(moment), float(moment)


def ask(service: Service, prefer: str, status: int = 201, **body: Any) -> Any:
    """POST an allocation of class gold with these preferences; return the answer."""
    return service.baremetal("POST", A, {**GOLD, **body}, headers={"Prefer": prefer}, status=status)


def ends_at(service: Service, uuid: str) -> float | None:
    row = row_of(service, uuid)
    return None if row is None else row.ends_at


def waiting(service: Service) -> list[WaitingRequest]:
    return service.database.read(lambda session: [*session.scalars(select(WaitingRequest).order_by(WaitingRequest.id))])


def test_the_preference_gives_an_allocation_its_end_and_nothing_else(service: Service) -> None:
    for name in ("n1", "n2"):
        service.add_node(name)
    text, moment = at(HOUR)
    plain = service.baremetal("POST", A, GOLD)
    answer = ask(service, f'allocation-until="{text}"')
    assert answer.headers[APPLIED] == f'allocation-until="{text}"'
    assert APPLIED not in plain.headers
    assert answer.json.keys() == plain.json.keys()
    uuid = answer.json["uuid"]
    assert show(service, uuid).keys() == show(service, plain.json["uuid"]).keys()
    assert (ends_at(service, uuid), row_of(service, plain.json["uuid"])) == (moment, None)


#: Headers, in which T stands for a time, with what is applied and whether there is an end.
HEADERS = [
    ('return=representation, allocation-until="T"', 'return=representation, allocation-until="T"', True),
    ('allocation-wait=60,allocation-until="T"', 'allocation-wait=60, allocation-until="T"', True),
    ('Allocation-Until = "T" ; a="b;c,d" , x="y,z"; w', 'allocation-until="T"', True),
    ('unknown, other="allocation-until=\\"X\\", \\\\";q, allocation-until="T"', 'allocation-until="T"', True),
    ('allocation-until="T", allocation-until="2020-01-01T00:00:00Z"', 'allocation-until="T"', True),
    ('allocation-until="\\T"', 'allocation-until="T"', True),
    ("allocation-until=T", 'allocation-until="T"', True),
    ('x-allocation-until="T"', None, False),
    ('other="a, allocation-until=T"', None, False),
    ('other; allocation-until="T"', None, False),
]


def test_preferences_are_read_as_rfc_7240_says(service: Service, subtests: pytest.Subtests) -> None:
    text, _ = at(HOUR)
    for number, (header, applied, has_end) in enumerate(HEADERS):
        with subtests.test(header=header):
            service.add_node(f"n{number}")
            answer = ask(service, header.replace("T", text) if "T" in header else header)
            assert answer.headers.get(APPLIED) == (applied and applied.replace("T", text))
            assert (row_of(service, answer.json["uuid"]) is not None) == has_end


def test_several_headers_are_one_list(service: Service) -> None:
    service.add_node("n1")
    text, moment = at(HOUR)
    headers = [("Prefer", "return=representation"), ("Prefer", f'allocation-until="{text}"')]
    headers.append(("X-OpenStack-Ironic-API-Version", "1.115"))
    answer = Client(service.http.app).post("/baremetal/v1/allocations", json=GOLD, headers=headers)
    assert answer.headers[APPLIED] == f'return=representation, allocation-until="{text}"'
    assert (answer.json["state"], ends_at(service, answer.json["uuid"])) == ("active", moment)


BAD = "until must be a time with a zone in the years 1970 to 9998, such as 2026-11-26T18:30:00+01:00, and not {!r}."
#: Characters, as they are quoted in a header, that are not part of a time: Python takes any between date and time.
SEPARATORS = ('\\"', "\\\\", "\xe9", ";", "_")
OVER = "The end must be later than now: 2020-12-01T18:00:00Z is over."
REFUSED = [
    ("allocation-until", BAD.format("")),
    ('allocation-until=""', BAD.format("")),
    ("allocation-until=tomorrow", BAD.format("tomorrow")),
    ('allocation-until="2099-12-01T18:00:00"', BAD.format("2099-12-01T18:00:00")),
    ('allocation-until="2099-12-01T18:00:00Z', BAD.format('"2099-12-01T18:00:00Z')),
    ('allocation-until="2099-12-01T18:00:00Z"0', BAD.format('"2099-12-01T18:00:00Z"0')),
    ('allocation-until="2099-12-01T18:00:00Z, return=minimal"', BAD.format("2099-12-01T18:00:00Z, return=minimal")),
    ('allocation-until="2099-12-01T18:00:00Z;x"', BAD.format("2099-12-01T18:00:00Z;x")),
    *(
        (f'allocation-until="2099-12-01{each}18:00:00Z"', BAD.format(f"2099-12-01{each[-1]}18:00:00Z"))
        for each in SEPARATORS
    ),
    ("allocation-until=3600", BAD.format("3600")),
    ('allocation-until="2020-12-01T19:00:00+01:00"', OVER),
    ('allocation-until="2020-12-01T18:00:00Z", allocation-until="2099-12-01T18:00:00Z"', OVER),
]


def test_what_is_no_end_is_refused_and_changes_nothing(service: Service, subtests: pytest.Subtests) -> None:
    service.add_node("n1")
    with unchanged(service):
        for header, expected in REFUSED:
            with subtests.test(header=header):
                assert fault(ask(service, header, 400)) == expected


def test_one_that_fails_has_no_end(service: Service) -> None:
    text, _ = at(HOUR)
    answer = ask(service, f'allocation-until="{text}"')
    assert (show(service, answer.json["uuid"])["state"], APPLIED in answer.headers) == ("error", False)


def test_a_node_whose_hold_begins_after_the_end_is_preferred(service: Service) -> None:
    for number in range(3):
        node = service.add_node(f"n{number}")
        if number != 1:
            times = {"starts_at": at(HOUR / 2)[0], "ends_at": at(2 * HOUR)[0]}
            service.http.post_json(f"/scheduling/v1/nodes/{node}/holds", {"type": "window", **times}, status=201)
    prefer = f'allocation-until="{at(HOUR)[0]}", return=representation'
    chosen = [service.node(ask(service, prefer).json["node_uuid"])["name"] for _ in range(2)]
    assert chosen[0] == "n1"


# -- waiting -----------------------------------------------------------------------------------------------------------


def test_one_that_waits_gets_its_end_with_its_node(service: Service) -> None:
    node = service.add_node("n1")
    before = ask(service, "").json["uuid"]
    text, moment = at(10 * HOUR)
    prefer = f'allocation-until="{text}", allocation-wait='
    answer = ask(service, prefer + "600")
    assert answer.headers[APPLIED] == f'allocation-wait=600, allocation-until="{text}"'
    late, uuid = ask(service, prefer + "50000").json["uuid"], answer.json["uuid"]
    first, second = waiting(service)
    assert (first.ends_at, first.lasts, first.request_key) == (moment, None, second.request_key)
    assert (round(first.deadline - first.asked_at), second.deadline) == (600, moment - 60)
    assert row_of(service, uuid) is None
    service.baremetal("DELETE", f"{A}/{before}")
    assert (show(service, uuid)["node_uuid"], ends_at(service, uuid)) == (node, moment)
    with settable(service.database) as clock:
        clock.step(10 * HOUR - 30)
        service.conductors["c1"].run_periodic_task(SWEEP)
    failed = show(service, late)
    assert failed["state"] == "error"
    assert f" after waiting for {second.deadline - second.asked_at:.0f} seconds: " in failed["last_error"]


# -- nodes that are in use already -------------------------------------------------------------------------------------


def deployed(service: Service, name: str) -> str:
    """Add a node that is active."""
    node = service.add_node(name)
    service.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": "active"})
    service.work()
    return node


def test_one_for_an_active_node_has_an_end_if_it_claims_the_node(service: Service) -> None:
    text, moment = at(HOUR)
    prefer, node = f'allocation-until="{text}"', deployed(service, "n1")
    answer = ask(service, prefer, node=node)
    assert (answer.headers[APPLIED], ends_at(service, answer.json["uuid"])) == (prefer, moment)
    # The claim of another door is what it is.
    other, consumer = service.add_node("n2"), "aaaaaaaa-0000-4000-8000-000000000002"
    service.claim(consumer, other)
    service.set_columns(other, provision_state="active", instance_uuid=consumer)
    answer = ask(service, prefer, node=other, uuid=consumer)
    assert (answer.json["state"], APPLIED in answer.headers, row_of(service, consumer)) == ("active", False, None)


# -- what becomes of it ------------------------------------------------------------------------------------------------


def test_changes_keep_the_end_and_what_frees_the_node_removes_it(service: Service) -> None:
    node, (text, moment) = service.add_node("n1"), at(HOUR)
    prefer = f'allocation-until="{text}"'
    uuid = ask(service, prefer).json["uuid"]
    service.baremetal("PATCH", f"{A}/{uuid}", [{"op": "add", "path": "/name", "value": "another"}])
    held = service.placement("GET", f"/allocations/{uuid}").json
    service.placement("PUT", f"/allocations/{uuid}", {**held, "user_id": "another"})
    assert ends_at(service, uuid) == moment
    service.baremetal("DELETE", f"/nodes/{node}/allocation")
    assert row_of(service, uuid) is None
    uuid = ask(service, prefer).json["uuid"]
    service.baremetal("PUT", f"/nodes/{node}/maintenance", {})
    service.baremetal("DELETE", f"/nodes/{node}")
    service.baremetal("GET", f"{A}/{uuid}", status=404)
    assert row_of(service, uuid) is None


# -- who may, and how long ---------------------------------------------------------------------------------------------


def test_limits_and_the_default_bind_projects(database_url: str) -> None:
    limits = {"default_claim": 7200, "longest_claim": 3 * HOUR}
    with Service(database_url, api={"auth_strategy": "noauth2"}, scheduling=limits) as service:
        service.add_conductor("c1")
        for number in range(3):
            service.add_node(f"n{number}", owner="p")
        member = {"X-Auth-Token": "u:p", "X-Roles": "member", "OpenStack-System-Scope": ""}

        def lasts(**headers: str) -> float:
            answer = service.baremetal("POST", A, GOLD, headers=headers)
            row = row_of(service, answer.json["uuid"])
            assert row is not None
            assert (APPLIED in answer.headers) == ("Prefer" in headers)
            return row.ends_at - row.began_at

        assert lasts(**member) == pytest.approx(7200, abs=1e-3)
        late = f'allocation-until="{at(5 * HOUR)[0]}"'
        refused = service.baremetal("POST", A, GOLD, headers={**member, "Prefer": late}, status=400)
        assert fault(refused).startswith("The end is too late: ")
        assert lasts(Prefer=late) > 3 * HOUR
        assert lasts(**member, Prefer=f'allocation-until="{at(HOUR)[0]}"') <= HOUR


def test_while_an_older_release_may_serve_ends_are_refused(service: Service) -> None:
    service.add_node("n1")
    service.database.change(lambda connection: schema_state.finish(connection, "0037"))
    with unchanged(service):
        refused = fault(ask(service, f'allocation-until="{at(HOUR)[0]}"', 503))
    assert refused.startswith("Nothing can have an end while a release before this one may serve the database")
    assert row_of(service, ask(service, "").json["uuid"]) is None
    service.database.change(lambda connection: schema_state.finish(connection, "0038"))
