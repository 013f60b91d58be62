"""Claims of several machines: all or none, spread over domains or together in one, and groups that grow."""

from pathlib import Path
from typing import Any
from uuid import UUID as UUID_TYPE
from uuid import uuid5

import pytest
from sqlalchemy import select, update

from baremetal_sched.baremetal.matching import several
from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.models import MachineGroup, SchemaState
from tests.functional.scheduling.test_claims import (
    CLAIMS,
    FLAVOR,
    LIKE_ALLOCATION,
    QUERY,
    UUID,
    listed,
    message,
    post,
    show,
)
from tests.functional.scheduling.test_domains import ask, make, put
from tests.functional.scheduling.test_shared_resources import HOLDER, Rack
from tests.restored import Rows
from tests.service import ADMINISTRATOR, Service

OTHER = "3f2504e0-4f89-41d3-9a0c-0305e82c3302"
EXPLANATIONS = "/scheduling/v1/explanations"
SPREAD = {"spread": {"by": "rack", "at_most": 1}}
PACK = {"pack": {"by": "rack"}}
TENANT = {"X-Auth-Token": "olga:owners", "X-Roles": "member,reader"}


def claim(service: Service, count: int, status: int = 201, **more: Any) -> Any:
    answer = post(service, status=status, count=count, **more)
    return message(answer) if status >= 400 else answer.json


def names_of(service: Service, claimed: Any) -> list[str]:
    """The names of the machines of a claim, without their order."""
    return sorted(service.node(each["node"])["name"] for each in claimed["machines"])


def racks_of(claimed_names: list[str]) -> list[str]:
    return sorted(name.partition("-")[0] for name in claimed_names)


def fill(service: Service, **racks: int) -> dict[str, str]:
    """Racks with free machines that are called a-0, a-1, …; returns the UUIDs of the domains."""
    domains = {}
    for rack, number in racks.items():
        domains[rack] = make(service, rack)
        for place in range(number):
            service.add_node(f"{rack}-{place}")
        put(service, domains[rack], *(f"{rack}-{place}" for place in range(number)))
    return domains


def test_all_or_none(served: Service) -> None:
    for name in ("n1", "n2", "n3"):
        served.add_node(name)
    claimed = claim(served, 3, consumer={"uuid": UUID, "project_id": "p", "type": "HOST"})
    assert (claimed["state"], claimed["count"], names_of(served, claimed)) == ("claimed", 3, ["n1", "n2", "n3"])
    assert [each["number"] for each in claimed["machines"]] == [1, 2, 3]
    assert set(claimed["allocations"]) == {each["node"] for each in claimed["machines"]}
    for each in claimed["machines"]:
        held = served.placement("GET", f"/allocations/{each['consumer']}").json
        assert (list(held["allocations"]), held["project_id"], held["consumer_type"]) == ([each["node"]], "p", "HOST")
    assert show(served) == claimed
    # The same body is the same claim.
    again = post(served, status=201, count=3, consumer={"uuid": UUID, "project_id": "p", "type": "HOST"}).json
    assert again == claimed
    assert "another body" in claim(served, 2, 409, consumer={"uuid": UUID, "project_id": "p", "type": "HOST"})
    served.http.delete(f"{CLAIMS}/{UUID}", status=204)
    assert "Only 3 nodes can be had" in claim(served, 4, 409)
    assert served.placement("GET", f"/allocations/{claimed['machines'][0]['consumer']}").json["allocations"] == {}
    claim(served, 3)
    assert served.database.snapshot(audit) == []


def test_every_form_of_a_request(served: Service, row: Rows) -> None:
    fill(served, a=2, b=1)
    for body in (QUERY, LIKE_ALLOCATION, FLAVOR):
        with row(body):
            claimed = post(served, body, count=2, **SPREAD, status=201).json
            assert racks_of(names_of(served, claimed)) == ["a", "b"]
            post(served, body, count=1, **PACK, status=201)


