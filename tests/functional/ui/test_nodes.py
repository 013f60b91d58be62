"""The list of nodes: filters, pages, and refusals."""

import re
from datetime import timedelta
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.holds import holds
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node
from tests.functional.scheduling.test_domains import make, put
from tests.functional.ui.pages import Document, look
from tests.functional.ui.test_fleet import ADMIN, HOSTILE
from tests.service import Service

NODES = "Nodes"
UNKNOWN = "00000000-0000-4000-8000-000000000009"


def names(document: Document) -> list[str]:
    """Return the first column of the list."""
    return [row[0] for row in document.rows(NODES)] if NODES in document.tables else []


def link(document: Document, rel: str) -> str | None:
    """Where the link to the next or the previous page leads, below /ui."""
    found = [each["href"] or "" for each in document.all("a") if each.get("rel") == rel]
    return found[0].removeprefix("/ui") if found else None


def test_an_empty_fleet(service: Service) -> None:
    assert "There are no nodes." in look(service, "/nodes").text


@pytest.fixture
def fleet(service: Service) -> Service:
    """Four nodes that differ in what can be filtered by."""
    service.add_conductor("c2", "rack1")
    service.add_node("n1", traits=("CUSTOM_A", "CUSTOM_B"))
    service.add_node("n2", traits=("CUSTOM_A",), resource_class="silver", power=False)
    service.add_node("n3", traits=("CUSTOM_B",), conductor_group="rack1", power=False)
    service.add_node("n4", traits=("CUSTOM_C",), power=False, owner="anna")
    service.baremetal("PUT", "/nodes/n2/maintenance", {"reason": "disk"})
    service.set_columns(service.node("n2")["uuid"], lessee="bert")
    service.set_columns(service.node("n3")["uuid"], instance_uuid=UNKNOWN, provision_state="active")
    return service


FILTERS = {
    "": "n1 n2 n3 n4",
    "traits=CUSTOM_A": "n1 n2",
    "traits=CUSTOM_A+CUSTOM_B": "n1",
    "traits=+CUSTOM_A+,,++CUSTOM_B": "n1",
    "traits-any=CUSTOM_B,CUSTOM_C": "n1 n3 n4",
    "not-traits=CUSTOM_A,CUSTOM_B": "n2 n3 n4",
    "not-traits-any=CUSTOM_A": "n3 n4",
    "resource_class=silver": "n2",
    "resource_class=bronze": "",
    "conductor_group=RACK1": "n3",
    "conductor_group=(default)": "n1 n2 n4",
    "provision_state=active": "n3",
    "maintenance=true": "n2",
    "associated=false&maintenance=false": "n1 n4",
    "owner=anna": "n4",
    "name=N3": "n3",
    "driver=fake-hardware&lessee=bert": "n2",
    "offer=free": "n1",
    "offer=maintenance": "n2",
    "offer=allocated": "n3",
    "failed=true": "",
    "failed=false": "n1 n2 n3 n4",
    "served=true&maintenance=false": "n1 n3 n4",
    "served=false": "",
    "sort_key=name&sort_dir=desc": "n4 n3 n2 n1",
    "sort_key=resource_class&sort_dir=desc": "n2 n4 n3 n1",
    "sort_key=owner": "n1 n2 n3 n4",
    "traits=&resource_class=&maintenance=&conductor_group=+&owner=": "n1 n2 n3 n4",
}


def test_filters(fleet: Service) -> None:
    for query, expected in FILTERS.items():
        document = look(fleet, f"/nodes?{query}")
        assert names(document) == expected.split(), query
    assert "No node matches these filters." in look(fleet, "/nodes?resource_class=bronze").text


def test_the_order_is_that_of_the_names(service: Service) -> None:
    """Both ways over pages, nodes without a name first."""
    for name in ("b", None, "c", "a", None):
        service.add_node(name, power=False)
    pages = []
    document = look(service, "/nodes?limit=2")
    while document:
        pages.append([each if len(each) == 1 else "-" for each in names(document)])
        after = link(document, "next")
        if after is None:
            break
        document = look(service, after)
    assert pages == [["-", "-"], ["a", "b"], ["c"]]
    before = link(document, "prev")
    assert before is not None
    assert names(look(service, before)) == ["a", "b"]


