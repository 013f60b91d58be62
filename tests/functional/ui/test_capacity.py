"""The page of capacity."""

import pytest

from tests.functional.scheduling.test_domains import make, put
from tests.functional.ui.pages import look
from tests.functional.ui.test_fleet import ADMIN, HOSTILE, figures
from tests.service import Service

TABLE = "Machines by resource class and conductor group, the most first"


def test_an_empty_fleet(database_url: str) -> None:
    with Service(database_url) as service:
        document = look(service, "/capacity")
        assert "There are no machines yet." in document.text
        assert not document.all("svg")
        assert "No machine matches these filters." in look(service, "/capacity?traits=CUSTOM_A").text


def test_classes_by_groups(service: Service) -> None:
    service.add_node("n1", traits=("CUSTOM_NVME",))
    service.add_node("n2", traits=("CUSTOM_NVME", "CUSTOM_OLD"), power=False)
    service.add_node("n3")
    service.set_columns(service.add_node("n4", power=False), resource_class="silver", conductor_group="rack1")
    service.add_node("n5", resource_class=None)
    document = look(service, "/capacity")
    assert figures(document) == {"Machines": "5", "Free": "2"}
    assert document.rows(TABLE) == [
        ["gold", "(default)", "3", "2", "0", "1", "power unknown: 1"],
        ["(none)", "(default)", "1", "0", "0", "1", "resource class: 1"],
        ["silver", "rack1", "1", "0", "0", "1", "power unknown: 1"],
    ]
    (picture,) = document.all("svg")
    assert picture["role"] == "group"
    assert "/ui/nodes?resource_class=gold&conductor_group=%28default%29" in document.links()
    assert {"2 / 3", "0 / 1"} < {text for where, text in document.texts if where == "text"}
    # Links lead to lists that have the filters of the page too.
    document = look(service, "/capacity?traits=CUSTOM_NVME&not-traits-any=CUSTOM_OLD,%20CUSTOM_X&resource_class=")
    assert document.rows(TABLE) == [["gold", "(default)", "1", "1", "0", "0", ""]]
    link = next(each for each in document.links() if each.startswith("/ui/nodes?") and "resource_class" in each)
    assert "n1" in look(service, link.removeprefix("/ui")).text
    assert "n2" not in look(service, link.removeprefix("/ui")).text
    assert look(service, "/capacity?conductor_group=rack1").rows(TABLE)[0][:2] == ["silver", "rack1"]
    assert len(look(service, "/capacity?conductor_group=(default)").rows(TABLE)) == 2


