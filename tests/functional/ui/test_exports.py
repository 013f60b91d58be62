"""Lists for programs and spreadsheets: ?format=json and ?format=csv."""

import csv
import io

import pytest

from baremetal_sched.ui import exports
from tests.functional.compute.test_servers import add_flavor, add_image
from tests.functional.scheduling.test_claims import UUID, post
from tests.functional.scheduling.test_domains import make
from tests.functional.ui.pages import look
from tests.functional.ui.test_catalog import allocate
from tests.functional.ui.test_fleet import ADMIN
from tests.functional.ui.test_holds import hold
from tests.functional.ui.test_waiting import wait
from tests.service import ADMINISTRATOR, Service

LISTS = (
    "nodes",
    "search",
    "waiting",
    "claims",
    "holds",
    "groups",
    "servers",
    "allocations",
    "flavors",
    "images",
    "capacity",
    "domains",
)
ANNA = {"X-Auth-Token": "anna:a", "X-Roles": "reader"}


def rows(service: Service, path: str, **headers: str) -> list[dict[str, str]]:
    """The rows of a list as CSV."""
    answer = service.http.get(f"/ui{path}", headers=headers)
    assert answer.content_type == "text/csv"
    assert "attachment" in answer.headers["Content-Disposition"]
    return list(csv.DictReader(io.StringIO(answer.text, newline="")))


@pytest.fixture
def full(service: Service) -> Service:
    """A service that has something in each list."""
    for name in ("n1", "n2"):
        service.add_node(name)
    allocate(service, "one", candidate_nodes=["n1"])
    hold(service, "n2", type="operator_hold", reason="=cmd()")
    make(service, "r1")
    wait(service, UUID, query="resources=CUSTOM_SILVER:1")
    add_flavor(service, "bm.gold")
    add_image(service, "debian")
    return service


def test_each_list_has_both_formats_and_links_to_them(full: Service, subtests: pytest.Subtests) -> None:
    full.add_node("n-bronze", resource_class="bronze")
    post(full, {"resource_class": "bronze"}, status=201)
    for name in LISTS:
        with subtests.test(name=name):
            query = "q=n&" if name == "search" else ""
            links = look(full, f"/{name}?{query}".rstrip("?&")).links()
            for kind in ("json", "csv"):
                assert f"/ui/{name}?{query}format={kind}" in links or name in ("servers",)
            answer = full.http.get(f"/ui/{name}?{query}format=json")
            assert answer.content_type == "application/json"
            ((key, found), (_, has_more)) = answer.json.items()
            assert key == ("nodes" if name == "search" else name)
            assert bool(found) == (name != "servers")
            assert has_more is False
            sheet = rows(full, f"/{name}?{query}format=csv")
            assert [{column.partition(".")[0] for column in each} for each in sheet] == [set(each) for each in found]
            assert full.http.head(f"/ui/{name}?{query}format=csv").body == b""
            refused = look(full, f"/{name}?{query}format=jsn", 400)
            assert "There is no format 'jsn', only json, csv. Did you mean 'json'?" in refused.text
            assert "one value for format" in look(full, f"/{name}?{query}format=csv&format=json", 400).text


def test_members_are_those_of_the_api(database_url: str, subtests: pytest.Subtests) -> None:
    """As an administrator and as a member of a project: no more than the API shows the same caller, and no less."""
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        service.add_node("n1", owner="a")
        service.add_node("n2")
        claim = {"query": "resources=CUSTOM_SILVER:1", "wait": 600, "even_if_impossible": True}
        for headers in (ADMIN, ANNA | {"X-Roles": "member", "X-Project-Id": "a"}):
            service.http.post_json("/scheduling/v1/claims", claim, headers=headers, status=202)
        held = {"type": "operator_hold", "extra": {"ticket": "7"}}
        service.http.post_json("/scheduling/v1/nodes/n1/holds", held, headers=ADMINISTRATOR, status=201)
        for who, headers in (("admin", ADMIN), ("member", ANNA)):
            for page, path, name in (
                ("waiting", "claims?state=waiting", "claims"),
                ("holds", "holds", "maintenance"),
                ("groups", "groups", "groups"),
                ("capacity", "capacity?group_by=resource_class,conductor_group", "capacity"),
            ):
                with subtests.test(who=who, page=page):
                    documents = service.http.get(f"/scheduling/v1/{path}", headers=headers).json[name]
                    exported = service.http.get(f"/ui/{page}?format=json", headers=headers).json[page]
                    assert exported == [{key: each[key] for key in each if key != "links"} for each in documents] != []


