"""Types of events: a closed list. Each is written somewhere; readers and webhooks select from the list."""

from typing import Any

import pytest
from sqlalchemy import select, update

from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db import schema_state
from baremetal_sched.db.clock import epoch, exactly
from baremetal_sched.db.models import Hold, Webhook, table_of
from baremetal_sched.placement import waiting_requests
from baremetal_sched.placement.ends import End
from baremetal_sched.scheduling.bookings import keeping
from baremetal_sched.scheduling.events.reading import Event
from baremetal_sched.scheduling.events.types import READERS, TYPES
from tests.database_clock import settable
from tests.event_members import complaints
from tests.functional.scheduling.ended import claim, sweep
from tests.functional.scheduling.test_domains import make, put
from tests.functional.scheduling.test_events import CLAIMS, CONSUMER, EVENTS, HOLDS, Reader, message
from tests.service import Service
from tests.unchanged import unchanged

BOOKINGS = "/scheduling/v1/bookings"
WEBHOOKS = "/scheduling/v1/webhooks"
URL = "https://hooks.example.com/in"


def test_each_type_is_told(service: Service) -> None:
    """``tests/event_members.py`` compares each of them with its row."""
    service.add_conductor("c1")
    reader, seen = Reader(service), set[str]()
    uuid = service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "resource_class": "gold"}).json["uuid"]
    for target in ("manage", "provide"):
        service.baremetal("PUT", f"/nodes/{uuid}/states/provision", {"target": target}, status=202)
        service.work()
    seen |= {*reader.types()}
    _switch_power(service, uuid)
    _allocate(service)
    seen |= {*reader.types()}
    _wait_for_machines(service)
    seen |= {*reader.types()}
    _book(service)
    seen |= {*reader.types()}
    _end(service, uuid)
    seen |= {*reader.types()}
    _hold(service, uuid)
    put(service, make(service, "r1"), uuid)
    service.set_columns(uuid, provision_state="clean failed", last_error="The disk is full.")
    service.set_columns(uuid, provision_state="enroll")
    service.baremetal("DELETE", f"/nodes/{uuid}")
    assert seen | {*reader.types()} == TYPES.keys()


def _switch_power(service: Service, uuid: str) -> None:
    service.baremetal("PUT", f"/nodes/{uuid}/states/power", {"target": "power on"}, status=202)
    service.work()
    service.set_columns(uuid, target_power_state="power off")
    service.set_columns(uuid, target_power_state=None, last_error="It does not answer.")
    service.set_columns(uuid, power_state="power off")


def _allocate(service: Service) -> None:
    """An allocation gets the node, one waits, and one is in vain."""
    waits = {"Prefer": "allocation-wait=600"}
    ofs = [
        service.baremetal("POST", "/allocations", {"resource_class": "gold"}, headers=each) for each in (None, waits)
    ]
    service.baremetal("POST", "/allocations", {"resource_class": "silver"})
    first, second = (answer.json["uuid"] for answer in ofs)
    service.patch_at(f"/allocations/{first}", ("add", "/name", "a"))
    for each in (second, first):
        service.baremetal("DELETE", f"/allocations/{each}")


def _wait_for_machines(service: Service) -> None:
    """Of five claims one gets the machine at once, one after it, and the others end otherwise."""
    body = {"query": "resources=CUSTOM_GOLD:1", "wait": 60}
    first, second, late, failed, withdrawn = (
        service.http.post_json(CLAIMS, body, status=status).json["uuid"] for status in (201, *[202] * 4)
    )

    def end(session: Any) -> None:
        for uuid, state in ((late, waiting_requests.TIMED_OUT), (failed, waiting_requests.FAILED)):
            waiting_requests.decide(session, waiting_requests.find(session, uuid, lock=True), state, "why")

    service.database.write(end)
    for each in (withdrawn, first, second):
        service.http.delete(f"{CLAIMS}/{each}")


def _book(service: Service) -> None:
    """The machine is booked; a hold over that time comes and goes; another booking is cancelled."""
    day, hour = 86_400, 3600
    with settable(service.database) as clock:
        now = service.database.read(lambda session: session.scalar(select(epoch())) or 0.0)
        body = {"query": "resources=CUSTOM_GOLD:1", "starts_at": exactly(now + 2 * day), "for": 5 * hour}
        path = f"{BOOKINGS}/{service.http.post_json(BOOKINGS, body).json['uuid']}"
        node = service.http.get(path).json["machines"][0]["node"]
        hold = service.http.post_json(HOLDS.format(node), {"type": "window", "starts_at": body["starts_at"]}).json
        service.http.delete(f"{HOLDS.format(node)}/{hold['uuid']}")
        service.http.patch_json(path, {"name": "training"})
        for seconds in (hour, 2 * day, 3 * hour, hour):
            keeping.sweep(service.database, service.app.settings)
            clock.step(seconds)
            service.conductors["c1"].beat()
        keeping.sweep(service.database, service.app.settings)
        now += 3 * day
        path = service.http.post_json(BOOKINGS, {**body, "starts_at": exactly(now)}).headers["Location"]
        service.http.delete(path)


