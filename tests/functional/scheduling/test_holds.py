# tier: first
"""Holds of machines: scenarios of Ironic's specification of typed maintenance entries, and who may release what."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select, update
from webtest import TestResponse

from baremetal_sched.baremetal.holds import hold_audit
from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.models import Hold, NodeHistory, SchemaState
from tests.service import ADMINISTRATOR, Service, fault
from tests.unchanged import unchanged

SYSTEM = ADMINISTRATOR
PLACEMENT = {"X-Auth-Token": "root:admins", "X-Roles": "admin"}
OWNER = {"X-Auth-Token": "olga:owners", "X-Roles": "member,reader"}
LESSEE = {"X-Auth-Token": "lea:tenants", "X-Roles": "manager,member,reader"}
NEXT_LESSEE = {"X-Auth-Token": "ned:others", "X-Roles": "manager,member,reader"}
STRANGER = {"X-Auth-Token": "sam:strangers", "X-Roles": "member,reader"}
OLD = "1.8"

#: Lets owners and lessees assert holds, which they may not by default.
OPEN = '"baremetal:node:maintenance:add": "role:admin or role:member"\n'


@pytest.fixture
def closed(database_url: str) -> Iterator[Service]:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        service.add_node("n1", owner="owners", lessee="tenants")
        yield service


@pytest.fixture
def service(database_url: str, tmp_path: Path) -> Iterator[Service]:
    rules = tmp_path / "policy.yaml"
    rules.write_text(OPEN)
    with Service(database_url, api={"auth_strategy": "noauth2"}, oslo_policy={"policy_file": str(rules)}) as service:
        service.add_conductor("c1")
        service.add_node("n1", owner="owners", lessee="tenants")
        yield service


def ask(
    service: Service, method: str, path: str = "/nodes/n1/holds", body: Any = None, *, by: Any = SYSTEM, status: int
) -> TestResponse:
    call = getattr(service.http, method.lower() if body is None else f"{method.lower()}_json")
    url = f"/scheduling/v1{path}"
    return call(url, *(() if body is None else (body,)), headers=by, status=status)


def hold(service: Service, kind: str = "operator_hold", *, by: Any = SYSTEM, **more: Any) -> dict[str, Any]:
    document: dict[str, Any] = ask(service, "POST", body={"type": kind, **more}, by=by, status=201).json
    return document


def listed(service: Service, by: Any = SYSTEM) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ask(service, "GET", by=by, status=200).json["maintenance"]
    return found


def flag(service: Service) -> tuple[bool, str | None]:
    node = service.baremetal("GET", "/nodes/n1", version=OLD).json
    return node["maintenance"], node["maintenance_reason"]


def offered(service: Service) -> set[str]:
    document = service.placement("GET", "/allocation_candidates?resources=CUSTOM_GOLD:1", headers=PLACEMENT).json
    return set(document["provider_summaries"])


def maintain(service: Service, method: str, body: Any = None, *, by: Any, status: int) -> TestResponse:
    """Change the flag as one of the callers."""
    path = "/baremetal/v1/nodes/n1" + ("" if method == "PATCH" else "/maintenance")
    call = getattr(service.http, method.lower() if body is None else f"{method.lower()}_json")
    headers = {"X-OpenStack-Ironic-API-Version": OLD, **by}
    return call(path, *(() if body is None else (body,)), headers=headers, status=status)


def message(response: TestResponse) -> str:
    text: str = response.json["error"]["message"]
    return text


def test_several_hold_the_same_machine(service: Service) -> None:
    first = hold(service, "hardware_failure", by=OWNER, reason="fan 3", extra={"ticket": "T-1"})
    assert [first[name] for name in ("scope", "asserted_by_project", "state")] == ["owner", "owners", "active"]
    assert flag(service) == (True, "hardware_failure: fan 3")
    assert offered(service) == set()
    second = hold(service, reason="rack is moved")
    assert [each["uuid"] for each in listed(service)] == [first["uuid"], second["uuid"]]
    assert flag(service) == (True, "hardware_failure: fan 3; operator_hold: rack is moved")
    ask(service, "DELETE", f"/nodes/n1/holds/{second['uuid']}", status=204)
    assert flag(service) == (True, "hardware_failure: fan 3")
    hold(service)
    service.baremetal("DELETE", "/nodes/n1/maintenance", version=OLD, status=202)
    assert (flag(service), listed(service)) == ((False, None), [])
    assert offered(service) == {service.node("n1")["uuid"]}
    query = select(NodeHistory.event, NodeHistory.user).where(NodeHistory.event_type == "maintenance")
    events = service.database.read(lambda session: session.execute(query.order_by(NodeHistory.id)).all())
    assert events[0] == (f"Hold {first['uuid']} (type hardware_failure, scope owner) was asserted: fan 3", "olga")
    assert [event.split(") ")[1].split(":")[0] for event, _ in events] == [
        *["was asserted"] * 2,
        "was released",
        "was asserted",
        *["was released"] * 2,
    ]
    assert service.database.snapshot(audit) == []


def test_a_lessee_releases_its_own_only(service: Service) -> None:
    own = hold(service, by=LESSEE)
    by_system = hold(service)
    refused = maintain(service, "DELETE", by=LESSEE, status=403)
    expected = (
        f"Cannot release hold {by_system['uuid']} (type operator_hold, scope system): not permitted at lessee scope"
    )
    assert fault(refused) == expected
    assert message(ask(service, "DELETE", by=LESSEE, status=403)) == expected
    path = f"/nodes/n1/holds/{by_system['uuid']}"
    assert message(ask(service, "DELETE", path, by=LESSEE, status=403)) == expected
    maintain(service, "PATCH", [{"op": "replace", "path": "/maintenance", "value": False}], by=LESSEE, status=403)
    assert len(listed(service)) == 2
    ask(service, "DELETE", f"/nodes/n1/holds/{own['uuid']}", by=LESSEE, status=204)
    assert [each["uuid"] for each in listed(service)] == [by_system["uuid"]]


def test_the_hold_of_a_former_lessee(service: Service) -> None:
    former = hold(service, by=LESSEE)
    service.patch("n1", ("replace", "/lessee", "others"))
    path = f"/nodes/n1/holds/{former['uuid']}"
    assert message(ask(service, "DELETE", path, by=NEXT_LESSEE, status=403)) == (
        f"Cannot release hold {former['uuid']} (type operator_hold, scope lessee): not asserted by your project"
    )
    ask(service, "DELETE", path, by=LESSEE, status=404)
    assert hold(service, by=NEXT_LESSEE)["scope"] == "lessee"
    ask(service, "DELETE", path, by=OWNER, status=204)
    ask(service, "DELETE", status=204)
    assert flag(service) == (False, None)


def test_a_script_that_knows_only_the_flag(service: Service) -> None:
    for reason in ("fan", "the other fan", None):
        maintain(service, "PUT", {"reason": reason}, by=OWNER, status=202)
        assert flag(service) == (True, reason)
    (entry,) = listed(service)
    assert (entry["type"], entry["scope"], entry["asserted_by"]) == ("legacy", "owner", "olga")
    service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "disk"}, status=202)
    assert [(each["uuid"], each["asserted_by"], each["reason"]) for each in listed(service)] == [
        (entry["uuid"], "olga", "disk")
    ]
    # The policy is enough for the flag, whoever set it.
    maintain(service, "DELETE", by=LESSEE, status=202)
    assert flag(service) == (False, None)
    maintain(service, "PATCH", [{"op": "replace", "path": "/maintenance", "value": True}], by=LESSEE, status=200)
    assert [(each["type"], each["scope"]) for each in listed(service)] == [("legacy", "lessee")]
    service.patch("n1", ("replace", "/maintenance", False))
    assert listed(service) == []


def test_the_last_one_frees_the_machine(service: Service) -> None:
    ask(service, "DELETE", f"/nodes/n1/holds/{hold(service)['uuid']}", status=204)
    assert (flag(service), listed(service)) == ((False, None), [])


def test_each_blocker_is_named(service: Service) -> None:
    mine = hold(service, by=LESSEE)
    others = [hold(service, by=OWNER), hold(service, "lockout", by=OWNER), hold(service)]
    text = message(ask(service, "DELETE", by=LESSEE, status=403))
    assert [each["uuid"] in text for each in (*others, mine)] == [True, True, True, False]
    assert "(type lockout, scope owner)" in text
    assert len(listed(service)) == 4


def test_who_asserted_is_hidden_from_lower_scopes(service: Service) -> None:
    for who in (SYSTEM, OWNER, LESSEE):
        hold(service, by=who)
    shown = {each["scope"]: each["asserted_by_project"] for each in listed(service, OWNER)}
    assert shown == {"system": None, "owner": "owners", "lessee": "tenants"}
    shown = {each["scope"]: each["asserted_by"] for each in listed(service, LESSEE)}
    assert shown == {"system": None, "owner": None, "lessee": "lea"}
    assert all(each["asserted_by"] is not None for each in listed(service))


def test_the_same_again_is_a_conflict(service: Service) -> None:
    first = hold(service)
    text = message(ask(service, "POST", body={"type": "operator_hold"}, status=409))
    assert first["uuid"] in text
    hold(service, "window")
    hold(service, by=OWNER)
    assert len(listed(service)) == 3


def test_types_that_nobody_may_assert(service: Service, subtests: pytest.Subtests) -> None:
    with unchanged(service):
        for kind in ["legacy", "fault", "holiday", 5, None]:
            with subtests.test(kind=kind):
                ask(service, "POST", body={"type": kind}, status=400)
                ask(service, "POST", "/holds", {"type": kind, "filter": {"nodes": ["n1"]}}, status=400)


def test_what_is_refused(service: Service, subtests: pytest.Subtests) -> None:
    with unchanged(service):
        for body in [
            [],
            {},
            {"type": "window", "starts_at": "2026-11-26T12:00:00"},
            {"type": "window", "starts_at": "soon"},
            {"type": "window", "starts_at": 5},
            {"type": "window", "ends_at": "2020-01-01T00:00:00Z"},
            {"type": "window", "starts_at": "2050-01-02T00:00:00Z", "ends_at": "2050-01-02T01:00:00+01:00"},
            {"type": "window", "starts_at": "0001-01-01T00:00:00+23:59"},
            {"type": "window", "drain_deadline": "2050-01-01T00:00:00Z"},
            {"type": "window", "drain": True, "drain_deadline": "2020-01-01T00:00:00Z"},
            {"type": "window", "scope": "system"},
            {"type": "window", "reason": "x" * 4001},
            {"type": "window", "extra": []},
            {"type": "window", "starts_at": "9999-12-31T23:59:59-23:59"},
        ]:
            with subtests.test(body=body):
                ask(service, "POST", body=body, status=400)


def test_owners_and_lessees_assert_none_by_default(closed: Service) -> None:
    for who in (OWNER, LESSEE):
        assert "node:maintenance:add" in message(
            ask(closed, "POST", body={"type": "operator_hold"}, by=who, status=403)
        )
    ask(closed, "POST", body={"type": "operator_hold"}, by=STRANGER, status=404)
    ask(closed, "GET", by=STRANGER, status=404)
    assert hold(closed)["scope"] == "system"
    ask(closed, "GET", f"/nodes/n1/holds/{listed(closed)[0]['uuid']}", by=LESSEE, status=200)
    ask(closed, "GET", "/nodes/n1/holds/none", status=404)
    ask(closed, "DELETE", "/nodes/n1/holds/3f2504e0-4f89-41d3-9a0c-0305e82c3301", status=404)


def test_policy_is_asked_for_each_entry(database_url: str, tmp_path: Path) -> None:
    rules = tmp_path / "policy.yaml"
    rules.write_text(
        '"baremetal:node:maintenance:add": "role:admin or \'operator_hold\':%(maintenance.type)s or role:helper"\n'
        '"baremetal:node:maintenance:get": "role:admin or not \'lockout\':%(maintenance.type)s"\n'
        '"baremetal:node:maintenance:remove": "role:admin or not \'window\':%(maintenance.type)s"\n'
    )
    options = {"api": {"auth_strategy": "noauth2"}, "oslo_policy": {"policy_file": str(rules)}}
    helper = {**OWNER, "X-Roles": "helper,member,reader"}
    with Service(database_url, **options) as service:
        service.add_conductor("c1")
        service.add_node("n1", owner="owners")
        hold(service, "lockout")
        own = hold(service, "window", by=helper)
        assert [each["type"] for each in listed(service, OWNER)] == ["window"]
        text = message(ask(service, "DELETE", f"/nodes/n1/holds/{own['uuid']}", by=helper, status=403))
        assert text.endswith("(type window, scope owner): not permitted by policy")


def test_lists_by_node_type_and_time(service: Service) -> None:
    service.add_node("n2", resource_class="silver", conductor_group="")
    service.add_node("n3", owner="others")
    soon = {"starts_at": "2050-01-01T00:00:00Z", "ends_at": "2050-01-01T12:00:00Z"}
    body = {"type": "window", **soon, "filter": {"nodes": ["n1", "n2"]}}
    made = ask(service, "POST", "/holds", body, status=201).json["maintenance"]
    assert [each["node_name"] for each in made] == ["n1", "n2"]
    hold(service)

    def names(query: str = "", by: Any = SYSTEM) -> list[str]:
        found = ask(service, "GET", f"/holds?{query}", by=by, status=200).json["maintenance"]
        return [f"{each['node_name']} {each['type']}" for each in found]

    assert names() == ["n1 window", "n2 window", "n1 operator_hold"]
    assert names(by=OWNER) == names(by=LESSEE) == ["n1 window", "n1 operator_hold"]
    assert names(by=STRANGER) == []
    assert names("type=window&resource_class=silver") == ["n2 window"]
    assert names("active=true") == ["n1 operator_hold"]
    assert names("since=2050-01-01T12:00:00Z") == ["n1 operator_hold"]
    assert names("until=2050-01-01T00:00:00Z") == ["n1 operator_hold"]
    assert len(names("since=2050-01-01T11:59:59Z&until=2050-01-01T12:00:00Z")) == 3
    page = ask(service, "GET", "/holds?limit=2", status=200).json
    following = service.http.get(page["maintenance_links"][0]["href"], headers=SYSTEM).json["maintenance"]
    assert [each["type"] for each in following] == ["operator_hold"]
    for wrong in ("since=now", "limit=0", "marker=x", "node=n1", "active=maybe"):
        ask(service, "GET", f"/holds?{wrong}", status=400)


def test_own_holds_are_those_of_the_callers_project(service: Service) -> None:
    """What the service asserts is nobody's, also if the caller has no project."""
    service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "fan"}, status=202)
    hold(service, "window")
    hold(service, by=OWNER)

    def types(query: str, by: Any) -> list[str]:
        return [each["type"] for each in ask(service, "GET", f"/holds?{query}", by=by, status=200).json["maintenance"]]

    assert (types("own=true", SYSTEM), types("own=false", SYSTEM)) == (["window"], ["legacy", "operator_hold"])
    assert (types("own=true", OWNER), types("own=false", OWNER)) == (["operator_hold"], ["legacy", "window"])
    ask(service, "GET", "/holds?own=mine", status=400)