def test_one_is_released(served: Service) -> None:
    for name in ("n1", "n2", "n3"):
        served.add_node(name)
    claimed = claim(served, 3, consumer={"uuid": UUID})
    served.placement("DELETE", f"/allocations/{claimed['machines'][1]['consumer']}")
    shown = show(served)
    assert (shown["state"], shown["count"], [each["number"] for each in shown["machines"]]) == ("claimed", 3, [1, 3])
    assert (listed(served, "state=claimed"), listed(served, "state=released")) == ([UUID], [])
    for place in (0, 2):
        served.placement("DELETE", f"/allocations/{claimed['machines'][place]['consumer']}")
    assert show(served)["state"] == "released"
    assert listed(served, "state=released") == [UUID]
    served.http.delete(f"{CLAIMS}/{UUID}", status=204)
    claim(served, 3)


def test_the_uuid_of_a_consumer_as_that_of_another_claim(served: Service) -> None:
    """A claim of several has nothing under its own UUID, and says which of its consumers has something already."""
    for name in ("n1", "n2"):
        served.add_node(name)
    (first,) = claim(served, 1, consumer={"uuid": UUID}, group="g")["machines"]
    (second,) = claim(served, 1, consumer={"uuid": first["consumer"]}, group="h")["machines"]
    served.placement("DELETE", f"/allocations/{second['consumer']}")
    shown = show(served, first["consumer"])
    assert (shown["state"], shown["machines"], shown["allocations"]) == ("released", [], {})
    taken = str(uuid5(UUID_TYPE(OTHER), "1"))
    post(served, consumer={"uuid": taken}, status=201)
    served.add_node("n3")
    assert f"Consumer {taken} has allocations" in claim(served, 1, 409, consumer={"uuid": OTHER}, group="i")


def test_a_list_is_read_by_claims_not_by_machines(served: Service) -> None:
    """Its statements do not name the consumers, which may be more than a statement can have parameters."""
    for name in ("n1", "n2", "n3", "n4"):
        served.add_node(name)
    seen = []
    for count in (1, 3):
        uuid = claim(served, count, consumer={"uuid": UUID if count == 1 else OTHER}, group=f"g{count}")["uuid"]
        with served.statements() as statements:
            assert len(show(served, uuid)["machines"]) == count
        seen.append(statements[:-1])  # the last names the nodes, some hundred at a time
    assert seen[0] == seen[1]


def test_spread(served: Service) -> None:
    fill(served, a=3, b=1)
    served.add_node("x-0")
    said = claim(served, 3, 409, spread={"by": "rack"})
    assert said.endswith(
        "At most 2 of 3 machines fit with at most 1 in the same rack (domains with room: 2). "
        "To do: allow 2 in the same rack, or ask for 2. In no rack: 1."
    )
    assert racks_of(names_of(served, claim(served, 3, spread={"by": "rack", "at_most": 2}))) == ["a", "a", "b"]


def test_pack(served: Service) -> None:
    fill(served, a=3, b=2, c=4)
    # The rack with the fewest machines to spare.
    assert racks_of(names_of(served, claim(served, 3, **PACK))) == ["a", "a", "a"]
    said = claim(served, 5, 409, **PACK)
    assert "At most 4 of 5 machines fit into one rack (c)." in said
    assert said.endswith("To do: ask for 4, or leave rack out.")


def test_spread_within_one(served: Service) -> None:
    racks = fill(served, a=2, b=1, c=2, d=2)
    rows = {name: make(served, name, "row") for name in ("r1", "r2")}
    for rack, name in (("a", "r1"), ("b", "r1"), ("c", "r2"), ("d", "r2")):
        served.http.patch_json(f"/scheduling/v1/domains/{racks[rack]}", {"parent": rows[name]})
    both = {"pack": {"by": "row"}, "spread": {"by": "rack", "at_most": 2}}
    assert racks_of(names_of(served, claim(served, 4, **both))) == ["c", "c", "d", "d"]
    assert racks_of(names_of(served, claim(served, 3, **both))) == ["a", "a", "b"]


def test_a_group_grows(served: Service) -> None:
    fill(served, a=2, b=2, c=2)
    first = claim(served, 2, group="db", **SPREAD)
    used = racks_of(names_of(served, first))
    (left,) = {"a", "b", "c"} - set(used)
    assert racks_of(names_of(served, claim(served, 1, group="db"))) == [left]
    assert "at most 1 in the same rack" in claim(served, 1, 409, group="db", **SPREAD)
    said = claim(served, 1, 409, group="db", **PACK)
    assert said == (
        "Machine group db is spread by rack, at most 1. Leave spread and pack out, or name another machine group."
    )
    # A released machine makes room, also where it was moved.
    served.placement("DELETE", f"/allocations/{first['machines'][0]['consumer']}")
    claim(served, 1, group="db")
    claim(served, 1, group="other", **PACK)
    served.add_node("n1")
    claim(served, 1, group="loose")
    assert "is neither spread nor packed. Leave" in claim(served, 1, 409, group="loose", **PACK)


