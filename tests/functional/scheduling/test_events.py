"""Events: every change that was committed, in order."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from cloudevents.core.formats.json import JSONFormat
from sqlalchemy import select

from baremetal_sched.baremetal import history
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db import schema_state
from baremetal_sched.db.models import NodeHistory
from baremetal_sched.scheduling.events import numbering, reading
from tests.numbered import number_all
from tests.service import Service

EVENTS = "/scheduling/v1/events"
HOLDS = "/scheduling/v1/nodes/{}/holds"
CLAIMS = "/scheduling/v1/claims"
CONSUMER = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"

ANNA = {"X-Auth-Token": "anna:a", "X-Roles": "member,reader"}
BERT = {"X-Auth-Token": "bert:b", "X-Roles": "member,reader"}
ADMIN = {"X-Auth-Token": "admin", "X-Roles": "admin", "OpenStack-System-Scope": "all"}


class Reader:
    """A reader that follows from now on."""

    def __init__(self, service: Service, headers: Any = None, query: str = "") -> None:
        self._service, self._headers, self._query = service, headers, query
        self.cursor = "now"
        self.next()

    def next(self) -> list[dict[str, Any]]:
        """Return the events since the last call, after all of them have numbers."""
        number_all(self._service)
        answer = self.read()
        self.cursor = answer["cursor"]
        return answer["events"]

    def read(self, **options: Any) -> Any:
        path = f"{EVENTS}?after={self.cursor}{self._query}"
        return self._service.http.get(path, headers=self._headers, **options).json

    def types(self) -> list[str]:
        return [event["type"] for event in self.next()]


def message(response: Any) -> str:
    text: str = response.json["error"]["message"]
    return text


def test_the_life_of_a_machine(service: Service) -> None:
    service.add_conductor("c1")
    reader = Reader(service)
    node = service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1", "resource_class": "gold"})
    uuid = node.json["uuid"]
    (created,) = reader.next()
    assert (created["type"], created["subject"]) == ("baremetal.node.create.end", uuid)
    assert created["data"]["changed"]["name"] == {"before": None, "after": "n1"}
    for target in ("manage", "provide"):
        service.baremetal("PUT", f"/nodes/{uuid}/states/provision", {"target": target}, status=202)
        service.work()
    moved = [event for event in reader.next() if "provision_state" in event["data"].get("changed", {})]
    states = [event["data"]["changed"]["provision_state"] for event in moved]
    assert [each["before"] for each in states[1:]] == [each["after"] for each in states[:-1]]
    assert (states[0]["before"], states[-1]["after"]) == ("enroll", "available")
    levels = [event["type"].rpartition(".")[2] for event in moved]
    assert (levels[0], levels[-1], "error" in levels) == ("start", "success", False)
    service.baremetal("PUT", f"/nodes/{uuid}/states/power", {"target": "power on"}, status=202)
    service.work()
    assert reader.types()[-2:] == ["baremetal.node.power_set.start", "baremetal.node.power_set.end"]
    service.patch(uuid, ("add", "/extra/a", 1), ("add", "/description", "x"))
    (updated,) = reader.next()
    assert updated["type"] == "baremetal.node.update.end"
    assert updated["data"]["changed"] == {"description": {"before": None, "after": "x"}, "extra": {}}
    service.baremetal("PUT", f"/nodes/{uuid}/traits/CUSTOM_A")
    assert reader.next()[0]["data"]["changed"] == {"traits": {"before": [], "after": ["CUSTOM_A"]}}
    service.baremetal("PUT", f"/nodes/{uuid}/maintenance", {"reason": "fan"}, status=202)
    assert reader.types() == ["baremetal.node.maintenance_set.end", "scheduling.hold.asserted"]
    service.baremetal("DELETE", f"/nodes/{uuid}/maintenance", status=202)
    assert reader.types() == ["baremetal.node.maintenance_set.end", "scheduling.hold.released"]
    service.baremetal("PUT", f"/nodes/{uuid}/states/provision", {"target": "manage"}, status=202)
    service.work()
    service.baremetal("DELETE", f"/nodes/{uuid}")
    assert reader.types()[-1] == "baremetal.node.delete.end"


def test_claims_through_every_door(service: Service) -> None:
    uuid = service.add_node("n1")
    service.add_conductor("c1")
    reader = Reader(service)
    service.claim(CONSUMER, uuid)
    (claimed,) = reader.next()
    assert (claimed["type"], claimed["subject"]) == ("scheduling.machine.claimed", uuid)
    assert claimed["data"]["consumer"]["uuid"] == CONSUMER
    # The state of a node is in the events of the node alone, which are in the order of its changes.
    assert (claimed["data"].keys(), claimed["data"]["name"]) == ({"uuid", "name", "consumer"}, "n1")
    waiting = {"query": "resources=CUSTOM_GOLD:1", "wait": 60}
    other = service.http.post_json(CLAIMS, waiting, status=202).json["uuid"]
    assert reader.types() == ["scheduling.claim.waiting"]
    service.placement("DELETE", f"/allocations/{CONSUMER}")
    events = reader.next()
    assert [event["type"] for event in events] == [
        "scheduling.machine.released",
        "scheduling.machine.claimed",
        "scheduling.claim.claimed",
    ]
    assert [event["data"]["consumer"]["uuid"] for event in events] == [CONSUMER, other, other]
    service.http.delete(f"{CLAIMS}/{other}")
    assert sorted(reader.types()) == ["scheduling.claim.released", "scheduling.machine.released"]
    allocation = service.baremetal("POST", "/allocations", {"resource_class": "gold"}).json["uuid"]
    types = reader.types()
    assert {"scheduling.machine.claimed", "baremetal.node.update.end", "baremetal.allocation.create.end"} <= {*types}
    service.baremetal("DELETE", f"/allocations/{allocation}")
    assert {"scheduling.machine.released", "baremetal.allocation.delete.end"} <= {*reader.types()}


def test_a_deleted_machine_is_taken_from_its_consumer(service: Service) -> None:
    uuid = service.add_node("n1")
    service.add_conductor("c1")
    other = service.add_node("n2", resource_class="silver")
    allocation = service.baremetal("POST", "/allocations", {"resource_class": "gold"}).json["uuid"]
    service.claim(CONSUMER, other, "CUSTOM_SILVER")
    for node in (uuid, other):
        service.baremetal("PUT", f"/nodes/{node}/maintenance", status=202)
    reader = Reader(service)
    for node in (uuid, other):
        service.baremetal("DELETE", f"/nodes/{node}")
    events = reader.next()
    found = [event for event in events if "consumer" in event["data"]]
    released = [(event["subject"], event["data"]["consumer"]["uuid"]) for event in found]
    assert [event["data"].keys() for event in found] == [{"uuid", "name", "consumer"}] * 2
    assert released == [(uuid, allocation), (other, CONSUMER)]
    gone = [event["subject"] for event in events if event["type"] == "baremetal.allocation.delete.end"]
    assert gone == [allocation]
    assert [event["type"] for event in events if event["subject"] == other] == [
        "scheduling.machine.released",
        "baremetal.node.delete.end",
    ]


def test_they_are_cloud_events(service: Service) -> None:
    reader = Reader(service)
    uuid = service.add_node("n1")
    (document,) = reader.next()
    event = JSONFormat().read(None, json.dumps(document))  # checks what CloudEvents 1.0 requires
    assert (event.get_type(), event.get_subject()) == ("baremetal.node.create.end", uuid)
    assert (event.get_source(), event.get_id()) == ("/scheduling/v1", document["id"])
    assert event.get_extension("sequence").isdigit()
    assert event.get_time() is not None
    assert event.get_data()["name"] == "n1"


def test_a_failed_request_has_no_event(service: Service) -> None:
    uuid = service.add_node("n1")
    reader = Reader(service)
    service.patch(uuid, ("add", "/name", "n 1"), status=400)
    service.claim(CONSUMER, uuid)
    reader.next()
    service.claim("3f2504e0-4f89-41d3-9a0c-0305e82c3302", uuid, status=409)
    assert reader.next() == []


def test_savepoints_take_their_notes_with_them(service: Service) -> None:
    uuid = service.add_node("n1")
    reader = Reader(service)

    def undone(session: Any, depth: str) -> None:
        with session.begin_nested():
            Service._set_columns(session, uuid, {"description": f"{depth} undone"})
            session.flush()
            with session.begin_nested():
                Service._set_columns(session, uuid, {"shard": f"{depth} undone"})
            raise KeyError

    def work(session: Any) -> None:
        for depth in ("a", "b", "c"):
            Service._set_columns(session, uuid, {"description": depth})
            session.flush()
            with pytest.raises(KeyError):
                undone(session, depth)
            with session.begin_nested():
                Service._set_columns(session, uuid, {"shard": depth})

    service.database.write(work)
    told = [event["data"]["changed"] for event in reader.next()]
    assert [name for changed in told for name in changed] == ["description", "shard"] * 3
    assert [change["after"] for changed in told for change in changed.values()] == [*"aabbcc"]


def test_what_was_noted_before_a_savepoint_stays(service: Service) -> None:
    uuid = service.add_node("n1")

    def work(session: Any) -> None:
        node = nodes.find(session, uuid)
        history.record(session, node, "before", event_type="test")
        savepoint = session.begin_nested()
        history.record(session, node, "undone", event_type="test")
        Service._set_columns(session, uuid, {"description": "undone"})
        session.flush()
        savepoint.rollback()

    service.database.write(work)
    assert service.database.read(lambda session: session.scalars(select(NodeHistory.event)).all()) == ["before"]


def test_what_is_no_cursor(service: Service, subtests: pytest.Subtests) -> None:
    stream = "0b5ee1fd-a5ac-4b35-9f8c-5fa2bd5a1a5c"
    ends = ("", ":-1", ":1:", ":1:0123456", ":1:0123456g", ":1:01234567:", ":1:01234567:89abcdef")
    for wrong in ("x", "a:1", ":1:01234567", f"{stream}::01234567", *(stream + each for each in ends)):
        with subtests.test(wrong=wrong):
            assert "is no cursor" in message(service.http.get(f"{EVENTS}?after={wrong}", status=400))


def test_cursors_that_cannot_be_continued(service: Service) -> None:
    reader = Reader(service)
    before = reader.cursor
    service.add_node("n1")
    service.add_node("n2")
    reader.next()
    for keep, is_old in ((3600, False), (-3600, True)):
        assert service.database.select(lambda connection, keep=keep: numbering.has_old(connection, keep)) is is_old
    service.database.change(lambda connection: numbering.delete_old(connection, 3600))
    assert len(service.http.get(f"{EVENTS}?after={before}").json["events"]) == 2
    assert service.database.change(lambda connection: numbering.delete_old(connection, -3600)) == 2
    gone = service.http.get(f"{EVENTS}?after={before}", status=410)
    assert f"are those after {reader.cursor.rpartition(':')[0]}." in message(gone)
    assert reader.next() == []
    service.database.change(numbering.begin_stream)
    assert "another stream" in message(service.http.get(f"{EVENTS}?after={reader.cursor}", status=410))


def test_events_that_are_deleted_while_they_are_read(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    uuids = [service.add_node(f"n{place}") for place in range(5)]
    number_all(service)
    path = f"{EVENTS}?after={service.http.get(f'{EVENTS}?limit=3').json['cursor']}"
    read_after = reading.read_after

    def late(*arguments: Any, **named: Any) -> Any:
        while service.database.change(lambda connection: numbering.delete_old(connection, -3600)):
            pass
        return read_after(*arguments, **named)

    monkeypatch.setattr(numbering, "MOST", 1)  # so that much is deleted
    monkeypatch.setattr(reading, "read_after", late)
    answer = service.http.get(path, status="*")
    if answer.status_int != 410:  # on SQLite a request sees one moment
        assert [event["subject"] for event in answer.json["events"]] == uuids[3:]


def test_what_has_no_number_is_kept(service: Service) -> None:
    reader = Reader(service)
    service.add_node("n1")
    service.database.change(lambda connection: numbering.delete_old(connection, -3600))
    assert reader.types() == ["baremetal.node.create.end"]


def test_a_page_at_a_time(service: Service) -> None:
    reader = Reader(service, query="&limit=2")
    uuids = [service.add_node(f"n{place}") for place in range(5)]
    pages = [reader.next() for _ in range(4)]
    assert [[event["subject"] for event in page] for page in pages] == [uuids[:2], uuids[2:4], uuids[4:], []]


def test_filters(service: Service) -> None:
    first, second = service.add_node("n1"), service.add_node("n2")
    ofs = (
        Reader(service, query=f"&node={first}"),
        Reader(service, query="&type=scheduling.machine.*,scheduling.hold.begun"),
    )
    service.claim(CONSUMER, second)
    service.patch(first, ("add", "/description", "x"))
    assert [[event["subject"] for event in reader.next()] for reader in ofs] == [[first], [second]]
    assert service.http.get(f"{EVENTS}?node=n1", status=400)


def test_it_waits_for_an_event(service: Service) -> None:
    reader = Reader(service)
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(service.http.get, f"{EVENTS}?after={reader.cursor}&wait=30")
        uuid = service.add_node("n1")
        number_all(service)
        assert [event["subject"] for event in waits.result().json["events"]] == [uuid]
    assert service.http.get(f"{EVENTS}?after={reader.cursor}&wait=0").json["events"]


def test_no_place_to_wait(database_url: str) -> None:
    with Service(database_url, scheduling={"most_polls": 0}) as service:
        reader = Reader(service)
        answer = service.http.get(f"{EVENTS}?after={reader.cursor}&wait=30")
        assert (answer.json["events"], answer.headers["Retry-After"]) == ([], "1")


def test_switched_off(database_url: str) -> None:
    with Service(database_url, events={"enabled": False}) as service:
        service.add_conductor("c1")
        service.add_node("n1")
        assert "[events] enabled" in message(service.http.get(EVENTS, status=409))
        found = service.database.read(lambda session: session.execute(numbering.NOTES.select()).all())
        assert found == []


def test_not_while_an_older_release_may_serve(service: Service) -> None:
    service.database.write(lambda session: schema_state.finish(session.connection(), "0021"))
    assert "db upgrade --finish" in message(service.http.get(EVENTS, status=503))
    service.database.write(lambda session: schema_state.finish(session.connection(), "0030"))
    service.http.get(EVENTS)


def test_claims_repeat_the_state_while_an_older_release_may_read_them(service: Service) -> None:
    """It takes what an event leaves out for empty."""
    uuid = service.add_node("n1", owner="anna")
    reader = Reader(service)
    told = []
    for oldest in ("0031", "0032"):
        service.database.write(lambda session, oldest=oldest: schema_state.finish(session.connection(), oldest))
        service.claim(CONSUMER, uuid)
        service.placement("DELETE", f"/allocations/{CONSUMER}")
        told += [event["data"] for event in reader.next()]
    assert [data.get("provision_state") for data in told] == ["available", "available", None, None]
    assert [data.get("maintenance") for data in told] == [False, False, None, None]
    assert [data.get("owner") for data in told] == ["anna", "anna", None, None]


def test_a_held_part_brings_its_consumer_to_another_machine(service: Service) -> None:
    first, second = service.add_node("n1"), service.add_node("n2")
    part = service.placement("POST", "/resource_providers", {"name": "part"}).json["uuid"]
    stocks = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1}}}
    service.placement("PUT", f"/resource_providers/{part}/inventories", stocks)
    service.claim(CONSUMER, part, "VCPU")
    reader = Reader(service)
    told = []
    for parent in (first, second, None):
        service.placement("PUT", f"/resource_providers/{part}", {"name": "part", "parent_provider_uuid": parent})
        told += [(event["type"].rpartition(".")[2], event["subject"]) for event in reader.next()]
    assert told == [("claimed", first), ("released", first), ("claimed", second), ("released", second)]