def test_what_a_row_says(fleet: Service) -> None:
    rows = {row[0]: row[1:] for row in look(fleet, "/nodes").rows(NODES)}
    assert rows["n1"] == ["available", "free", "gold", "(default)", "power on", "none", "now"]
    assert rows["n2"][:3] == ["available maintenance", "maintenance", "silver"]
    assert rows["n3"][:5] == ["active", f"allocated {UNKNOWN[:8]}", "gold", "rack1", "unknown"]
    assert rows["n4"][1:6] == ["power unknown", "gold", "(default)", "unknown", "anna"]
    (row,) = look(fleet, "/nodes?maintenance=true").rows(NODES)
    assert row[-1] == "disk"


def test_what_has_failed_and_why(fleet: Service) -> None:
    fleet.set_columns(fleet.node("n1")["uuid"], provision_state="deploy failed", last_error="The disk is full.")
    fleet.set_columns(fleet.node("n4")["uuid"], fault="power failure")
    rows = look(fleet, "/nodes?failed=true&sort_key=name").rows(NODES)
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        ("n1", "deploy failed", "The disk is full."),
        ("n4", "available power failure", "none"),
    ]


def test_nodes_that_no_conductor_serves(fleet: Service) -> None:
    fleet.set_columns(fleet.node("n2")["uuid"], conductor_group="gone")
    assert names(look(fleet, "/nodes?served=false")) == ["n2"]


def test_the_filters_propose_what_there_is(fleet: Service) -> None:
    proposed = [each["value"] for each in look(fleet, "/nodes").all("option")]
    assert {"gold", "silver", "(default)", "rack1", "CUSTOM_A", "CUSTOM_C"} <= set(proposed)
    assert (
        "No node has the resource class 'golt'. Did you mean 'gold'?" in look(fleet, "/nodes?resource_class=golt").text
    )
    said = look(fleet, "/nodes?traits=CUSTOM_AA&conductor_group=rack2").text
    assert "Did you mean 'rack1'?" in said
    assert "No node has the trait 'CUSTOM_AA'. Did you mean 'CUSTOM_A'?" in said


def test_every_column_but_the_computed_one_sorts(fleet: Service) -> None:
    document = look(fleet, "/nodes?sort_key=name&owner=anna")
    columns = [each for each in document.all("th") if each.get("scope") == "col"]
    assert [each.get("aria-sort") for each in columns] == ["ascending", "none", None, *["none"] * 5]
    links = [parse_qs(urlsplit(each).query) for each in document.links() if "sort_key" in each and "owner" in each]
    assert {"owner": ["anna"], "sort_key": ["name"], "sort_dir": ["desc"]} in links
    assert {"owner": ["anna"], "sort_key": ["power_state"]} in links


def test_the_form_shows_what_was_asked_for_and_each_filter_can_be_removed(fleet: Service) -> None:
    document = look(fleet, "/nodes?traits=CUSTOM_A&owner=x&maintenance=true&limit=7")
    values = {each["name"]: each["value"] for each in document.all("input")}
    assert values["traits"] == "CUSTOM_A"
    assert values["owner"] == "x"
    assert values["limit"] == "7"
    selected = [each["value"] for each in document.all("option") if "selected" in each]
    assert selected == ["", "", "true", "", ""]
    left = [
        parse_qs(urlsplit(each).query)
        for each in document.links()
        if "?" in each and not {"sort_key", "format"} & parse_qs(urlsplit(each).query).keys()
    ]
    assert left == [
        {"owner": ["x"], "maintenance": ["true"], "limit": ["7"]},
        {"traits": ["CUSTOM_A"], "maintenance": ["true"], "limit": ["7"]},
        {"traits": ["CUSTOM_A"], "owner": ["x"], "limit": ["7"]},
    ]


def test_pages_forth_and_back(service: Service) -> None:
    expected = [f"n{place}" for place in range(7)]
    for name in expected:
        service.add_node(name, power=False)
    there_and_back(service, "/nodes?limit=3&resource_class=gold", expected)
    there_and_back(service, "/nodes?limit=3&resource_class=gold&sort_key=owner", expected)
    there_and_back(service, "/nodes?limit=3&resource_class=gold&sort_key=name&sort_dir=desc", expected[::-1])