def test_by_domain(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, rack in (("n1", "r1"), ("n2", "r1"), ("n3", "r2"), ("n4", None)):
        service.add_node(name, properties={} if rack is None else {"rack": rack}, traits=("CUSTOM_A",) * (name != "n3"))
    assert "By domain" not in look(service, "/capacity").text
    service.http.post_json("/scheduling/v1/domains/from_property", {"level": "rack", "property": "rack"})
    service.baremetal("PUT", "/nodes/n4/maintenance", {"reason": "fan"})
    assert look(service).terms["In no rack"] == "1"
    assert "/ui/capacity?level=rack#domains" in look(service, "/capacity").links()
    table = look(service, "/capacity?level=rack&traits=CUSTOM_A").rows("Machines by rack")
    assert table == [["in no rack", "1", "0", "0", "1", "maintenance: 1"], ["r1", "2", "2", "0", "0", ""]]
    assert "/ui/capacity?level=rack&format=csv" in look(service, "/capacity?level=rack").links()
    sheet = service.http.get("/ui/capacity?level=rack&format=csv").text.splitlines()
    names = ("domain:rack", "total", "free", "allocated", "unavailable", "held.type", "held.nodes", "held.until")
    assert sheet[:2] == [",".join(f'"{name}"' for name in names), '"",1,0,0,"maintenance: 1","legacy","1",""']
    assert [
        each["domain:rack"] for each in service.http.get("/ui/capacity?level=rack&format=json").json["capacity"]
    ] == [*(None, "r1", "r2")]
    monkeypatch.setattr("baremetal_sched.ui.capacity.MOST_ROWS", 2)
    assert "And 1 more row." in look(service, "/capacity?level=rack").text
    assert "There is no level hall. Levels: rack." in look(service, "/capacity?level=hall", 400).text
    assert "There is no level <b>." in look(service, "/capacity?level=%3Cb%3E", 400).text


def test_numbers_by_domain_lead_to_their_machines(service: Service) -> None:
    """Those of the table, and those of the map by class and level; also of machines in no domain, and with a filter."""
    for name, rack in (("n1", "r1"), ("n2", "r1"), ("n3", "in no rack"), ("n4", None), ("n5", None)):
        service.add_node(name, properties={} if rack is None else {"rack": rack})
    service.set_columns(service.node("n2")["uuid"], resource_class="silver")
    service.http.post_json("/scheduling/v1/domains/from_property", {"level": "rack", "property": "rack"})
    row = make(service, "a", "row")
    put(service, row, "n1", "n4")
    for query, machines in (("", 5), ("&domain=row:a", 2), ("&domain=rack:", 2)):
        document = look(service, f"/capacity?level=rack{query}")
        links = [each for each in document.links() if each.startswith("/ui/nodes?") and "domain=rack" in each]
        counted = 0
        for link in dict.fromkeys(links):
            page = look(service, link.removeprefix("/ui"))
            # The page's own filter is that of the sum above.
            if "offer" not in link and "resource_class" not in link and link.count("domain=") == 1 + bool(query):
                counted += len(page.rows("Nodes"))
        assert counted == machines
    document = look(service, "/capacity?level=rack")
    assert ("h2", "By class and rack") in document.texts
    cells = [text for where, text in document.texts if where == "text"]
    assert {"(in no rack)", "in no rack", "r1"} < set(cells)
    assert "/ui/nodes?resource_class=silver&domain=rack%3Ar1" in document.links()
    assert ("h2", "By class and conductor group") in look(service, "/capacity").texts


@pytest.mark.sqlite_only
def test_what_is_refused(service: Service, subtests: pytest.Subtests) -> None:
    for query, said in [
        ("traits=nvme", "Invalid traits"),
        ("traits=%3Cscript%3E", "Invalid traits"),
        ("group_by=owner", "Unexpected arguments: group_by"),
        ("driver=a&driver=b", "one value for driver"),
        ("owner=%00", "NUL"),
    ]:
        with subtests.test(query=query):
            assert said in look(service, f"/capacity?{query}", 400).text


def test_hostile_names_are_texts(service: Service) -> None:
    service.set_columns(service.add_node("n1", power=False), resource_class=HOSTILE, conductor_group=HOSTILE)
    document = look(service, "/capacity")
    assert document.rows(TABLE)[0][:2] == [HOSTILE, HOSTILE]
    for link in [each for each in document.links() if each.startswith("/ui/nodes")][1:]:
        assert "n1" in look(service, link.removeprefix("/ui")).text


def test_two_statements_whatever_the_fleet(
    service: Service, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    for nodes in [0, 6]:
        with subtests.test(nodes=nodes):
            monkeypatch.setattr("baremetal_sched.ui.capacity.MOST_ROWS", 2)
            for place in range(nodes):
                service.add_node(f"n{place}", resource_class=f"class{place}", power=False)
            with service.statements() as statements:
                document = look(service, "/capacity?not-traits=CUSTOM_A")
            assert len(statements) == 2
            if nodes:
                assert len(document.rows(TABLE)) == 2
                assert "And 4 more rows" in document.text


def test_tenants_see_their_own_machines(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        service.add_node("bert", owner="b", resource_class="secret-class")
        service.add_node("leased", owner="b", lessee="a")
        anna = {"X-Auth-Token": "anna:a", "X-Roles": "reader"}
        own = look(service, "/capacity", **anna)
        assert [row[0] for row in own.rows(TABLE)] == ["gold"]
        assert "secret" not in own.text
        assert "No machine matches" in look(service, "/capacity?resource_class=secret-class", **anna).text
        assert len(look(service, "/capacity", **ADMIN).rows(TABLE)) == 2
        look(service, "/capacity", 403, **{"X-Auth-Token": "u:a", "X-Roles": "other"})
