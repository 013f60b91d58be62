# tier: first
"""Events for people: the newest first, since a time, and who made the change."""

from typing import Any

import pytest
from sqlalchemy import update

from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db import schema_state
from baremetal_sched.db.models import Hold
from baremetal_sched.scheduling.events import event_pages, reading
from tests.functional.scheduling.happening import CLAIMED, RELEASED, forget, happen, lose
from tests.functional.scheduling.test_domains import make, put
from tests.functional.scheduling.test_events import CLAIMS, EVENTS, HOLDS, Reader, message
from tests.numbered import number_all
from tests.service import ADMINISTRATOR, Service

NO_SCOPE = {"OpenStack-System-Scope": ""}
ANNA = {"X-Auth-Token": "anna:a", "X-Roles": "manager,member,reader", **NO_SCOPE}
BERT = {"X-Auth-Token": "bert:b", "X-Roles": "manager,member,reader", **NO_SCOPE}
CARL = {"X-Auth-Token": "carl:a", "X-Roles": "reader"}
CARLA = {"X-Auth-Token": "carla:a", "X-Roles": "member,reader"}
NOVA = {"X-Auth-Token": "nova:services", "X-Roles": "service"}
CONSUMER = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"


def told(service: Service, letters: str, **values: Any) -> None:
    """Events with subjects that begin with these letters."""
    happen(service, *(f"{letter * 8}-0000-4000-8000-000000000001" for letter in letters), **values)


def subjects(answer: Any) -> str:
    return "".join(event["subject"][0] for event in answer["events"])


def pages(service: Service, query: str, headers: Any = None) -> list[str]:
    """The letters on each page, from the newest on, until nothing older is left."""
    found, cursor = [], "now"
    while cursor is not None:
        answer = service.http.get(f"{EVENTS}?before={cursor}&{query}", headers=headers).json
        found.append(subjects(answer))
        cursor = answer["cursor"]
    return found