def there_and_back(service: Service, first: str, expected: list[str]) -> None:
    path: str | None = first
    forth: list[list[str]] = []
    while path is not None:
        document = look(service, path)
        forth.append(names(document))
        path = link(document, "next")
        assert (link(document, "prev") is None) == (len(forth) == 1)
    assert forth == [expected[:3], expected[3:6], expected[6:]]
    back = [names(document)]
    while (path := link(document, "prev")) is not None:
        document = look(service, path)
        back.append(names(document))
        assert link(document, "next") is not None
    assert back == [expected[6:], expected[3:6], expected[:3]]
    assert parse_qs(urlsplit(link(document, "next") or "").query).keys() >= {"limit", "resource_class", "marker"}


def test_a_page_behind_the_last_node(service: Service) -> None:
    uuid = service.add_node("n1", power=False)
    assert "There are no more nodes." in look(service, f"/nodes?marker={uuid}").text
    assert "There are no more nodes." in look(service, f"/nodes?before={uuid}").text


def test_machines_are_shown_with_their_domains(service: Service) -> None:
    """In the list, and on the page of one: each domain leads to the machines that are in it."""
    for name in ("n1", "n2"):
        service.add_node(name)
    assert all(len(row) == 8 for row in look(service, "/nodes").rows("Nodes"))
    put(service, make(service, "r <1>", parent=make(service, "a", "row")), "n1")
    document = look(service, "/nodes?sort_key=name")
    assert [row[-1] for row in document.rows("Nodes")] == ["r <1> , a", "none"]
    link = "/ui/nodes?domain=rack%3Ar+%3C1%3E"
    assert link in document.links()
    page = look(service, "/nodes/n1")
    assert (page.terms["Rack"], page.terms["Row"]) == ("r <1>", "a")
    assert link in page.links()
    assert names(look(service, link.removeprefix("/ui"))) == ["n1"]
    assert "domain: rack:r <1> Remove" in look(service, link.removeprefix("/ui")).text
    found = look(service, "/find?class=gold")
    assert {row[0]: row[-1] for row in found.rows("Machines that fit")} == {"n1": "r <1> , a", "n2": "none"}


def test_the_number_of_statements_does_not_depend_on_the_fleet(service: Service) -> None:
    for place in range(6):
        service.add_node(f"n{place}", traits=("CUSTOM_A",), power=False)
        if place in (0, 5):
            with service.statements() as statements:
                document = look(service, "/nodes?limit=4&traits=CUSTOM_A")
            assert len(statements) == 7
            assert len(names(document)) == min(place + 1, 4)
    marker = service.node("n0")["uuid"]
    with service.statements() as statements:
        look(service, f"/nodes?limit=4&marker={marker}")
    assert len(statements) == 8
    with service.statements() as statements:
        look(service, f"/nodes?limit=4&marker={marker}&served=true&offer=power+unknown&sort_key=owner")
    assert len(statements) == 9


#: Queries, with the status and what the page says.
REFUSED = [
    ("colour=red", 400, "Unexpected arguments: colour"),
    ("colour=", 400, "Unexpected arguments: colour"),
    ("conductor=c1", 400, "Unexpected arguments: conductor"),
    ("sort_key=nam", 400, "Did you mean 'name'?"),
    ("sort_key=uuid", 400, "cannot be sorted by 'uuid'"),
    ("sort_dir=up", 400, "asc or desc"),
    ("failed=perhaps", 400, "Invalid failed"),
    ("offer=nothing", 200, "No node matches"),
    (f"offer={quote(HOSTILE)}", 200, HOSTILE),
    ("traits=nvme", 400, "Invalid traits"),
    ("provision_state=availabel", 400, "Did you mean 'available'?"),
    ("maintenance=perhaps", 400, "Invalid maintenance"),
    ("limit=0", 400, "limit"),
    ("limit=-1", 400, "limit"),
    (f"limit={'9' * 5000}", 400, "limit"),
    ("limit=x", 400, "limit"),
    ("owner=a&owner=b", 400, "one value for owner"),
    ("marker=n1", 400, "Expected UUID for marker: n1"),
    ("before=%3Cb%3E", 400, "Expected UUID for before: <b>"),
    (f"marker={UNKNOWN}", 404, "Begin with the first page"),
    (f"before={UNKNOWN}", 404, "Begin with the first page"),
    (f"marker={UNKNOWN}&before={UNKNOWN}", 400, "either after a marker or before one"),
    ("owner=a%00b", 400, "NUL"),
    ("owner=%ED%A0%80", 400, "UTF-8"),
    (f"chassis_uuid={UNKNOWN}", 404, UNKNOWN),
    ("traits=" + ",".join(f"CUSTOM_{n}" for n in range(300)), 200, "No node matches these filters."),
    (f"resource_class={'x' * 3000}", 200, "No node matches these filters."),
    (f"owner={quote(HOSTILE)}", 200, HOSTILE),
    (f"traits={quote(HOSTILE)}", 400, "Invalid traits"),
    ("limit=100000", 200, "There are no nodes."),
]