def test_all_of_a_filter_or_none(service: Service) -> None:
    service.add_node("n2")
    service.add_node("n3", resource_class="silver")
    first = hold(service)
    wanted = {"type": "operator_hold", "filter": {"resource_class": "gold"}}
    tried = ask(service, "POST", "/holds", {**wanted, "dry_run": True}, status=200).json["nodes"]
    assert [each["name"] for each in tried] == ["n1", "n2"]
    assert [first["uuid"] in (each["refusal"] or "") for each in tried] == [True, False]
    assert first["uuid"] in message(ask(service, "POST", "/holds", wanted, status=409))
    assert ask(service, "GET", "/nodes/n2/holds", status=200).json == {"maintenance": []}
    ask(service, "POST", "/holds", {**wanted, "type": "window"}, status=201)
    assert [service.node(name)["maintenance"] for name in ("n1", "n2", "n3")] == [True, True, False]
    for chosen in ({}, {"nodes": []}, {"nodes": ["n1", "n9"]}, {"resource_class": "tin"}, {"colour": "red"}):
        ask(service, "POST", "/holds", {"type": "lockout", "filter": chosen}, status=400)
    ask(service, "POST", "/holds", {**wanted, "type": "lockout"}, by=LESSEE, status=201)
    assert [
        each["node_name"] for each in ask(service, "GET", "/holds?type=lockout", status=200).json["maintenance"]
    ] == ["n1"]


