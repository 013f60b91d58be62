# tier: first
"""Changes of the ends of claims, servers and allocations."""

import time
import uuid as uuid_module
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bcrypt
import pytest
from sqlalchemy import select, update

from baremetal_sched.db.clock import exactly
from baremetal_sched.db.models import ClaimEnd, Consumer, SchemaState
from tests.database_clock import settable
from tests.functional.compute import world
from tests.functional.compute.test_ends_of_servers import Site, basic
from tests.functional.scheduling.ended import Told, sweep
from tests.functional.scheduling.test_claims import BERT, CLAIMS, OTHER, UUID, message, post, show
from tests.functional.scheduling.test_ends import NO_END, calendars, end_of, moment, seconds
from tests.functional.scheduling.test_ends_pass_on import pass_on, set_end
from tests.restored import Rows
from tests.service import Service
from tests.unchanged import unchanged

MEMBER = {"X-Auth-Token": "u1:p1", "X-Roles": "member,reader"}
READER = {"X-Auth-Token": "u2:p1", "X-Roles": "reader"}
OF_SYSTEM = {"X-Auth-Token": "root:ops", "X-Roles": "admin,member,reader", "OpenStack-System-Scope": "all"}

Headers = dict[str, dict[str, str]]


def change(service: Service, uuid: str = UUID, *, status: int = 200, headers: Any = None, **body: Any) -> Any:
    return service.http.patch_json(f"{CLAIMS}/{uuid}", body, status=status, headers=headers)


@pytest.mark.parametrize("count", [1, 2])
def test_an_end_is_changed_and_taken_away(served: Service, count: int) -> None:
    for number in range(count):
        served.add_node(f"n{number}")
    claimed = post(served, count=count, consumer={"uuid": UUID}, until=moment(days=1), status=201).json
    until = moment(days=2)
    changed = change(served, until=until).json
    assert changed == show(served)
    assert changed == {**claimed, "until": exactly(seconds(until)), "machines": changed["machines"]}
    began = seconds(claimed["asked_at"])
    assert began <= seconds(change(served, **{"for": 60.5}).json["until"]) - 60.5 <= time.time() + 1
    for _ in range(2):
        assert end_of(change(served, until=None).json) == NO_END
    if count > 1:  # all of its machines have one end
        change(served, claimed["machines"][0]["consumer"], until=None, status=404)
    assert calendars(served) == [5] * count
    assert change(served, **{"for": 600}).json["end"] == "set"
    rows = served.database.read(lambda session: session.scalars(select(ClaimEnd)).all())
    assert len({each.ends_at for each in rows}) == 1 < len(rows) + 1
    assert all(abs(row.began_at - began) < 1 for row in rows)


def test_changes_that_are_refused(served: Service, row: Rows) -> None:
    served.add_node("n1")
    post(served, consumer={"uuid": UUID}, until=moment(days=1), status=201)
    post(served, consumer={"uuid": OTHER}, wait=3600, status=202)
    for given, words in [
        ({}, "non-empty"),
        ({"until": moment(seconds=-1)}, "must be later than now"),
        ({"until": "soon"}, "until must be a time with a zone"),
        ({"until": None, "for": 5}, "Give until or for, not both."),
        ({"for": 0}, "for"),
        ({"wait": 5}, "wait"),
    ]:
        with row(given), unchanged(served):
            for uuid in (UUID, OTHER):
                assert words in message(change(served, uuid, status=400, **given))
    with row("too near to wait"), unchanged(served):
        assert "shortest_claim" in message(change(served, OTHER, until=moment(seconds=30), status=400))
    with row("others"), unchanged(served):
        change(served, str(uuid_module.uuid4()), until=None, status=404)
        change(served, "none", until=None, status=404)
        served.http.patch_json(f"{CLAIMS}/{UUID}?a=1", {"until": None}, status=400)
        served.http.patch_json(f"{CLAIMS}/{UUID}", [], status=400)


