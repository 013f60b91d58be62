"""A shared fleet as tenants see it: lists, names in bodies, filters and markers."""

import json
from pathlib import Path
from typing import Any

from tests.functional.baremetal.fleet import NODES, SECRETS, SEEN, Fleet, customized
from tests.restored import Rows
from tests.service import fault


def test_lists_show_what_the_project_owns_or_leases(fleet: Fleet) -> None:
    assert fleet.listed("/nodes") == SEEN
    assert fleet.listed("/nodes/detail") == SEEN
    assert fleet.listed("/nodes?fields=name,uuid") == SEEN
    assert fleet.listed("/nodes", project="theirs") == {"leased", "lent", "foreign"}
    assert fleet.listed("/nodes", project="third") == set()
    for path, word in (("/ports", "port"), ("/portgroups", "group")):
        assert fleet.listed(f"{path}/detail") == {f"{word}-{name}" for name in SEEN}
    assert fleet.listed("/volume/connectors", "connector_id") == {f"iqn.{name}" for name in SEEN}
    assert fleet.listed("/volume/targets", "volume_id") == SEEN
    everything = fleet.service.baremetal("GET", "/nodes").json["nodes"]
    assert {node["name"] for node in everything} == set(NODES)


def test_lists_without_a_role_are_403(fleet: Fleet) -> None:
    for path in ("/nodes", "/nodes/detail", "/ports", "/portgroups", "/volume/connectors", "/volume/targets"):
        fleet.ask("GET", path, roles="", status=403)


def test_pages_count_what_is_seen_only(fleet: Fleet) -> None:
    first = fleet.ask("GET", "/nodes?limit=2").json
    assert len(first["nodes"]) == 2
    second = fleet.ask("GET", first["next"].partition("/v1")[2]).json
    assert {node["name"] for node in first["nodes"] + second["nodes"]} == SEEN
    assert fleet.ask("GET", "/nodes?limit=3&sort_key=name").json["nodes"][0]["name"] == "leased"


def test_a_foreign_marker_is_an_unknown_one(fleet: Fleet, row: Rows) -> None:
    for path, things in [
        ("/nodes", "uuids"),
        ("/nodes/detail", "uuids"),
        ("/ports", "ports"),
        ("/portgroups", "portgroups"),
        ("/volume/connectors", "connectors"),
        ("/volume/targets", "targets"),
    ]:
        with row(path, things):
            unknown = "11111111-1111-4111-8111-111111111111"
            expected = fault(fleet.ask("GET", f"{path}?marker={unknown}", status=404))
            for name in SECRETS:
                foreign = getattr(fleet, things)[name]
                assert (
                    fault(fleet.ask("GET", f"{path}?marker={foreign}", status=404)).replace(foreign, unknown)
                    == expected
                )
            fleet.ask("GET", f"{path}?marker={getattr(fleet, things)['mine']}", status=200)


def test_a_foreign_node_in_a_filter_is_an_unknown_one(fleet: Fleet, row: Rows) -> None:
    for path in ["/ports", "/portgroups", "/volume/connectors", "/volume/targets"]:
        for by in ["name", "uuid"]:
            with row(path, by):
                unknown = "unknown" if by == "name" else "11111111-1111-4111-8111-111111111111"
                expected = fault(fleet.ask("GET", f"{path}?node={unknown}", status=404))
                for name in SECRETS:
                    ident = name if by == "name" else fleet.uuids[name]
                    assert (
                        fault(fleet.ask("GET", f"{path}?node={ident}", status=404)).replace(ident, unknown) == expected
                    )
                assert len(fleet.listed(f"{path}?node=mine", "uuid")) == 1


def test_filters_do_not_reach_beyond_what_is_seen(fleet: Fleet) -> None:
    assert fleet.listed("/ports?shard=shard-foreign,shard-mine", "uuid") == {fleet.ports["mine"]}
    assert fleet.listed("/ports?conductor_groups=", "uuid") == {fleet.ports[name] for name in SEEN}
    assert fleet.listed("/nodes?resource_class=gold") == SEEN
    assert fleet.listed("/nodes?shard=shard-foreign") == set()
    expected = fault(fleet.ask("GET", "/ports?portgroup=unknown", status=404))
    assert fault(fleet.ask("GET", "/ports?portgroup=group-foreign", status=404)).replace(
        "group-foreign", "unknown"
    ) == (expected)


def test_project_of_others_is_refused_and_owners_narrow(fleet: Fleet) -> None:
    assert fleet.listed("/nodes?project=ours") == SEEN
    refusal = fleet.ask("GET", "/nodes?project=theirs", status=403)
    assert fault(refusal) == "Access was denied to the following resource: baremetal:node:list_all"
    fleet.ask("GET", "/nodes/detail?project=theirs", status=403)
    assert fleet.listed("/nodes?owner=theirs") == {"leased"}
    assert fleet.listed("/nodes?lessee=theirs") == {"lent"}
    assert fleet.listed("/nodes?owner=third") == set()
    system = fleet.service.baremetal("GET", "/nodes?project=theirs").json["nodes"]
    assert {node["name"] for node in system} == {"leased", "lent", "foreign"}


def test_children_are_seen_by_those_who_see_them(fleet: Fleet) -> None:
    child, other = fleet.service.add_node("child"), fleet.service.add_node("other-child")
    for uuid, owner in ((child, "ours"), (other, None)):
        fleet.service.set_columns(uuid, parent_node=fleet.uuids["mine"], owner=owner)
    assert fleet.ask("GET", "/nodes/mine/children").json["children"] == [child]
    assert fleet.listed("/nodes?parent_node=mine") == {"child"}
    assert fleet.listed("/nodes?include_children=true") == {*SEEN, "child"}
    fleet.service.set_columns(child, parent_node=fleet.uuids["foreign"])
    assert fleet.listed("/nodes?parent_node=foreign") == set()