def test_each_claim_of_a_group_changes_its_row(served: Service) -> None:
    """On a cluster only writes of the same row meet: without them two claims would not see each other's machines."""
    fill(served, a=1, b=1, c=1)
    revisions = []
    for _ in range(3):
        claim(served, 1, group="g", **SPREAD)
        revisions.append(served.database.read(lambda session: session.scalar(select(MachineGroup.revision))))
    assert revisions == [1, 2, 3]


def test_a_group_counts_where_its_machines_are_now(served: Service) -> None:
    racks = fill(served, a=1, b=2)
    (mine,) = names_of(served, claim(served, 1, group="db", query="resources=CUSTOM_GOLD:1", **SPREAD))
    other = "b" if mine.startswith("a") else "a"
    put(served, racks[other], mine)
    (second,) = names_of(served, claim(served, 1, 201, group="db")) if other == "a" else (None,)
    if second is not None:
        assert second.startswith("b")
    else:
        assert "at most 1" in claim(served, 1, 409, group="db")


def test_a_group_is_gone_with_its_last_machine(served: Service) -> None:
    fill(served, a=2)
    first = claim(served, 1, group="db", consumer={"uuid": UUID, "project_id": "p"}, **PACK)
    assert first["request"]["several"]["group"] == "db"
    # Another project's group is another group.
    claim(served, 1, group="db", consumer={"project_id": "q"}, **SPREAD)
    served.http.delete(f"{CLAIMS}/{UUID}", status=204)
    claim(served, 1, group="db", consumer={"project_id": "p"}, **SPREAD)
    assert "is spread by rack" in claim(served, 1, 409, group="db", consumer={"project_id": "p"}, **PACK)


def test_numbers_that_are_written_as_fractions(served: Service) -> None:
    """JSON does not tell 2.0 from 2."""
    fill(served, a=2, b=2)
    claimed = claim(served, 2.0, spread={"by": "rack", "at_most": 1.0}, group="db")  # type: ignore[arg-type]
    assert (racks_of(names_of(served, claimed)), claimed["count"]) == (["a", "b"], 2)
    assert "at most 1 in the same rack" in claim(served, 2, 409, group="db")


def test_tenants_hear_no_name_of_a_domain_that_they_do_not_see(database_url: str, row: Rows) -> None:
    """They may use machines without an owner, but not see in which domains these are."""
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        for name, owner in (("n1", "owners"), ("n2", "owners"), ("n3", None), ("n4", None), ("n5", None)):
            service.add_node(name, owner=owner)
        for name, nodes in (("mine", ("n1", "n2")), ("hidden", ("n3", "n4", "n5"))):
            rack = ask(service, "POST", body={"name": name, "level": "rack"}, status=201, by=ADMINISTRATOR)["uuid"]
            for node in nodes:
                ask(service, "PUT", f"/{rack}/nodes/{node}", status=204, by=ADMINISTRATOR)
        several, query = {"count": 4, **PACK}, {"query": "resources=CUSTOM_GOLD:1"}
        for door, asked in ((CLAIMS, query), (EXPLANATIONS, query), ("/scheduling/v1/requests", FLAVOR)):
            with row(door):
                body = {**asked, **several}
                told = service.http.post_json(door, body, headers=TENANT, status="*").text
                assert "At most 3 of 4 machines fit into one rack. To do" in told
                told = service.http.post_json(door, body, headers=ADMINISTRATOR, status="*").text
                assert "into one rack (hidden)" in told