@pytest.mark.parametrize("count", [1, 2])
def test_the_end_of_a_claim_that_waits(served: Service, count: int) -> None:
    for number in range(count):
        served.add_node(f"n{number}")
    first = post(served, count=count, status=201).json["uuid"]
    waiting = post(served, count=count, consumer={"uuid": UUID}, wait=3600, status=202).json
    assert change(served, until=moment(days=1)).json["deadline"] == waiting["deadline"]
    until = moment(seconds=1800)
    shown = change(served, until=until).json
    assert (shown["end"], shown["until"]) == ("set", exactly(seconds(until)))
    assert seconds(shown["deadline"]) == pytest.approx(seconds(until) - 60)
    # It never waits longer than before.
    assert change(served, until=None).json == {**waiting, "deadline": shown["deadline"]}
    assert change(served, **{"for": 600}).json["for"] == 600
    served.http.delete(f"{CLAIMS}/{first}")
    assert show(served)["state"] == "claimed"
    assert seconds(show(served)["decided_at"]) - 1 <= seconds(show(served)["until"]) - 600 <= time.time() + 1


def test_what_is_over_has_no_end(served: Service, row: Rows) -> None:
    served.add_node("n1")
    post(served, consumer={"uuid": UUID}, **{"for": 3600}, status=201)
    post(served, consumer={"uuid": OTHER}, wait=60, status=202)
    for state in ("ending", "late"):
        with row(state):
            values = {"state": state, "late_since": 5.0, "reason": "why"}
            served.database.write(lambda session, values=values: session.execute(update(ClaimEnd).values(values)))
            assert (show(served)["end"], show(served)["late_reason"]) == (state, None if state == "ending" else "why")
            with unchanged(served):
                for body in ({"until": None}, {"for": 60}):
                    assert "has ended" in message(change(served, status=409, **body))
            listed = served.http.get(f"{CLAIMS}?late=true").json["claims"]
            assert [each["uuid"] for each in listed] == ([UUID] if state == "late" else [])
    with row("its moment has come"), settable(served.database) as clock:
        clock.step(3601)
        assert "has ended" in message(change(served, until=None, status=409))
        assert "is timed_out" in message(change(served, OTHER, until=None, status=409))
    with row("released"):
        served.placement("DELETE", f"/allocations/{UUID}")
        assert "is released" in message(change(served, until=None, status=409))


def test_what_the_placement_api_claimed(service: Service) -> None:
    service.claim(UUID, service.add_node("n1"))
    service.http.get(f"{CLAIMS}/{UUID}", status=404)
    assert "placement API" in message(change(service, **{"for": 60}, status=409))
    host = service.placement("POST", "/resource_providers", {"name": "host"}).json["uuid"]
    body = {"inventories": {"VCPU": {"total": 4}}, "resource_provider_generation": 0}
    service.placement("PUT", f"/resource_providers/{host}/inventories", body)
    query = "resources=VCPU:1"
    # What is no machine can have one.
    assert post(service, query=query, consumer={"uuid": OTHER}, **{"for": 60}, status=201).json["end"] == "set"
    assert end_of(change(service, OTHER, until=None).json) == NO_END


def test_an_end_that_passed_to_a_client_of_the_placement_api(served: Service) -> None:
    """It is shown wherever it is listed, but stays as it is."""
    node = served.add_node("n1")
    post(served, consumer={"uuid": UUID}, until=moment(days=1), status=201)
    pass_on(served, UUID, OTHER, "allocations", node)
    with unchanged(served):
        assert "placement API" in message(change(served, OTHER, **{"for": 60}, status=409))
    set_end(served, state="late", late_since=5.0, reason="It is locked out.")
    found = show(served, OTHER)
    assert (found["kind"], found["end"], found["late_reason"]) == ("placement", "late", "It is locked out.")
    for query in ("late=true", "late=true&kind=placement"):
        assert served.http.get(f"{CLAIMS}?{query}").json["claims"] == [found]


def test_servers_and_allocations_of_earlier_releases_and_of_imports(service: Service) -> None:
    """Their consumers do not say for which request they were made."""
    site = Site(service)
    for name in ("n1", "n2"):
        service.add_node(name)
    allocation = service.baremetal("POST", "/allocations", {"resource_class": "gold"}).json["uuid"]
    service.work()
    uuids = {"server": site.boot(), "allocation": allocation}
    service.database.write(lambda session: session.execute(update(Consumer).values(request_kind=None)) and None)
    for kind, uuid in uuids.items():
        assert show(service, uuid)["kind"] == change(service, uuid, **{"for": 60}).json["kind"] == kind
    told = Told(service)
    with settable(service.database) as clock:
        clock.step(61)
        for _ in uuids:
            sweep(service)
            service.work()
        sweep(service)
    assert {each["data"]["claim"]["kind"] for each in told.next()} == {*uuids}