def test_a_foreign_parent_is_an_unknown_one(database_url: str, tmp_path: Path) -> None:
    with customized(database_url, tmp_path, "node:update:parent_node", "role:admin") as fleet:
        expected = fault(fleet.patch("/nodes/mine", "/parent_node", "unknown", status=400))
        # Of a node that the project leases only, the owner is another.
        for name in (*SECRETS, "leased"):
            answer = fleet.patch("/nodes/mine", "/parent_node", name, status=400)
            assert fault(answer).replace(name, "unknown") == expected
        fleet.patch("/nodes/mine", "/parent_node", "lent")
        # It must be visible, too: the owner of neither node is anyone.
        fleet.service.set_columns(fleet.uuids["leased"], owner=None)
        answer = fleet.patch("/nodes/leased", "/parent_node", "ownerless", status=400)
        assert fault(answer).replace("ownerless", "unknown") == expected


MOVED = [("/ports", "ports"), ("/portgroups", "portgroups"), ("/volume/connectors", "connectors")]


def test_nothing_moves_to_nodes_of_others(fleet: Fleet, row: Rows) -> None:
    for path, things in [*MOVED, ("/volume/targets", "targets")]:
        with row(path, things):
            thing = getattr(fleet, things)["mine"]
            unknown = "11111111-1111-4111-8111-111111111111"
            for name in NODES:
                fleet.service.set_columns(fleet.uuids[name], power_state="power off", provision_state="manageable")
            expected = fault(fleet.patch(f"{path}/{thing}", "/node_uuid", unknown, status=400))
            for name in SECRETS:
                answer = fleet.patch(f"{path}/{thing}", "/node_uuid", fleet.uuids[name], status=400)
                assert fault(answer).replace(fleet.uuids[name], unknown) == expected
            # Members may change volumes of their own nodes, but not those of nodes that they lease; and so on.
            roles = "member,reader" if "volume" in path else "admin,manager,member,reader"
            fleet.patch(f"{path}/{thing}", "/node_uuid", fleet.uuids["leased"], roles=roles, status=403)
            where = fleet.service.baremetal("GET", f"{path}/{thing}").json["node_uuid"]
            assert where == fleet.uuids["mine"]


def test_a_port_does_not_join_a_foreign_group(fleet: Fleet) -> None:
    fleet.service.set_columns(fleet.uuids["mine"], provision_state="manageable")
    unknown = "11111111-1111-4111-8111-111111111111"
    port = f"/ports/{fleet.ports['mine']}"
    expected = fault(fleet.patch(port, "/portgroup_uuid", unknown, status=400))
    foreign = fleet.portgroups["foreign"]
    assert fault(fleet.patch(port, "/portgroup_uuid", foreign, status=400)).replace(foreign, unknown) == expected


def test_creation_on_foreign_nodes_is_that_on_unknown_ones(fleet: Fleet) -> None:
    bodies: dict[str, dict[str, Any]] = {
        "/ports": {"address": "52:54:00:00:01:00"},
        "/portgroups": {},
        "/volume/connectors": {"type": "iqn", "connector_id": "new"},
        "/volume/targets": {"volume_type": "iscsi", "volume_id": "new", "boot_index": 1},
    }
    unknown = "11111111-1111-4111-8111-111111111111"
    for path, body in bodies.items():
        expected = fault(fleet.ask("POST", path, {**body, "node_uuid": unknown}, status=403))
        for name in SECRETS:
            answer = fleet.ask("POST", path, {**body, "node_uuid": fleet.uuids[name]}, status=403)
            assert fault(answer) == expected
        fleet.ask("POST", path, {**body, "node_uuid": fleet.uuids["mine"]}, status=201)


def test_an_owner_is_changed_by_those_who_speak_for_both(database_url: str, tmp_path: Path) -> None:
    check = "system_scope:all or (role:admin and project_id:%(node.owner)s)"
    with customized(database_url, tmp_path, "node:update:owner", check) as fleet:
        fleet.patch("/nodes/lent", "/owner", "theirs", status=403)
        fleet.patch("/nodes/lent", "/owner", "theirs", project="theirs", status=403)
        assert fleet.ask("GET", "/nodes/lent").json["owner"] == "ours"
        fleet.patch("/nodes/lent", "/owner", "ours")


def test_shards_count_the_nodes_that_are_seen(database_url: str, tmp_path: Path) -> None:
    with customized(database_url, tmp_path, "shards:get", "role:reader") as fleet:
        shards = fleet.ask("GET", "/shards", roles="reader").json["shards"]
        assert {shard["name"]: shard["count"] for shard in shards} == {f"shard-{name}": 1 for name in SEEN}


def test_no_answer_has_a_word_of_foreign_nodes(fleet: Fleet) -> None:
    paths = [
        "/nodes",
        "/nodes/detail",
        "/ports/detail",
        "/portgroups/detail",
        "/volume/connectors?detail=true",
        "/volume/targets?detail=true",
        "/allocations",
        "/runbooks?detail=true",
        *(f"/nodes/{name}/{below}" for name in SEEN for below in ("ports", "portgroups", "children", "volume/targets")),
    ]
    planted = {*SECRETS, *(fleet.uuids[name] for name in SECRETS), *(fleet.ports[name] for name in SECRETS)}
    for path in paths:
        text = json.dumps(fleet.ask("GET", path).json)
        assert not [word for word in planted if word in text], path