def test_what_cannot_be_asked(served: Service, row: Rows) -> None:
    served.add_node("n1")
    host = served.placement("POST", "/resource_providers", {"name": "host"}).json["uuid"]
    body = {"inventories": {"VCPU": {"total": 4}}, "resource_provider_generation": 0}
    served.placement("PUT", f"/resource_providers/{host}/inventories", body)
    for wrong in (
        {"count": 0},
        {"count": 101},
        {"count": 2, "spread": {"at_most": 1}},
        {"count": 2, "spread": {"by": "Rack"}},
        {"count": 2, "pack": {"by": "rack", "at_most": 2}},
        {"group": ""},
        {"count": 2, "query": "resources=VCPU:1"},
    ):
        with row(wrong):
            post(served, status=400, **wrong)


def test_groups_are_refused_while_an_earlier_release_may_serve(served: Service) -> None:
    served.add_node("n1")
    older = update(SchemaState).values(served_since="0027")
    served.database.write(lambda session: session.execute(older) and None)
    assert "knows no machine groups" in claim(served, 1, 503)
    post(served, status=201)


def test_an_explanation_answers_the_same(served: Service) -> None:
    fill(served, a=3, b=1)
    body = {"query": "resources=CUSTOM_GOLD:1", "count": 3, **SPREAD}
    explained = served.http.post_json(EXPLANATIONS, body).json
    assert (explained["verdict"], explained["fitting"], explained["wanted"]) == ("short", 4, 3)
    assert explained["summary"] == claim(served, 3, 409, **SPREAD)
    assert served.http.post_json(EXPLANATIONS, {**body, "count": 2}).json["verdict"] == "fits"


def test_machines_with_parts(served: Service) -> None:
    """Only the search knows which trees fit; what the parts give is claimed, too."""
    fill(served, a=2, b=1)
    children = {}
    for name in ("a-0", "b-0"):
        node = served.node(name)["uuid"]
        new = {"name": f"{name}-card", "parent_provider_uuid": node}
        children[node] = served.placement("POST", "/resource_providers", new).json["uuid"]
        stock = {"resource_class": "CUSTOM_CARD", "total": 2}
        served.placement("PUT", "/resource_classes/CUSTOM_CARD", status="*")
        served.placement("POST", f"/resource_providers/{children[node]}/inventories", stock)
    body = {"query": "resources=CUSTOM_GOLD:1&resources_card=CUSTOM_CARD:2", **SPREAD}
    claimed = post(served, body, count=2, status=201).json
    assert {each["node"] for each in claimed["machines"]} == set(children)
    assert set(claimed["allocations"]) == {*children, *children.values()}
    served.http.delete(f"{CLAIMS}/{claimed['uuid']}", status=204)
    assert "at most 1 in the same rack" in message(post(served, body, count=3, status=409))
    assert served.database.snapshot(audit) == []


def test_nothing_that_machines_share(service: Service) -> None:
    rack = Rack(service)
    rack.service.placement("DELETE", f"/allocations/{HOLDER}")
    said = message(post(service, query="resources=CUSTOM_GOLD:1,DISK_GB:2", count=2, status=400))
    assert "nothing that providers share" in said


def test_a_dry_run_answers_the_same(served: Service) -> None:
    fill(served, a=3, b=1)
    path, body = "/scheduling/v1/requests", {**FLAVOR, "count": 2, **SPREAD}
    found = served.http.post_json(path, body).json["candidates"]
    assert racks_of([served.node(each["node"])["name"] for each in found]) == ["a", "b"]
    refused = served.http.post_json(path, {**body, "count": 3}).json
    assert (refused["candidates"], refused["reason"]) == (
        [],
        message(post(served, FLAVOR, count=3, **SPREAD, status=409)),
    )