def test_an_older_release_may_serve(served: Service) -> None:
    served.add_node("n1")
    post(served, consumer={"uuid": UUID}, status=201)
    served.database.write(lambda session: session.execute(update(SchemaState).values(served_since="0037")))
    with unchanged(served):
        for body in ({"until": None}, {"for": 60}):
            assert "before this one" in message(change(served, status=503, **body))
        post(served, wait=9, **{"for": 60}, status=503)


# -- who may -----------------------------------------------------------------------------------------------------------


#: Callers by name, as ``noauth2`` and as the file of users knows them.
CALLERS: dict[str, tuple[dict[str, str], str]] = {
    "member": (MEMBER, "{roles: [member, reader], project_id: p1}"),
    "reader": (READER, "{roles: [reader], project_id: p1}"),
    "other": (BERT, "{roles: [member, reader], project_id: b}"),
    "admin": (OF_SYSTEM, "{roles: [admin, member, reader], system_scope: all}"),
}


@pytest.fixture(params=["noauth2", "http_basic"])
def shared(request: pytest.FixtureRequest, database_url: str, tmp_path: Path) -> Iterator[tuple[Service, Headers]]:
    """A service, and the headers of its callers."""
    users, roles = tmp_path / "users", tmp_path / "roles.yaml"
    word = bcrypt.hashpw(b"word", bcrypt.gensalt(4)).decode()
    users.write_text("".join(f"{name}:{word}\n" for name in CALLERS))
    roles.write_text("".join(f"{name}: {given}\n" for name, (_, given) in CALLERS.items()))
    options = {"http_basic_auth_user_file": str(users), "http_basic_auth_roles_file": str(roles)}
    is_basic = request.param == "http_basic"
    with Service(database_url, DEFAULT=options if is_basic else {}, api={"auth_strategy": request.param}) as service:
        service.add_conductor("c1")
        yield service, {name: basic(name) if is_basic else headers for name, (headers, _) in CALLERS.items()}


def machines(service: Service, member: dict[str, str]) -> dict[str, str]:
    """A claim, an allocation and a server of project p1, none of which has waited."""
    for name in ("n1", "n2", "n3"):
        service.add_node(name, owner="p1")
    claim = post(service, headers=member, consumer={"uuid": UUID}, status=201).json["uuid"]
    body, headers = {"resource_class": "gold"}, {**member, "OpenStack-System-Scope": ""}
    allocation = service.baremetal("POST", "/allocations", body, headers=headers).json["uuid"]
    return {"claim": claim, "allocation": allocation, "server": world.create(service)[0]}


def test_whoever_may_delete_it_may_set_its_end(shared: tuple[Service, Headers], row: Rows) -> None:
    service, callers = shared
    for kind, uuid in machines(service, callers["member"]).items():
        with row(kind):
            shown = show(service, uuid, headers=callers["member"])
            assert [shown[name] for name in ("uuid", "kind", "state")] == [uuid, kind, "claimed"]
            assert (shown["resource_class"], end_of(shown)) == ("CUSTOM_GOLD", NO_END)
            change(service, uuid, until=moment(days=1), headers=callers["other"], status=404)
            change(service, uuid, until=moment(days=1), headers=callers["reader"], status=403)
            for name in ("member", "admin"):
                # The compute API knows no scope of the system.
                given = {**callers[name], **({"OpenStack-System-Scope": ""} if kind == "server" else {})}
                assert change(service, uuid, until=moment(days=1), headers=given).json["end"] == "set"
            assert show(service, uuid, headers=callers["reader"])["end"] == "set"
            if kind != "claim":
                refused = service.http.delete(f"{CLAIMS}/{uuid}", headers=callers["member"], status=409)
                assert f"delete the {kind} instead" in message(refused)