def test_members_of_members_have_dots_in_csv(full: Service) -> None:
    (waiting,) = rows(full, "/waiting?format=csv")
    assert waiting["consumer.uuid"] == waiting["uuid"] == UUID
    (group,) = rows(full, "/groups?format=csv")
    assert (group["conductors.hostname"], group["conductors.alive"]) == ("c1", "true")
    (row,) = rows(full, "/capacity?format=csv")
    assert (row["held.type"], row["held.nodes"], row["unavailable"]) == ("operator_hold", "1", "maintenance: 1")
    at = exports.members("csv", {"properties": {"a": {"items": {"properties": {"b": {}, "c": {"items": {}}}}}}})
    values = {
        name: column({"a": [{"b": True, "c": [1]}, {"b": None, "c": [2, {"d": 3}]}]}) for name, column in at.items()
    }
    assert {name: exports.cell(value) for name, value in values.items()} == {"a.b": "true, ", "a.c": '1, 2, {"d":3}'}


def test_filters_and_order_apply_and_pages_do_not(full: Service) -> None:
    assert [each["name"] for each in rows(full, "/nodes?format=csv&sort_key=name&sort_dir=desc")] == ["n2", "n1"]
    assert [each["name"] for each in rows(full, "/nodes?format=csv&maintenance=true")] == ["n2"]
    assert [each["name"] for each in rows(full, "/nodes?format=csv&offer=allocated")] == ["n1"]
    assert rows(full, "/allocations?format=csv&state=error") == []
    cut = full.http.get("/ui/nodes?format=json&limit=1")
    assert [each["name"] for each in cut.json["nodes"]] == ["n1"]
    assert cut.json["has_more"] is True
    cut = full.http.get("/ui/nodes?format=csv&limit=1")
    assert cut.headers["Content-Disposition"] == 'attachment; filename="nodes-first-1.csv"'
    look(full, "/nodes?format=csv&marker=x", 400)


def test_a_cell_is_no_formula(full: Service) -> None:
    (held,) = rows(full, "/holds?format=csv")
    assert held["reason"] == "'=cmd()"
    assert full.http.get("/ui/holds?format=json").json["holds"][0]["reason"] == "=cmd()"
    hold(full, "n2", reason="a;=cmd()\t=cmd()")
    # A spreadsheet that splits cells at semicolons or tabs splits no text.
    assert '"a;=cmd()\t=cmd()"' in full.http.get("/ui/holds?format=csv").text
    for text in ("+1", "-1", "@x", "\tx", "=1"):
        assert exports.cell(text) == f"'{text}"
    assert exports.cell(-1) == -1


def test_rows_are_read_some_at_a_time(full: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baremetal_sched.ui.node_rows._CHUNK", 1)
    monkeypatch.setattr("baremetal_sched.db.paging._CHUNK", 1)
    monkeypatch.setattr("baremetal_sched.baremetal.holds.hold_list._CHUNK", 1)
    monkeypatch.setattr(exports, "_CHUNK", 1)
    monkeypatch.setattr(exports, "_IN_MEMORY", 10)
    allocate(full, "two", "silver")
    hold(full, "n1", type="operator_hold")
    for path in ("nodes?sort_key=name", "allocations?sort_key=name", "holds?"):
        assert len(rows(full, f"/{path}&format=csv".replace("?&", "?"))) == 2


def test_callers_get_what_they_may_see(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        for name, owner in (("bert", "b"), ("anna", "a")):
            service.set_columns(service.add_node(name, owner=owner), last_error="trouble")
        everything = rows(service, "/nodes?format=csv", **ADMIN)
        assert [(each["name"], each["last_error"]) for each in everything] == [("anna", "trouble"), ("bert", "trouble")]
        (own,) = rows(service, "/nodes?format=csv", **ANNA)
        assert own["name"] == "anna"
        assert "last_error" not in own
        assert [each["total"] for each in rows(service, "/capacity?format=csv", **ANNA)] == ["1"]
        assert [each["name"] for each in rows(service, "/search?q=n&format=csv", **ANNA)] == ["anna"]