def test_more_than_the_first_few_are_counted(served: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(several, "SOME", 1)
    fill(served, a=2, b=2, c=1)
    assert racks_of(names_of(served, claim(served, 3, **SPREAD))) == ["a", "b", "c"]
    assert len(names_of(served, claim(served, 2))) == 2
    claim(served, 1, 409)


def test_what_others_take_meanwhile_is_left_out(served: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The choice is repeated with the machines that are left."""
    fill(served, a=2, b=1)
    lock, lost = several._lock, []

    def losing(session: Any, query: Any, asked: Any, picked: Any) -> Any:
        rows = lock(session, query, asked, picked)
        lost.append(len(rows))
        return rows[1:] if len(lost) == 1 else rows

    monkeypatch.setattr(several, "_lock", losing)
    assert racks_of(names_of(served, claim(served, 2, spread={"by": "rack", "at_most": 2}))) != []
    assert len(lost) == 2


def test_a_level_without_a_domain(served: Service) -> None:
    """It is refused with the levels that there are, unless the claim waits even if it is impossible."""
    fill(served, a=2)
    said = "There is no level rak. Levels: rack."
    for members in ({"spread": {"by": "rak"}}, {"pack": {"by": "rak"}}):
        assert claim(served, 2, 400, **members) == claim(served, 2, 400, wait=60, **members) == said
        answer = served.http.post_json(EXPLANATIONS, {"query": QUERY["query"], "count": 2, **members}, status=400)
        assert answer.json["error"]["message"] == said
        waits = claim(served, 2, 202, wait=60, even_if_impossible=True, **members)
        assert waits["state"] == "waiting"
    body = {"flavor": {"extra_specs": {"resources:CUSTOM_GOLD": "1"}}, "count": 2, "spread": {"by": "rak"}}
    assert served.http.post_json("/scheduling/v1/requests", body, status=400).json["error"]["message"] == said
    assert said in served.http.get("/ui/find?class=gold&wanted=2&spread=rak", status=400).text


def test_levels_for_tenants(database_url: str) -> None:
    """They are those of the machines that the project may use: a level of others is like one that is not there."""
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        for name, owner, level in (("n1", None, "rack"), ("n2", "others", "cage")):
            service.add_node(name, owner=owner)
            ask(service, "POST", body={"name": "d", "level": level}, status=201, by=ADMINISTRATOR)
            ask(service, "PUT", f"/{level}:d/nodes/{name}", status=204, by=ADMINISTRATOR)
        for path, body in ((EXPLANATIONS, {**QUERY}), (CLAIMS, {**QUERY})):
            said = {
                level: service.http.post_json(
                    path, {**body, "count": 2, "spread": {"by": level}}, headers=TENANT, status=400
                ).json["error"]["message"]
                for level in ("cage", "rak")
            }
            assert said == {level: f"There is no level {level}. Levels: rack." for level in said}
        page = service.http.get("/ui/find", headers=TENANT).text
        assert ('<option value="rack">' in page, '<option value="cage">' in page) == (True, False)


def test_a_claim_names_the_domains_of_its_machines(database_url: str, tmp_path: Path) -> None:
    """For those who may see domains. The answer that claims one machine does not look them up."""
    rules = tmp_path / "policy.json"
    rules.write_text('{"scheduling:domains:get": "role:admin"}')
    settings: Any = {"api": {"auth_strategy": "noauth2"}, "oslo_policy": {"policy_file": str(rules)}}
    with Service(database_url, **settings) as service:
        service.add_conductor("c1")
        row = ask(service, "POST", body={"name": "a", "level": "row"}, status=201, by=ADMINISTRATOR)["uuid"]
        for name in ("n1", "n2"):
            service.add_node(name)
            rack = {"name": f"r-{name}", "level": "rack", "parent": row}
            ask(service, "POST", body=rack, status=201, by=ADMINISTRATOR)
            ask(service, "PUT", f"/rack:r-{name}/nodes/{name}", status=204, by=ADMINISTRATOR)
        body = {**QUERY, "count": 2, **SPREAD, "consumer": {"project_id": "owners"}}
        made = service.http.post_json(CLAIMS, body, headers=ADMINISTRATOR, status=201).json
        named = [{"rack": f"r-{name}", "row": "a"} for name in ("n1", "n2")]
        assert [each["domains"] for each in made["machines"]] == named
        path = f"{CLAIMS}/{made['uuid']}"
        assert service.http.get(path, headers=ADMINISTRATOR).json == made
        assert service.http.get(CLAIMS, headers=ADMINISTRATOR).json["claims"] == [made]
        assert all("domains" not in each for each in service.http.get(path, headers=TENANT).json["machines"])
        service.http.delete(path, headers=ADMINISTRATOR, status=204)
        one = service.http.post_json(CLAIMS, QUERY, headers=ADMINISTRATOR, status=201).json
        assert "domains" not in one["machines"][0]
        shown = service.http.get(f"{CLAIMS}/{one['uuid']}", headers=ADMINISTRATOR).json
        assert shown["machines"][0]["domains"] in named
