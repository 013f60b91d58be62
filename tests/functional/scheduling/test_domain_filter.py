# tier: first
"""The filter by domain is the same in all lists: what it selects, what is refused, and what tenants hear."""

import html
from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.scheduling.test_domains import NOWHERE, OWNER, ask, make, put
from tests.numbered import number_all
from tests.service import ADMINISTRATOR, Service
from tests.unchanged import unchanged

#: Lists with the filter.
LISTS = ("baremetal/v1/nodes", "baremetal/v1/nodes/detail", "scheduling/v1/capacity", "scheduling/v1/holds", "ui/nodes")


@pytest.fixture
def fleet(service: Service) -> Service:
    """A row with a rack and a machine beside it; a second rack; a machine that is in no rack."""
    for name in ("n1", "n2", "n3", "n4"):
        service.add_node(name)
    row = make(service, "a", "row")
    put(service, make(service, "r1", parent="row:a"), "n1")
    put(service, row, "n2")
    put(service, make(service, "r2"), "n3")
    return service


def names(service: Service, domain: str) -> list[str]:
    found = service.baremetal("GET", f"/nodes?domain={domain}&sort_key=name").json["nodes"]
    return [node["name"] for node in found]


def message(service: Service, path: str, by: Any = None) -> str:
    """The text of the refusal, as the page or the API has it."""
    return html.unescape(service.http.get(f"/{path}", headers=by or {}, status=400).text)


def test_a_list_has_the_machines_of_a_domain_and_below_it(fleet: Service, subtests: pytest.Subtests) -> None:
    uuid = ask(fleet, "GET", "/row:a")["uuid"]
    for domain, expected in [
        ("rack:r1", ["n1"]),
        ("row:a", ["n1", "n2"]),
        (uuid, ["n1", "n2"]),
        (uuid.upper().replace("-", ""), ["n1", "n2"]),
        ("rack:", ["n2", "n4"]),
        ("row:a&domain=rack:", ["n2"]),
        ("row:a&domain=rack:r2", []),
        ("row:a&resource_class=other", []),
    ]:
        with subtests.test(domain=domain):
            assert names(fleet, domain) == expected
            counted = fleet.http.get(f"/scheduling/v1/capacity?domain={domain}").json["capacity"]
            assert sum(each["total"] for each in counted) == len(expected)


def test_a_rack_is_held(fleet: Service) -> None:
    body = {"type": "operator_hold", "reason": "power works", "filter": {"domain": "row:a"}}
    made = fleet.http.post_json("/scheduling/v1/holds", body, status=201).json["maintenance"]
    assert sorted(each["node_name"] for each in made) == ["n1", "n2"]
    held = fleet.http.get("/scheduling/v1/holds?domain=rack:r1").json["maintenance"]
    assert [each["node_name"] for each in held] == ["n1"]
    with unchanged(fleet):
        for domain in ("rack:r9", NOWHERE, "r1", ":", ""):
            refused = {**body, "filter": {"domain": domain}}
            fleet.http.post_json("/scheduling/v1/holds", refused, status=400)


def test_what_there_is_not_is_refused_with_what_there_is(fleet: Service, subtests: pytest.Subtests) -> None:
    for domain, said in [
        ("rak:r1", "There is no level rak. Levels: rack, row."),
        ("rak:", "There is no level rak. Levels: rack, row."),
        ("rack:r11", "There is no domain rack:r11. Did you mean 'r1'? Domains of the level rack: r1, r2."),
        ("r1", "Domains of several levels may be called r1: write rack:r1, or the UUID."),
        ("r9", "There is no domain r9. Write its UUID, or LEVEL:NAME. Levels: rack, row."),
        (NOWHERE, f"There is no domain {NOWHERE}. Write its UUID, or LEVEL:NAME. Levels: rack, row."),
        ("&domain=".join("abcde"), "Expected at most 4 values for domain: there are 5."),
    ]:
        for path in LISTS:
            with subtests.test(domain=domain, path=path):
                assert said in message(fleet, f"{path}?domain={domain}")


def test_events_of_a_domain(fleet: Service) -> None:
    """Of the nodes that are in it today: the answer looks at a window of events, and says with its cursor how far."""
    number_all(fleet)
    path = "/scheduling/v1/events?limit=1000&domain="

    def names_in(domain: str) -> set[str]:
        return {each["data"]["name"] for each in fleet.http.get(path + domain).json["events"]}

    assert (names_in("row:a"), names_in("rack:r1"), names_in("rack:")) == ({"n1", "n2"}, {"n1"}, {"n2", "n4"})
    put(fleet, "rack:r1", "n4")
    assert names_in("row:a") == {"n1", "n2", "n4"}
    for query in ("", "&after=now", "&wait=5&after=now"):
        refused = fleet.http.get(f"{path}rak:r1{query}", status=400).json["error"]["message"]
        assert refused == "There is no level rak. Levels: rack, row."


@pytest.fixture
def tenants(database_url: str) -> Iterator[Service]:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        service.add_node("n1", owner="owners")
        service.add_node("n2", owner="others")
        for level, name, node in (("rack", "r1", "n1"), ("rack", "r2", "n2"), ("cage", "c1", "n2")):
            ask(service, "POST", body={"name": name, "level": level}, status=201, by=ADMINISTRATOR)
            ask(service, "PUT", f"/{level}:{name}/nodes/{node}", status=204, by=ADMINISTRATOR)
        yield service


def test_what_a_tenant_does_not_see_is_like_what_is_not_there(tenants: Service, subtests: pytest.Subtests) -> None:
    foreign = ask(tenants, "GET", "/rack:r2", by=ADMINISTRATOR)["uuid"]
    for path in (*LISTS[:-1], "scheduling/v1/events"):
        for hidden, missing in [("rack:r2", "rack:r3"), (foreign, NOWHERE), ("cage:c1", "coge:c1"), ("cage:", "coge:")]:
            with subtests.test(path=path, hidden=hidden):
                answer = message(tenants, f"{path}?domain={hidden}", by=OWNER)
                there = answer.replace(hidden, missing).replace("cage", "coge")
                assert there == message(tenants, f"{path}?domain={missing}", by=OWNER)
    for path in LISTS:
        assert "Domains of the level rack: r1." in message(tenants, f"{path}?domain=rack:r2", by=OWNER)
        tenants.http.get(f"/{path}?domain=rack:r1", headers=OWNER, status=200)
    assert ask(tenants, "GET", "/rack:r2", by=OWNER, status=404) == "There is no domain rack:r2."
    assert ask(tenants, "GET", "/r2", by=OWNER, status=404) == "There is no domain r2."