def test_all_of_a_filter_except_those_that_refuse(service: Service) -> None:
    for name in ("n2", "n3"):
        service.add_node(name, owner="others" if name == "n3" else "owners")
    first = hold(service)
    wanted = {"type": "operator_hold", "filter": {"resource_class": "gold"}, "skip_refused": True}
    tried = ask(service, "POST", "/holds", {**wanted, "dry_run": True}, status=200).json
    assert tried["maintenance"] == []
    assert [each["hold"] for each in tried["nodes"]] == [None] * 3
    assert len(listed(service)) == 1
    made = ask(service, "POST", "/holds", wanted, status=201).json
    assert [each["node_name"] for each in made["maintenance"]] == ["n2", "n3"]
    assert [each["hold"] for each in made["nodes"]] == [None, *(each["uuid"] for each in made["maintenance"])]
    assert [first["uuid"] in (each["refusal"] or "") for each in made["nodes"]] == [True, False, False]
    assert [service.node(name)["maintenance"] for name in ("n1", "n2", "n3")] == [True] * 3
    with unchanged(service):
        text = message(ask(service, "POST", "/holds", wanted, status=409))
    assert [f"{name}: Node {service.node(name)['uuid']}" in text for name in ("n1", "n2", "n3")] == [True] * 3
    ask(service, "POST", "/holds", {**wanted, "ends_at": "2020-01-01T00:00:00Z"}, status=400)