def test_what_is_odd(service: Service) -> None:
    for query, status, said in REFUSED:
        assert said in look(service, f"/nodes?{query}", status).text, query[:60]


@pytest.mark.sqlite_only
def test_a_refused_value_can_be_mended_in_the_form(service: Service) -> None:
    document = look(service, "/nodes?traits=nvme&resource_class=gold", 400)
    values = {each["name"]: each["value"] for each in document.all("input")}
    assert (values["traits"], values["resource_class"]) == ("nvme", "gold")
    assert [each["role"] for each in document.all("p") if each.get("role")] == ["alert"]


def test_hostile_names_are_texts(service: Service) -> None:
    uuid = service.add_node(None, power=False)
    service.set_columns(uuid, resource_class=HOSTILE, owner=HOSTILE, conductor_group=HOSTILE, driver=HOSTILE)
    (row,) = look(service, "/nodes").rows(NODES)
    assert row[0] == uuid
    assert row[3] == row[4] == row[6] == HOSTILE


def test_tenants_see_their_own(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        bert = service.add_node("bert", owner="b", power=False)
        leased = service.add_node("leased", owner="b", lessee="a", power=False)
        anna = {"X-Auth-Token": "anna:a", "X-Roles": "reader"}
        assert names(look(service, "/nodes", **ADMIN)) == ["bert", "leased"]
        assert names(look(service, "/nodes", **anna)) == ["leased"]
        assert names(look(service, "/nodes?owner=b", **anna)) == ["leased"]
        gone, unknown = (look(service, f"/nodes?marker={each}", 404, **anna).text for each in (bert, UNKNOWN))
        # Without the second in which the page was made.
        assert re.sub(r"[0-9:]{8} UTC", "", gone) == re.sub(r"[0-9:]{8} UTC", "", unknown.replace(UNKNOWN, bert))
        assert names(look(service, f"/nodes?before={leased}", **anna)) == []
        look(service, "/nodes?project=b", 403, **anna)
        look(service, "/nodes", 401)


def test_which_failed_since_when_and_why(service: Service) -> None:
    now = utcnow()
    for name, state, days in (("today", "deploy failed", 0), ("old", "clean failed", 3), ("faulty", "active", 99)):
        uuid = service.add_node(name)
        error = f"Failed to clean node {uuid}: no disk"
        service.set_columns(
            uuid, provision_state=state, provision_updated_at=now - timedelta(days=days), last_error=error
        )

    def fail(session: Session) -> None:
        node = session.scalars(select(Node).where(Node.name == "faulty")).one()
        holds.assert_fault(session, node, "power failure", "no answer")

    service.database.write(fail)
    for query, found in (
        ("failed_since=today", {"today", "faulty"}),
        (f"failed_since={(now - timedelta(days=4)).isoformat()}Z", {"today", "old", "faulty"}),
        (f"failed_since={(now + timedelta(days=1)).date()}", set()),
        ("failed=true", {"today", "old", "faulty"}),
    ):
        rows = look(service, f"/nodes?{query}").tables.get("Nodes", [[]])[1:]
        assert {row[0] for row in rows} == found, query
        assert {row[-1] for row in rows} <= {"Failed to clean: no disk"}
    for wrong in ("soon", "2026-13-01", "9999-12-31T23:59:59-23:59"):
        assert "write today, yesterday, last-week, or a time" in look(service, f"/nodes?failed_since={wrong}", 400).text