def test_late_ones_are_listed(shared: tuple[Service, Headers], row: Rows) -> None:
    """Also servers and allocations, which have never waited."""
    service, callers = shared
    found = machines(service, callers["member"])
    for number in range(2):
        service.add_node(f"m{number}", owner="p1")
    several = post(service, count=2, headers=callers["member"], consumer={"uuid": OTHER}, status=201).json["uuid"]
    uuids = [*found.values(), several]
    for uuid in uuids:
        change(service, uuid, until=moment(days=1), headers=callers["member"])

    def late(query: str = "", caller: str = "member", **options: Any) -> Any:
        return service.http.get(f"{CLAIMS}?late=true{query}", headers=callers[caller], **options).json

    assert late()["claims"] == []
    values = {"state": "late", "late_since": 5.0, "reason": "why"}
    service.database.write(lambda session: session.execute(update(ClaimEnd).values(values)))
    for query, expected in [
        ("", uuids),
        ("&kind=server", [found["server"]]),
        ("&kind=claim&project_id=p1", [found["claim"], several]),
        ("&resource_class=CUSTOM_GOLD&state=claimed", uuids),
        ("&resource_class=CUSTOM_SILVER", []),
        ("&state=waiting", []),
        ("&project_id=p2", []),
        (f"&marker={uuids[1]}", uuids[2:]),
    ]:
        with row(query):
            listed = late(query)["claims"]
            assert [each["uuid"] for each in listed] == expected
            assert {(each["end"], each["late_reason"]) for each in listed} <= {("late", "why")}
    with row("pages"):
        first = late("&limit=2")
        assert [each["uuid"] for each in first["claims"]] == uuids[:2]
        rest = service.http.get(first["claims_links"][0]["href"], headers=callers["member"]).json["claims"]
        assert [each["uuid"] for each in rest] == uuids[2:]
    with row("others"):
        assert late(caller="other")["claims"] == []
        assert [each["uuid"] for each in late(caller="admin")["claims"]] == uuids
        late(f"&marker={UUID[:-1]}9", status=400)
        service.http.get(f"{CLAIMS}?late=false", headers=callers["member"], status=400)


def test_a_locked_server(shared: tuple[Service, Headers]) -> None:
    """Its end deletes it, so that only whoever may delete it gives it one."""
    service, callers = shared
    server = machines(service, callers["member"])["server"]
    root = {**callers["admin"], "OpenStack-System-Scope": ""}
    service.compute("POST", f"/servers/{server}/action", {"lock": None}, headers=root)
    assert "locked" in message(change(service, server, until=moment(days=1), headers=callers["member"], status=409))
    change(service, server, until=moment(days=1), headers=root)


def test_others_wait(database_url: str) -> None:
    """A holder cannot prolong then, except for one who may set any end."""
    options = {"prolong_while_others_wait": False}
    with Service(database_url, api={"auth_strategy": "noauth2"}, scheduling=options) as service:
        service.add_conductor("c1")
        service.add_node("n1")
        post(service, headers=MEMBER, consumer={"uuid": UUID}, until=moment(days=2), status=201)
        change(service, until=moment(days=3), headers=MEMBER)
        for query, project in (("&required=CUSTOM_A", "p1"), ("", "p2"), ("", "p1")):
            if project == "p2":  # nobody waits for a machine like this one yet
                change(service, until=moment(days=4), headers=MEMBER)
            body = {"query": f"resources=CUSTOM_GOLD:1{query}", "even_if_impossible": True, "wait": 999}
            post(service, body, headers=OF_SYSTEM, consumer={"project_id": project}, status=202)
        with unchanged(service):
            for later in ({"until": moment(days=5)}, {"for": 400_000}, {"until": None}):
                said = message(change(service, headers=MEMBER, status=409, **later))
                assert "Waiting requests: 2." in said
                assert "p2" not in said
        change(service, until=moment(days=1), headers=MEMBER)
        change(service, until=None, headers=OF_SYSTEM)
        change(service, until=moment(days=5), headers=MEMBER)


def test_the_limit_of_all_time(database_url: str) -> None:
    """It counts from when the machine was claimed."""
    limits = {"longest_claim": 7200, "longest_in_all": 10_000}
    with Service(database_url, api={"auth_strategy": "noauth2"}, scheduling=limits) as service:
        service.add_conductor("c1")
        service.add_node("n1")
        post(service, headers=MEMBER, consumer={"uuid": UUID}, status=201)
        with settable(service.database) as clock:
            clock.step(5000)
            change(service, headers=MEMBER, **{"for": 4000})
            for seconds, words in ((6000, "longest_in_all"), (8000, "longest_claim")):
                assert words in message(change(service, headers=MEMBER, status=400, **{"for": seconds}))
            change(service, headers=OF_SYSTEM, **{"for": 8000})