def test_the_newest_first(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pages(service, "limit=2") == [""]
    told(service, "abcde")
    assert pages(service, "limit=2") == ["ed", "cb", "a"]
    assert pages(service, "limit=5") == ["edcba"]
    after = service.http.get(f"{EVENTS}?limit=2").json["cursor"]
    assert subjects(service.http.get(f"{EVENTS}?before={after}").json) == "ba"
    forget(service, 2)
    assert service.http.get(f"{EVENTS}?before={after}").json == {"events": [], "cursor": None}
    monkeypatch.setattr(reading, "WINDOW", 2)
    told(service, "f", type=RELEASED)
    assert pages(service, f"type={RELEASED}") == ["f", ""]
    assert pages(service, f"type={CLAIMED}") == ["e", "dc"]


def test_cursors_that_end(service: Service) -> None:
    told(service, "ab")
    newest = service.http.get(EVENTS).json["cursor"]
    lose(service, 1)
    assert "lost the event" in message(service.http.get(f"{EVENTS}?before={newest}", status=410))
    told(service, "c")
    assert "lost the event" in message(service.http.get(f"{EVENTS}?before={newest}", status=410))


def test_since(service: Service, subtests: pytest.Subtests) -> None:
    """Events are in the order of their commits, which may differ from that of their times."""
    for letter, at in (("a", 100.0), ("b", 300.0), ("c", 250.0), ("d", 5000.0)):
        told(service, letter, at=at)
    times = {"00:01:40": "abcd", "00:01:41": "bcd", "00:04:20": "bcd", "01:23:20": "d", "01:23:21": ""}
    for time, expected in times.items():
        with subtests.test(time):
            since = f"{EVENTS}?since=1970-01-01T{time}Z"
            assert subjects(service.http.get(since).json) == expected
            assert subjects(service.http.get(f"{since}&before=now").json) == expected[::-1]


def test_what_excludes_each_other(service: Service, subtests: pytest.Subtests) -> None:
    rows = {
        "after=now&before=now": "after and before exclude each other",
        "before=now&wait=1": "before and wait exclude each other",
        "after=now&since=2026-01-01T00:00:00Z": "after and since exclude each other",
        "since=yesterday": "since must be a time with a zone",
        "before=x": "is no cursor",
    }
    for query, words in rows.items():
        with subtests.test(query):
            assert words in message(service.http.get(f"{EVENTS}?{query}", status=400))


def who(service: Service, headers: Any = None) -> dict[str, Any]:
    """Who made the last change of each type; "?" if the event does not say it."""
    number_all(service)
    events = service.http.get(EVENTS, headers=headers).json["events"]
    return {event["type"].partition(".")[2]: event["data"].get("user_id", "?") for event in events}


def test_who_made_a_change(secured: Service) -> None:
    """Through each kind of transaction; what the service does by itself is its own."""
    secured.add_conductor("c1")
    uuid = secured.add_node("n1", owner="a", resource_class="gold")
    assert who(secured, ADMINISTRATOR) == {"node.create.end": None}  # entered by no request
    secured.baremetal("PUT", f"/nodes/{uuid}/traits/CUSTOM_A", headers=ADMINISTRATOR, status=204)
    assert who(secured, ADMINISTRATOR)["node.update.end"] == "admin"
    secured.baremetal("PATCH", f"/nodes/{uuid}", [{"op": "add", "path": "/extra/a", "value": 1}], headers=ANNA)
    assert who(secured, ADMINISTRATOR)["node.update.end"] == "anna"
    secured.baremetal("PUT", f"/nodes/{uuid}/states/power", {"target": "power on"}, headers=ANNA, status=202)
    secured.work()
    assert who(secured, ADMINISTRATOR)["node.power_set.end"] == "anna"
    claim = {"query": "resources=CUSTOM_GOLD:1"}
    held = secured.http.post_json(CLAIMS, claim, headers=ANNA, status=201).json["uuid"]
    waits = secured.http.post_json(CLAIMS, {**claim, "wait": 60}, headers=CARLA, status=202).json["uuid"]
    assert who(secured, ADMINISTRATOR)["machine.claimed"] == "anna"
    secured.http.delete(f"{CLAIMS}/{held}", headers=ADMINISTRATOR)
    known = who(secured, ADMINISTRATOR)
    assert (known["machine.released"], known["machine.claimed"]) == ("admin", "carla")
    secured.http.delete(f"{CLAIMS}/{waits}", headers=ADMINISTRATOR)
    hold = {"type": "window", "starts_at": "2050-01-01T00:00:00Z", "reason": "fan"}
    secured.http.post_json(HOLDS.format(uuid), hold, headers=ADMINISTRATOR)
    secured.database.write(lambda session: session.execute(update(Hold).values(starts_at=5.0)) and None)
    secured.conductors["c1"].run_periodic_task(next(task for task in PERIODIC_TASKS if task.name == "holds"))
    known = who(secured, ADMINISTRATOR)
    assert (known["hold.asserted"], known["hold.begun"]) == ("admin", None)


def test_who_is_hidden_like_who_asserts_a_hold(secured: Service, subtests: pytest.Subtests) -> None:
    uuid = secured.add_node("n1", owner="a", lessee="b")
    patch = [{"op": "add", "path": "/extra/a", "value": 1}]
    secured.baremetal("PATCH", f"/nodes/{uuid}", patch, headers=ADMINISTRATOR)
    secured.baremetal("PATCH", f"/nodes/{uuid}", [{**patch[0], "path": "/extra/b"}], headers=ANNA)
    secured.baremetal("PUT", f"/nodes/{uuid}/maintenance", {"reason": "x"}, headers=BERT, status=202)
    number_all(secured)
    hidden = "?"
    rows = (
        (ADMINISTRATOR, [None, "admin", "anna", "bert"]),
        (CARL, [None, hidden, "anna", "bert"]),
        (BERT, [None, hidden, hidden, "bert"]),
    )
    for headers, expected in rows:
        with subtests.test(headers["X-Auth-Token"]):
            events = secured.http.get(EVENTS, headers=headers).json["events"]
            assert [each["data"].get("user_id", hidden) for each in events] == [*expected, expected[-1]]
            for user in ("admin", "anna", "bert", "nobody"):
                for order in ("", "&before=now"):
                    answer = secured.http.get(f"{EVENTS}?user_id={user}{order}", headers=headers).json
                    assert bool(answer["events"]) == (user in expected), user


def test_cursors_do_not_tell_who_is_hidden(secured: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_pages, "_BATCH", 2)
    uuid = secured.add_node("n1", owner="a")
    anna_for_the_system = {**ADMINISTRATOR, "X-Auth-Token": "anna"}
    callers = (ANNA, ADMINISTRATOR, ADMINISTRATOR, *[anna_for_the_system] * 3, ANNA)
    for number, caller in enumerate(callers):
        patch = [{"op": "add", "path": f"/extra/{number}", "value": 1}]
        secured.baremetal("PATCH", f"/nodes/{uuid}", patch, headers=caller)
    number_all(secured)

    def found(query: str, user: str, headers: Any) -> Any:
        return secured.http.get(f"{EVENTS}?{query}&user_id={user}", headers=headers).json

    for query in ("before=now&limit=1", "limit=1"):
        assert found(query, "admin", CARL) == found(query, "nobody", CARL)
        assert len(found(query, "anna", CARL)["events"]) == 1
    for query in ("before=now&limit=2", "limit=2"):
        assert len(found(query, "anna", CARL)["events"]) == 2
    assert len(found("before=now", "anna", ADMINISTRATOR)["events"]) == 5


def test_who_is_not_written_while_an_earlier_release_may_serve(secured: Service) -> None:
    uuid = secured.add_node("n1", resource_class="gold")
    for oldest, expected in (("0034", "?"), ("0037", "nova")):
        secured.database.write(lambda session, oldest=oldest: schema_state.finish(session.connection(), oldest))
        secured.baremetal("PUT", f"/nodes/{uuid}/traits", {"traits": [f"CUSTOM_{oldest}"]}, headers=ADMINISTRATOR)
        put_claim(secured, uuid)
        secured.placement("DELETE", f"/allocations/{CONSUMER}", headers=NOVA, status=204)
        known = who(secured, ADMINISTRATOR)
        assert {known["machine.claimed"], known["machine.released"]} == {expected}
        assert known["node.update.end"] == ("?" if expected == "?" else "admin")


def put_claim(service: Service, uuid: str) -> None:
    body = {
        "allocations": {uuid: {"resources": {"CUSTOM_GOLD": 1}}},
        "project_id": "p", "user_id": "u", "consumer_generation": None, "consumer_type": "INSTANCE",
    }  # fmt: skip
    service.placement("PUT", f"/allocations/{CONSUMER}", body, headers=NOVA, status=204)


def test_without_authentication_nobody_is_known(service: Service) -> None:
    service.baremetal("POST", "/nodes", {"driver": "fake-hardware"})
    assert who(service) == {"node.create.end": "?"}


def test_a_node_that_moves(service: Service) -> None:
    uuid = service.add_node("n1", resource_class="gold")
    row = make(service, "row-1", "row")
    first, second = make(service, "r1", parent=row), make(service, "r2", parent=row)
    service.database.write(lambda session: schema_state.finish(session.connection(), "0034"))
    reader = Reader(service)
    put(service, first, "n1")
    service.http.delete(f"/scheduling/v1/domains/{row}/nodes/n1")
    service.database.write(lambda session: schema_state.finish(session.connection(), "0037"))
    assert reader.next() == []
    put(service, first, "n1")
    put(service, first, "n1")
    put(service, second, "n1")
    service.http.delete(f"/scheduling/v1/domains/{row}/nodes/n1")
    events = reader.next()
    assert {(each["type"], each["subject"]) for each in events} == {("baremetal.node.domain_set.end", uuid)}
    assert [each["data"]["changed"] for each in events] == [
        {"domain:rack": {"before": None, "after": "r1"}, "domain:row": {"before": None, "after": "row-1"}},
        {"domain:rack": {"before": "r1", "after": "r2"}},
        {"domain:rack": {"before": "r2", "after": None}, "domain:row": {"before": "row-1", "after": None}},
    ]
    assert {each["data"]["resource_class"] for each in events} == {"gold"}
