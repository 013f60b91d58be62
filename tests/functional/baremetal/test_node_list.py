# tier: first
"""GET /v1/nodes and /v1/nodes/detail: fields, pages, order, filters."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.built_once import built_once
from tests.restored import Rows
from tests.service import ADMINISTRATOR, LATEST, Service, fault

UUIDS = [f"aaaaaaaa-0000-4000-8000-00000000010{number}" for number in range(7)]


@pytest.fixture
def fleet(service: Service) -> Service:
    built_once(service, build)
    return service


def build(service: Service) -> None:
    for number, uuid in enumerate(UUIDS):
        body = {
            "driver": "fake-hardware" if number else "manual-management",
            "uuid": uuid,
            "name": f"n{number}",
            "resource_class": f"rc{number % 2}",
            "shard": f"S{number % 3}" if number < 6 else None,
            "description": None if number == 2 else f"Desc {number}\\",
            "maintenance": number == 3,
            "lessee": "ll" if number == 4 else None,
        }
        service.baremetal("POST", "/nodes", body)
    service.patch("n5", ("add", "/owner", "o1"))


def names(service: Service, query: str, **options: Any) -> list[str]:
    document = service.baremetal("GET", f"/nodes?fields=name&{query}", **options).json
    return [node["name"] for node in document["nodes"]]


def test_the_short_list(fleet: Service) -> None:
    nodes = fleet.baremetal("GET", "/nodes").json["nodes"]
    assert [node["uuid"] for node in nodes] == UUIDS
    keys = {"instance_uuid", "maintenance", "power_state", "provision_state", "uuid", "name", "links"}
    assert set(nodes[0]) == keys
    assert set(fleet.baremetal("GET", "/nodes", version="1.4").json["nodes"][0]) == keys - {"name"}
    assert nodes[0]["links"][1] == {"href": f"http://localhost/baremetal/nodes/{UUIDS[0]}", "rel": "bookmark"}


def test_the_detailed_list_shows_what_one_node_shows(fleet: Service) -> None:
    one = fleet.node("n3")
    assert fleet.baremetal("GET", "/nodes/detail").json["nodes"][3] == one
    assert fleet.baremetal("GET", "/nodes?detail=true").json["nodes"][3] == one


def test_a_list_takes_as_many_statements_however_long_it_is(fleet: Service) -> None:
    for path, most in (
        ("/nodes", 1),
        ("/nodes?fields=uuid,traits", 1),
        ("/nodes/detail", 2),
        ("/nodes?traits=CUSTOM_A", 1),
    ):
        with fleet.statements() as statements:
            fleet.baremetal("GET", path)
        assert len(statements) == most, path


def test_fields(fleet: Service) -> None:
    node = fleet.baremetal("GET", "/nodes?fields=UUID, name,uuid&fields=conductor,traits,chassis_uuid").json["nodes"][1]
    assert {key: node[key] for key in node if key != "links"} == {
        "uuid": UUIDS[1],
        "name": "n1",
        "conductor": "c1",
        "traits": [],
        "chassis_uuid": None,
    }


def test_fields_that_cannot_be_selected_are_400(fleet: Service, row: Rows) -> None:
    for field in ["nosuch", "created_at", "links", "ports", "id", "states"]:
        with row(field):
            for path in ("/nodes", "/nodes/n1"):
                assert field in fault(fleet.baremetal("GET", f"{path}?fields={field}", status=400))


def test_fields_and_detail_and_their_versions(fleet: Service) -> None:
    fleet.baremetal("GET", "/nodes?fields=uuid", version="1.7", status=406)
    fleet.baremetal("GET", "/nodes?fields=resource_class", version="1.20", status=406)
    fleet.baremetal("GET", "/nodes?detail=true", version="1.42", status=400)
    fleet.baremetal("GET", "/nodes?detail=true&fields=uuid", status=400)
    fleet.baremetal("GET", "/nodes?detail=maybe", status=400)
    fleet.baremetal("GET", "/nodes/n1?detail=true", status=400)


def test_pages_follow_each_other(fleet: Service, row: Rows) -> None:
    for limit in [1, 2, 3, 7]:
        for order in ["", "sort_key=name&sort_dir=desc", "sort_key=shard", "sort_key=owner&sort_dir=desc"]:
            with row(limit, order):
                whole = names(fleet, order)
                assert sorted(whole) == [f"n{number}" for number in range(7)]
                url, collected = f"/nodes?fields=name,uuid&limit={limit}&{order}", []
                while url:
                    document = fleet.baremetal("GET", url).json
                    collected += [node["name"] for node in document["nodes"]]
                    url = document.get("next", "").removeprefix("http://localhost/baremetal/v1")
                assert collected == whole


def test_next_keeps_the_filters(fleet: Service) -> None:
    document = fleet.baremetal("GET", "/nodes?limit=1&resource_class=rc1&traits-any=CUSTOM_A,CUSTOM_B").json
    assert "next" not in document
    document = fleet.baremetal("GET", "/nodes/detail?limit=1&resource_class=rc1&maintenance=false").json
    assert document["next"] == (
        "http://localhost/baremetal/v1/nodes/detail?sort_key=id&sort_dir=asc&resource_class=rc1&maintenance=false"
        f"&limit=1&marker={UUIDS[1]}"
    )


def test_pages_are_capped(database_url: str) -> None:
    with Service(database_url, api={"max_limit": 2}) as service:
        service.add_conductor("c1")
        for number in range(3):
            service.add_node(f"n{number}", power=False)
        assert names(service, "limit=1000") == ["n0", "n1"]
        assert names(service, "") == ["n0", "n1"]


def test_any_plain_column_sorts(fleet: Service, row: Rows) -> None:
    for column in ["provision_state", "maintenance", "created_at", "updated_at", "resource_class", "uuid"]:
        with row(column):
            first = fleet.baremetal("GET", f"/nodes?sort_key={column}&limit=3&fields=uuid").json["nodes"]
            rest = fleet.baremetal("GET", f"/nodes?sort_key={column}&fields=uuid&marker={first[-1]['uuid']}").json[
                "nodes"
            ]
            assert sorted(node["uuid"] for node in first + rest) == UUIDS


def test_parameters_that_cannot_be(fleet: Service, row: Rows) -> None:
    for query, status in [
        ("limit=0", 400),
        ("limit=-1", 400),
        ("limit=x", 400),
        ("limit=1.5", 400),
        ("limit=1&limit=2", 400),
        ("marker=n1", 400),
        ("marker=7e3b9d1b-d343-480f-a417-72476c7eacf0", 404),
        ("sort_key=nosuch", 400),
        ("sort_key=extra", 400),
        ("sort_key=traits", 400),
        ("sort_key=links", 400),
        ("sort_key=revision", 400),
        ("sort_key=__mapper__", 400),
        ("sort_dir=up", 400),
        ("sort_dir=ASC", 400),
        ("instance_uuid=x", 400),
        ("chassis_uuid=x", 400),
        ("chassis_uuid=7e3b9d1b-d343-480f-a417-72476c7eacf0", 404),
        ("provision_state=nosuch", 400),
        ("fault=none", 400),
        ("associated=maybe", 400),
        ("name=n1", 400),
    ]:
        with row(query, status):
            assert fault(fleet.baremetal("GET", f"/nodes?{query}", status=status))


def test_filters(fleet: Service, row: Rows) -> None:
    for query, expected in [
        ("resource_class=rc1", "n1 n3 n5"),
        ("resource_class=", ""),
        ("driver=manual-management", "n0"),
        ("maintenance=true", "n3"),
        ("maintenance=off&resource_class=rc1", "n1 n5"),
        ("retired=false", "n0 n1 n2 n3 n4 n5 n6"),
        ("provision_state=enroll", "n0 n1 n2 n3 n4 n5 n6"),
        ("provision_state=active", ""),
        ("fault=power failure", ""),
        ("associated=true", ""),
        ("associated=false&limit=2", "n0 n1"),
        ("owner=o1", "n5"),
        ("lessee=ll", "n4"),
        ("project=ll", "n4"),
        ("project=o1", "n5"),
        ("description_contains=DESC", "n0 n1 n3 n4 n5 n6"),
        ("description_contains=%", "n0 n1 n3 n4 n5 n6"),
        ("description_contains=esc 3", "n3"),
        ("description_contains=3\\", "n3"),
        ("description_contains=!", ""),
        ("shard=s1", "n1 n4"),
        ("shard=S1,s2", "n1 n2 n4 n5"),
        ("sharded=false", "n6"),
        ("conductor_group=", "n0 n1 n2 n3 n4 n5 n6"),
        ("conductor_group=rack1", ""),
        ("conductor=c1", "n0 n1 n2 n3 n4 n5 n6"),
        ("conductor=c1&limit=2", "n0 n1"),
        ("conductor=nosuch", ""),
        ("instance_name=x", ""),
        ("include_children=true&owner=o1", "n5"),
    ]:
        with row(query, expected):
            assert names(fleet, quote(query, safe="=&,")) == expected.split()


def test_filters_have_their_versions(fleet: Service, row: Rows) -> None:
    for parameter, since in [
        ("provision_state=enroll", 9),
        ("driver=x", 16),
        ("resource_class=x", 21),
        ("traits=CUSTOM_A", 37),
        ("not-traits=CUSTOM_A", 37),
        ("traits-any=CUSTOM_A", 37),
        ("not-traits-any=CUSTOM_A", 37),
        ("fault=clean failure", 42),
        ("conductor_group=x", 46),
        ("conductor=x", 49),
        ("owner=x", 50),
        ("lessee=x", 65),
        ("shard=x", 82),
        ("sharded=1", 82),
        ("include_children=1", 83),
        ("instance_name=x", 104),
    ]:
        with row(parameter, since):
            path = f"/nodes?{quote(parameter, safe='=&,')}"
            fleet.baremetal("GET", path, version=f"1.{since - 1}", status=406)
            fleet.baremetal("GET", path, version=f"1.{since}", status=200)


def test_children_are_left_out_unless_asked_for(fleet: Service) -> None:
    fleet.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "child", "parent_node": "n1"})
    assert "child" not in names(fleet, "")
    assert "child" in names(fleet, "include_children=true")
    assert names(fleet, f"parent_node={UUIDS[1]}") == ["child"]


def test_the_conductor_filter_works_before_paging(service: Service) -> None:
    service.add_conductor("c2")
    uuids = [service.add_node(f"n{number}", power=False) for number in range(30)]
    owners = {uuid: service.node(uuid)["conductor"] for uuid in uuids}
    assert set(owners.values()) == {"c1", "c2"}
    mine = [uuid for uuid in uuids if owners[uuid] == "c2"]
    collected: list[str] = []
    url = "/nodes?conductor=c2&limit=3"
    while url:
        document = service.baremetal("GET", url).json
        collected += [node["uuid"] for node in document["nodes"]]
        url = document.get("next", "").removeprefix("http://localhost/baremetal/v1")
    assert collected == mine


def test_a_text_that_a_rule_hides_from_everybody(database_url: str, tmp_path: Path) -> None:
    rules = tmp_path / "policy.yaml"
    names = ("filter_threshold", "last_error", "reservation")
    rules.write_text("".join(f'"baremetal:node:get:{name}": "!"\n' for name in names))
    with Service(database_url, api={"auth_strategy": "noauth2"}, oslo_policy={"policy_file": str(rules)}) as service:
        service.add_conductor("c1")
        service.set_columns(service.add_node("n1"), last_error="the disk")
        headers = {**ADMINISTRATOR, "X-OpenStack-Ironic-API-Version": LATEST}
        (node,) = service.http.get("/baremetal/v1/nodes/detail", headers=headers).json["nodes"]
        assert "Redacted" in node["last_error"]
        assert "Redacted" in node["reservation"]
