# tier: first
"""Domains: what is in them, in their aggregates, and in those above them; what is refused; what callers see."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from webtest import TestResponse

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db.models import DomainMember, SchemaState
from tests.service import ADMINISTRATOR, Service
from tests.unchanged import unchanged

OWNER = {"X-Auth-Token": "olga:owners", "X-Roles": "member,reader"}
OWNERS_ADMIN = {"X-Auth-Token": "oscar:owners", "X-Roles": "admin,manager,member,reader"}
PROJECT_ADMIN = {"X-Auth-Token": "root:admins", "X-Roles": "admin"}
SERVICE = {"X-Auth-Token": "nova:services", "X-Roles": "service"}
NOWHERE = "dddddddd-0000-4000-8000-000000000001"


def ask(service: Service, method: str, path: str = "", body: Any = None, status: int = 200, by: Any = None) -> Any:
    """A request about domains; returns the document, or the message of the error."""
    call = getattr(service.http, method.lower() if body is None else f"{method.lower()}_json")
    arguments = () if body is None else (body,)
    answer: TestResponse = call(f"/scheduling/v1/domains{path}", *arguments, headers=by or {}, status=status)
    if status == 204:
        return None
    return answer.json["error"]["message"] if status >= 400 else answer.json


def make(service: Service, name: str, level: str = "rack", **more: Any) -> str:
    uuid: str = ask(service, "POST", body={"name": name, "level": level, **more}, status=201)["uuid"]
    return uuid


def put(service: Service, domain: str, *nodes: str) -> None:
    for node in nodes:
        ask(service, "PUT", f"/{domain}/nodes/{node}", status=204)


def names_in(service: Service, domain: str, by: Any = None) -> list[str]:
    return [each["name"] for each in ask(service, "GET", f"/{domain}/nodes", by=by)["nodes"]]


def in_aggregate(service: Service, uuid: str) -> set[str]:
    """The names of the providers that placement finds in an aggregate."""
    found = service.placement("GET", f"/resource_providers?member_of={uuid}").json["resource_providers"]
    nodes = {each["uuid"]: each["name"] for each in service.baremetal("GET", "/nodes").json["nodes"]}
    return {nodes.get(each["uuid"], each["name"]) for each in found}


@pytest.fixture
def fleet(service: Service) -> Service:
    for name in ("n1", "n2", "n3"):
        service.add_node(name)
    return service


def test_a_domain_is_an_aggregate(fleet: Service) -> None:
    rack = make(fleet, "r1")
    put(fleet, rack, "n1", "n2")
    assert names_in(fleet, rack) == ["n1", "n2"]
    assert in_aggregate(fleet, rack) == {"n1", "n2"}
    shown = ask(fleet, "GET", f"/{rack}")
    members = ("name", "level", "parent", "from_property", "updated_at", "nodes")
    assert [shown[name] for name in members] == ["r1", "rack", None, None, None, 2]
    ask(fleet, "DELETE", f"/{rack}/nodes/n1", status=204)
    assert (names_in(fleet, rack), in_aggregate(fleet, rack)) == (["n2"], {"n2"})
    assert "is not in domain r1" in ask(fleet, "DELETE", f"/{rack}/nodes/n1", status=404)
    assert fleet.database.snapshot(audit) == []


def test_a_node_moves_with_one_request(fleet: Service) -> None:
    first, second = make(fleet, "r1"), make(fleet, "r2")
    put(fleet, first, "n1", "n2")
    generation = fleet.placement("GET", f"/resource_providers/{fleet.node('n1')['uuid']}").json["generation"]
    put(fleet, second, "n1")
    assert (names_in(fleet, first), names_in(fleet, second)) == (["n2"], ["n1"])
    assert (in_aggregate(fleet, first), in_aggregate(fleet, second)) == ({"n2"}, {"n1"})
    # A client that knows the aggregates from before does not put them back.
    body = {"aggregates": [first], "resource_provider_generation": generation}
    fleet.placement("PUT", f"/resource_providers/{fleet.node('n1')['uuid']}/aggregates", body, status=409)


def test_a_node_is_in_the_domains_above_too(fleet: Service) -> None:
    row_a, row_b = make(fleet, "a", "row"), make(fleet, "b", "row")
    rack_a, rack_b = make(fleet, "a1", parent=row_a), make(fleet, "b1", parent=row_b)
    pair = make(fleet, "p", "nvlink", parent=rack_a)
    put(fleet, pair, "n1", "n2")
    assert [names_in(fleet, each) for each in (pair, rack_a, row_a)] == [["n1", "n2"]] * 3
    put(fleet, rack_b, "n1")  # it leaves the old row, and with it the pair
    assert [names_in(fleet, each) for each in (pair, rack_a, row_a, rack_b, row_b)] == [["n2"]] * 3 + [["n1"]] * 2
    put(fleet, row_b, "n2")  # a machine in another row is not in the old rack
    assert [names_in(fleet, each) for each in (pair, rack_a, row_a)] == [[]] * 3
    ask(fleet, "DELETE", f"/{row_b}/nodes/n1", status=204)
    assert [names_in(fleet, each) for each in (rack_b, row_b)] == [[], ["n2"]]
    assert in_aggregate(fleet, row_b) == {"n2"}
    assert fleet.database.snapshot(audit) == []


def test_nodes_follow_the_parent_of_their_domain(fleet: Service) -> None:
    row_a, row_b = make(fleet, "a", "row"), make(fleet, "b", "row")
    rack = make(fleet, "r1")
    put(fleet, rack, "n1", "n2")
    changed = ask(fleet, "PATCH", f"/{rack}", {"parent": row_a, "name": "r9"})
    assert (changed["parent"], changed["name"]) == (row_a, "r9")
    assert in_aggregate(fleet, row_a) == {"n1", "n2"}
    ask(fleet, "PATCH", f"/{rack}", {"parent": row_b})
    assert (in_aggregate(fleet, row_a), in_aggregate(fleet, row_b)) == (set(), {"n1", "n2"})
    ask(fleet, "PATCH", f"/{rack}", {"parent": None})
    assert in_aggregate(fleet, row_b) == {"n1", "n2"}  # where they are
    assert fleet.database.snapshot(audit) == []


def test_requests_for_machines_of_a_domain(fleet: Service) -> None:
    """They name the aggregate; an explanation says which domain it is, and who waits gets a machine that comes in."""
    rack = make(fleet, "r1")
    query = f"resources=CUSTOM_GOLD:1&member_of={rack}"
    assert fleet.candidates(query) == set()
    found = fleet.http.get(f"/scheduling/v1/explanations?{query}").json
    assert [each["text"] for each in found["conditions"] if each["id"].startswith("aggregate")] == [
        f"is in aggregate {rack} (rack r1)"
    ]
    body = {"query": query, "consumer": {"uuid": NOWHERE}, "wait": 3600, "even_if_impossible": True}
    assert fleet.http.post_json("/scheduling/v1/claims", body).status_int == 202
    put(fleet, rack, "n2")
    assert fleet.http.get(f"/scheduling/v1/claims/{NOWHERE}").json["state"] == "claimed"
    other = make(fleet, "r2")
    put(fleet, other, "n2")  # it keeps its claim, and counts where it is
    assert fleet.http.get(f"/scheduling/v1/claims/{NOWHERE}").json["state"] == "claimed"
    assert names_in(fleet, other) == ["n2"]


def test_refusals(fleet: Service) -> None:
    row, rack = make(fleet, "a", "row"), make(fleet, "r1")
    ask(fleet, "PATCH", f"/{rack}", {"parent": row})
    put(fleet, rack, "n1")
    with unchanged(fleet):
        same = ask(fleet, "POST", body={"name": "r1", "level": "rack"}, status=409)
        assert same == f"There is a domain r1 of level rack already: {rack}."
        circle = ask(fleet, "PATCH", f"/{row}", {"parent": rack}, status=400)
        assert circle.startswith("Domain a cannot be below r1 (rack)")
        level = ask(fleet, "POST", body={"name": "r2", "level": "rack", "parent": rack}, status=400)
        assert "Choose a parent of another level" in level
        missing = ask(fleet, "POST", body={"name": "r2", "level": "rack", "parent": NOWHERE}, status=400)
        assert missing == f"There is no domain {NOWHERE} that could be the parent."
        for body in (
            {"name": "r2"},
            {"name": "r2", "level": "Rack"},
            {"name": "r2", "level": "a,b"},
            {"name": " ", "level": "rack"},
            {"name": "r2", "level": "rack", "parent": "x"},
            {"name": "r2", "level": "rack", "more": 1},
            {"name": "r2", "level": "rack\n"},
        ):
            ask(fleet, "POST", body=body, status=400)
        ask(fleet, "PATCH", f"/{rack}", {}, status=400)
        children = ask(fleet, "DELETE", f"/{row}", status=409)
        assert children.startswith("Domain a is not empty (1 node, 1 domain below it).")
        assert ask(fleet, "DELETE", f"/{rack}", status=409).startswith("Domain r1 is not empty (1 node).")
        for path in (f"/{NOWHERE}", "/r9", "/rack:r9", "/row:r1", f"/{NOWHERE}/nodes"):
            assert ask(fleet, "GET", path, status=404).startswith("There is no domain")
        alone = ask(fleet, "GET", "/r1", status=400)
        assert alone == "Domains of several levels may be called r1: write rack:r1, or the UUID."
        assert ask(fleet, "GET", "?level=rak", status=400) == "There is no level rak. Levels: rack, row."
        nowhere = ask(fleet, "GET", "?parent=row:b", status=400)
        assert nowhere == "There is no domain row:b. Domains of the level row: a."
        assert "n9" in ask(fleet, "PUT", f"/{rack}/nodes/n9", status=404)
        ask(fleet, "PUT", f"/{NOWHERE}/nodes/n1", status=404)
        ask(fleet, "DELETE", f"/{row}/nodes/n2", status=404)
        ask(fleet, "GET", "?colour=red", status=400)
        ask(fleet, "GET", f"?marker={NOWHERE}", status=400)
        ask(fleet, "GET", "?parent=x", status=400)
        body = {"level": "rack", "property": "rack", "marker": NOWHERE}
        ask(fleet, "POST", "/from_property", body, status=400)


def test_deleting(fleet: Service) -> None:
    row = make(fleet, "a", "row")
    rack = make(fleet, "r1", parent=row)
    put(fleet, rack, "n1")
    fleet.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "gone"}, status=202)
    fleet.baremetal("DELETE", "/nodes/n1", status=204)  # a node that is deleted leaves its domains
    assert ask(fleet, "GET", f"/{rack}")["nodes"] == 0
    ask(fleet, "DELETE", f"/{rack}", status=204)
    ask(fleet, "DELETE", f"/{row}", status=204)
    assert ask(fleet, "GET") == {"domains": []}
    rows = fleet.database.read(lambda session: session.scalars(select(DomainMember.node_id)).all())
    assert rows == []


def test_lists_in_pages(fleet: Service) -> None:
    row = make(fleet, "a", "row")
    for number in range(3):
        make(fleet, f"r{number}", parent=row)
    put(fleet, make(fleet, "z", "hall"), "n1", "n2", "n3")
    names = [each["name"] for each in ask(fleet, "GET")["domains"]]
    assert names == ["z", "r0", "r1", "r2", "a"]
    assert [each["name"] for each in ask(fleet, "GET", f"?parent={row}&level=rack&name=r1")["domains"]] == ["r1"]
    found, path = [], "?limit=2"
    while path:
        page = ask(fleet, "GET", path)
        found += [each["name"] for each in page["domains"]]
        links = page.get("domains_links")
        path = links[0]["href"].split("/domains")[1] if links else ""
    assert found == names
    hall = ask(fleet, "GET", "?level=hall")["domains"][0]["uuid"]
    first = ask(fleet, "GET", f"/{hall}/nodes?limit=2")
    assert [each["set_by"] for each in first["nodes"]] == ["person"] * 2
    rest = ask(fleet, "GET", first["nodes_links"][0]["href"].split("/domains")[1])
    assert [each["name"] for each in rest["nodes"]] == ["n3"]


def test_a_list_is_one_statement(fleet: Service) -> None:
    """However many domains and nodes there are; the nodes of a domain take one more, and so does capacity by
    domain, which looks at the levels first."""
    rack = make(fleet, "r1", parent=make(fleet, "a", "row"))
    put(fleet, rack, "n1", "n2")
    counts = []
    for path in ("domains", f"domains/{rack}/nodes", "capacity?group_by=domain:rack,domain:row"):
        with fleet.statements() as statements:
            fleet.http.get(f"/scheduling/v1/{path}")
        counts.append(len(statements))
    assert counts == [1, 2, 2]


def test_until_earlier_releases_have_ended_nothing_can_be_made(fleet: Service) -> None:
    rack = make(fleet, "r1")
    put(fleet, rack, "n1")
    fleet.database.write(lambda session: session.execute(update(SchemaState).values(served_since="0021")))
    with unchanged(fleet):
        message = ask(fleet, "POST", body={"name": "r2", "level": "rack"}, status=503)
        assert "db upgrade --finish" in message
        assert ask(fleet, "PUT", f"/{rack}/nodes/n2", status=503) == message
        assert ask(fleet, "POST", "/from_property", {"level": "rack", "property": "rack"}, status=503) == message
    assert names_in(fleet, rack) == ["n1"]


# -- callers -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def tenants(database_url: str) -> Iterator[Service]:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        service.add_node("n1", owner="owners")
        service.add_node("n2", owner="others")
        yield service


def test_what_tenants_see(tenants: Service) -> None:
    racks = {}
    for number in (1, 2):
        body = {"name": f"r{number}", "level": "rack"}
        racks[number] = ask(tenants, "POST", body=body, status=201, by=ADMINISTRATOR)["uuid"]
        ask(tenants, "PUT", f"/{racks[number]}/nodes/n{number}", status=204, by=ADMINISTRATOR)
    assert [(each["name"], each["nodes"]) for each in ask(tenants, "GET", by=OWNER)["domains"]] == [("r1", 1)]
    assert ask(tenants, "GET", f"/{racks[1]}", by=OWNER)["nodes"] == 1
    ask(tenants, "GET", f"/{racks[2]}", by=OWNER, status=404)
    ask(tenants, "GET", f"/{racks[2]}/nodes", by=OWNER, status=404)
    ask(tenants, "GET", f"?marker={racks[2]}", by=OWNER, status=400)
    found = tenants.http.get("/scheduling/v1/capacity?group_by=domain:rack", headers=OWNER).json["capacity"]
    assert [(each["domain:rack"], each["total"]) for each in found] == [("r1", 1)]
    path = f"/scheduling/v1/explanations?resources=CUSTOM_GOLD:1&member_of=in:{racks[1]},{racks[2]}"
    explained = tenants.http.get(path, headers=OWNER).text
    assert "(rack r1)" in explained
    assert "rack r2" not in explained
    body = {"level": "rack", "property": "rack"}
    with unchanged(tenants):
        # A caller who does not see a node in the bare metal API puts it nowhere.
        ask(tenants, "PUT", f"/{racks[1]}/nodes/n2", by=PROJECT_ADMIN, status=404)
        ask(tenants, "DELETE", f"/{racks[2]}/nodes/n2", by=PROJECT_ADMIN, status=404)
        assert ask(tenants, "POST", "/from_property", body, by=SERVICE)["nodes"] == 0
        for tenant in (OWNER, OWNERS_ADMIN, PROJECT_ADMIN):
            ask(tenants, "POST", body={"name": "r3", "level": "rack"}, by=tenant, status=403)
            ask(tenants, "DELETE", f"/{racks[1]}", by=tenant, status=403)
            ask(tenants, "PATCH", f"/{racks[1]}", {"name": "x"}, by=tenant, status=403)
            ask(tenants, "PATCH", f"/{racks[1]}", {"parent": NOWHERE}, by=tenant, status=403)
            ask(tenants, "POST", "/from_property", body, by=tenant, status=403)
        for owner in (OWNER, OWNERS_ADMIN):
            ask(tenants, "PUT", f"/{racks[1]}/nodes/n1", by=owner, status=403)
            ask(tenants, "DELETE", f"/{racks[1]}/nodes/n1", by=owner, status=403)
    ask(tenants, "PATCH", f"/{racks[2]}", {"name": "r3"}, by=SERVICE)


def test_names_of_domains_have_a_rule(database_url: str, tmp_path: Path) -> None:
    """Figures and pages show them only to callers who may see domains."""
    rules = tmp_path / "policy.json"
    rules.write_text('{"scheduling:domains:get": "role:admin"}')
    settings: Any = {"api": {"auth_strategy": "noauth2"}, "oslo_policy": {"policy_file": str(rules)}}
    with Service(database_url, **settings) as service:
        make_rack = {"name": "r1", "level": "rack"}
        ask(service, "POST", body=make_rack, status=201, by=ADMINISTRATOR)
        for path in (
            *(
                "scheduling/v1/capacity?group_by=domain:rack",
                "ui/capacity?level=rack",
                "scheduling/v1/holds?domain=rack:r1",
            ),
            *("baremetal/v1/nodes?domain=rack:r1", "ui/nodes?domain=rack:r1"),
        ):
            service.http.get(f"/{path}", headers=OWNER, status=403)
            service.http.get(f"/{path}", headers=ADMINISTRATOR, status=200)


# -- the reconciliation ------------------------------------------------------------------------------------------------


def aggregates_of(service: Service, provider: str, *wanted: str) -> None:
    """Replace the aggregates of a provider, as a client of placement does."""
    path = f"/resource_providers/{provider}/aggregates"
    generation = service.placement("GET", path).json["resource_provider_generation"]
    service.placement("PUT", path, {"aggregates": list(wanted), "resource_provider_generation": generation})


def test_what_somebody_changed_in_placement_is_undone(fleet: Service) -> None:
    """Traits are put right in the same way; a provider that is no node, and an aggregate that is no domain, stay."""
    first, second = make(fleet, "r1"), make(fleet, "r2")
    put(fleet, first, "n1")
    uuids = {name: fleet.node(name)["uuid"] for name in ("n1", "n2")}
    plain = fleet.placement("POST", "/resource_providers", {"name": "disks"}).json["uuid"]
    aggregates_of(fleet, plain, first)
    aggregates_of(fleet, uuids["n1"], second, NOWHERE)
    aggregates_of(fleet, uuids["n2"], first)
    assert len(fleet.database.snapshot(audit)) == 3
    fleet.conductors["c1"].run_periodic_task(next(task for task in PERIODIC_TASKS if task.name == "providers"))
    assert (in_aggregate(fleet, first), in_aggregate(fleet, second)) == ({"n1", "disks"}, set())
    assert in_aggregate(fleet, NOWHERE) == {"n1"}
    assert fleet.database.snapshot(audit) == []
    events = fleet.baremetal("GET", f"/nodes/{uuids['n1']}/history?detail=true").json["history"]
    assert f"taken out of aggregate {second}, put into aggregate {first}" in events[-1]["event"]
    aggregates_of(fleet, uuids["n1"])
    put(fleet, first, "n1")  # a person need not wait for the conductor
    assert in_aggregate(fleet, first) == {"n1", "disks"}