def _end(service: Service, uuid: str) -> None:
    """A claim ends soon, and is late, since a conductor is at work on its node."""
    claim(service, uuid, end=End(seconds=7200.0, told_before=(3600.0,)))
    with settable(service.database) as clock:
        for seconds, reserved in ((3000, None), (600, None), (3600, "c1"), (60, None)):
            service.set_columns(uuid, reservation=reserved)
            clock.step(seconds)
            service.conductors["c1"].beat()
            sweep(service)


def _hold(service: Service, uuid: str) -> None:
    """A hold that is planned is changed, begins by itself, and ends."""
    planned = {"type": "window", "reason": "fan", "starts_at": "2050-01-01T00:00:00Z"}
    path = HOLDS.format(uuid)
    hold = service.http.post_json(path, planned).json["uuid"]
    service.http.patch_json(f"{path}/{hold}", {"reason": "disk"})
    service.database.write(lambda session: session.execute(update(Hold).values(starts_at=5.0)) and None)
    service.conductors["c1"].run_periodic_task(next(task for task in PERIODIC_TASKS if task.name == "holds"))
    service.http.delete(f"{path}/{hold}")


def test_the_watch_finds_what_differs_from_the_row() -> None:
    def found(kind: str, data: dict[str, Any], **projects: str) -> list[str]:
        return sorted(complaints(Event(1, "u", kind, "s", None, 0.0, data, **projects)))

    machine, claim = {"uuid": "u", "name": "n", "consumer": None}, "scheduling.claim.failed"
    assert found("scheduling.machine.claimed", {**machine, "owner": None}, owner="a", project="b") == []
    assert found(claim, {"claim": {}, "consumer": None, "name": "n"}) == [f"{claim}: its row has no name"]
    assert found(claim, {"claim": {}}, project="b", owner="a") == [
        f"{claim}: READERS has no owner",
        f"{claim}: it lacks consumer",
    ]
    assert found("nonsense.type", {}) == ["nonsense.type: there is no such type"]


def test_types_that_are_not_in_the_list_are_refused(service: Service, subtests: pytest.Subtests) -> None:
    path = f"{WEBHOOKS}/{service.http.post_json(WEBHOOKS, {'url': URL}).json['uuid']}"
    rows = {
        "nonsense.type": "There is no type of events 'nonsense.type'.",
        "baremetal.node.creat.end": "Did you mean 'baremetal.node.create.end'?",
        "baremetal.nodes.*": "Did you mean 'baremetal.node.*'?",
        "baremetal.node.update.*": "There is no type of events",
        "scheduling.webhook.test": "There is no type of events",
        "": "There is no type of events ''.",
        "x" * 5000: "There is no type of events 'xxx",
    }
    for wrong, words in rows.items():
        with subtests.test(wrong[:40]), unchanged(service):
            assert words in message(service.http.get(f"{EVENTS}?type=scheduling.hold.*,{wrong}", status=400))
            body = {"url": URL, "types": ["scheduling.hold.*", wrong]}
            assert words in message(service.http.post_json(WEBHOOKS, body, status=400))
            assert words in message(service.http.patch_json(path, body, status=400))


def test_a_prefix_selects_the_types_that_are_about_the_same(service: Service) -> None:
    readers = {prefix: Reader(service, query=f"&type={prefix}") for prefix in READERS}
    uuid = service.add_node("n1")
    service.claim(CONSUMER, uuid)
    service.http.post_json(HOLDS.format(uuid), {"type": "window", "reason": "fan"})
    told = {prefix: {each[: len(prefix) - 1] for each in reader.types()} for prefix, reader in readers.items()}
    none: set[str] = set()
    unheard = ("scheduling.claim.*", "scheduling.booking.*", "baremetal.allocation.*")
    assert told == {prefix: none if prefix in unheard else {prefix[:-1]} for prefix in READERS}


def test_webhooks_have_prefixes_when_all_releases_know_them(service: Service) -> None:
    """And unknown types, as those of a later release, do not stand in the way of other changes."""
    body = {"url": URL, "types": ["baremetal.node.*"]}
    path = f"{WEBHOOKS}/{service.http.post_json(WEBHOOKS, body).json['uuid']}"
    service.database.write(lambda session: schema_state.finish(session.connection(), "0033"))
    with unchanged(service):
        for refused in (
            service.http.post_json(WEBHOOKS, body, status=503),
            service.http.patch_json(path, body, status=503),
        ):
            assert "db upgrade --finish" in message(refused)
    unknown = update(table_of(Webhook)).values(types=["of.a.later.release", "baremetal.node.*"])
    service.database.change(lambda connection: connection.execute(unknown))
    assert service.http.patch_json(path, {"name": "chat"}).json["types"] == ["of.a.later.release", "baremetal.node.*"]
    assert service.http.post(f"{path}/resume").json["behind"] == 0
    service.http.patch_json(path, {"types": ["baremetal.node.create.end"]})
    service.database.write(lambda session: schema_state.finish(session.connection(), "0034"))
    assert service.http.patch_json(path, body).json["types"] == body["types"]