def test_nodes_that_the_policy_refuses_are_skipped(database_url: str, tmp_path: Path) -> None:
    rules = tmp_path / "policy.yaml"
    rules.write_text('"baremetal:node:maintenance:add": "role:admin or project_id:%(node.owner)s"\n')
    options = {"api": {"auth_strategy": "noauth2"}, "oslo_policy": {"policy_file": str(rules)}}
    with Service(database_url, **options) as service:
        service.add_conductor("c1")
        service.add_node("n1", owner="owners")
        service.add_node("n2", owner="others", lessee="owners")
        wanted = {"type": "operator_hold", "filter": {"resource_class": "gold"}}
        with unchanged(service):
            ask(service, "POST", "/holds", wanted, by=OWNER, status=403)
            leased = {**wanted, "skip_refused": True, "filter": {"nodes": ["n2"]}}
            ask(service, "POST", "/holds", leased, by=OWNER, status=403)
        made = ask(service, "POST", "/holds", {**wanted, "skip_refused": True}, by=OWNER, status=201).json
        assert [each["node_name"] for each in made["maintenance"]] == ["n1"]
        assert ["maintenance:add" in (each["refusal"] or "") for each in made["nodes"]] == [False, True]


def test_a_lockout_waits_for_the_conductor(service: Service) -> None:
    service.set_columns(service.node("n1")["uuid"], reservation="c1")
    ask(service, "POST", body={"type": "lockout"}, status=409)
    hold(service)
    service.set_columns(service.node("n1")["uuid"], reservation=None)
    hold(service, "lockout")


