"""The search box: what it finds, and who finds it."""

from urllib.parse import quote

import pytest

from tests.functional.ui.pages import look
from tests.functional.ui.test_fleet import ADMIN, HOSTILE
from tests.service import Service

FOUND = "Nodes that were found"
INSTANCE = "11111111-0000-4000-8000-000000000001"
CONSUMER = "cccccccc-0000-4000-8000-000000000001"
MAC = "52:54:00:ab:cd:01"


@pytest.fixture
def fleet(service: Service) -> Service:
    for name in ("web-1", "web-2", "db-1"):
        service.add_node(name)
    service.set_columns(service.node("web-2")["uuid"], instance_uuid=INSTANCE, instance_name="shop")
    service.claim(CONSUMER, service.node("db-1")["uuid"])
    service.baremetal("POST", "/ports", {"node_uuid": service.node("web-1")["uuid"], "address": MAC})
    return service


def test_it_goes_to_the_one(fleet: Service, subtests: pytest.Subtests) -> None:
    for asked, name in [
        ("web-1", "web-1"),
        (" web-2 ", "web-2"),
        ("WEB-2", "web-2"),
        ("b-2", "web-2"),
        (MAC, "web-1"),
        (MAC.upper().replace(":", "-"), "web-1"),
        (INSTANCE, "web-2"),
        (INSTANCE.upper(), "web-2"),
        ("shop", "web-2"),
        ("sho", "web-2"),
        (CONSUMER, "db-1"),
    ]:
        with subtests.test(asked=asked):
            answer = fleet.http.get("/ui/search", {"q": asked}, status=303)
            assert answer.headers["Location"].endswith(f"/ui/nodes/{fleet.node(name)['uuid']}")


def test_several_are_a_list(fleet: Service) -> None:
    uuid = fleet.node("db-1")["uuid"]
    assert fleet.http.get("/ui/search", {"q": uuid}, status=303).headers["Location"].endswith(uuid)
    with fleet.statements() as statements:
        document = look(fleet, "/search?q=web")
    assert [row[0] for row in document.rows(FOUND)] == ["web-1", "web-2"]
    assert len(statements) == 3


@pytest.mark.sqlite_only
def test_what_is_odd(service: Service) -> None:
    assert "Enter a name" in look(service, "/search").text
    assert "Enter a name" in look(service, "/search?q=+").text
    for asked in ("nothing", quote(HOSTILE), "x" * 5000, "%27%22--", "%25", "_"):
        assert "Nothing was found" in look(service, f"/search?q={asked}").text
    assert "Unexpected arguments: p" in look(service, "/search?p=1", 400).text
    look(service, "/search?q=%00", 400)


def test_tenants_find_their_own(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        bert = service.add_node("bert-1", owner="b", power=False)
        service.add_node("bert-2", owner="b", power=False)
        mine = service.add_node("bert-leased", owner="b", lessee="a", power=False)
        service.baremetal("POST", "/ports", {"node_uuid": bert, "address": MAC})
        service.set_columns(bert, instance_uuid=INSTANCE, instance_name="shop")
        anna = {"X-Auth-Token": "anna:a", "X-Roles": "reader"}
        assert len(look(service, "/search?q=bert", **ADMIN).rows(FOUND)) == 3
        found = service.http.get("/ui/search?q=bert", headers=anna, status=303)
        assert found.headers["Location"].endswith(mine)
        for asked in ("bert-1", bert, MAC, INSTANCE, "shop"):
            assert "Nothing was found" in look(service, f"/search?q={asked}", **anna).text, asked
        look(service, "/search?q=bert", 401)