def test_what_a_release_without_holds_did_is_followed(service: Service) -> None:
    uuid = service.node("n1")["uuid"]
    service.set_columns(uuid, maintenance=True, maintenance_reason="fan", fault=None)
    hold(service, reason="mine")
    assert flag(service) == (True, "legacy: fan; operator_hold: mine")
    ask(service, "DELETE", status=204)
    service.set_columns(uuid, maintenance=True, maintenance_reason="gone", fault="power failure")
    service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "mine"}, status=202)
    assert sorted(each["type"] for each in listed(service)) == ["fault", "legacy"]
    assert (service.node("n1")["fault"], flag(service)) == ("power failure", (True, "mine"))
    service.set_columns(uuid, maintenance=False, maintenance_reason=None, fault=None)
    hold(service, "window")
    assert [each["type"] for each in listed(service)] == ["window"]


def test_only_the_flag_while_an_older_release_serves(service: Service) -> None:
    old = update(SchemaState).values(served_since="0021")
    service.database.write(lambda session: session.execute(old))
    assert "db upgrade --finish" in message(ask(service, "POST", body={"type": "window"}, status=503))
    service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "fan"}, status=202)
    assert flag(service) == (True, "fan")
    service.baremetal("DELETE", "/nodes/n1/maintenance", status=202)
    assert service.database.read(lambda session: session.scalars(select(Hold)).all()) == []


def test_holds_go_with_their_node(service: Service) -> None:
    hold(service)
    service.baremetal("DELETE", "/nodes/n1", status=204)
    assert service.database.read(lambda session: session.scalars(select(Hold)).all()) == []
    assert service.database.write(lambda session: session.execute(delete(Hold)).rowcount) == 0


def test_the_audit_compares_flags_with_holds(service: Service) -> None:
    def found() -> list[str]:
        return service.database.snapshot(lambda session: list(hold_audit.audit(session)))

    hold(service, "window", starts_at="2050-01-01T00:00:00Z")
    hold(service)
    service.add_node("n2")
    assert found() == []
    n1, n2 = (service.node(name)["uuid"] for name in ("n1", "n2"))
    service.set_columns(n2, maintenance=True, maintenance_reason="fan", fault="power failure")
    service.set_columns(n1, closes_at=None)
    assert [line.split(":")[0] for line in found()] == [f"node {n1}", f"node {n2}"]
    last = service.database.write(hold_audit.follow_flags)
    assert service.database.write(lambda session: hold_audit.follow_flags(session, last or 0)) is None
    assert len(found()) == 1
    late = update(Hold).where(Hold.begun_at.is_(None)).values(starts_at=5.0)
    service.database.write(lambda session: session.execute(late) and None)
    assert any("it should have begun or ended by now" in line for line in found())
    service.set_columns(n2, maintenance=False, maintenance_reason=None, fault=None)
    service.database.write(hold_audit.follow_flags)
    assert ask(service, "GET", "/nodes/n2/holds", status=200).json == {"maintenance": []}
