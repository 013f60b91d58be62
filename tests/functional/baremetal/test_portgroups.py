# tier: first
"""/v1/portgroups, and what ports in a portgroup have in common."""

from typing import Any

from tests.functional.baremetal import test_ports
from tests.service import Service

MAC = "52:54:00:00:00:0{}"
node = test_ports.node


def add(service: Service, node: str, name: str | None = "pg1", **fields: Any) -> dict[str, Any]:
    body = {"node_uuid": node, "name": name, **fields}
    document: dict[str, Any] = service.baremetal("POST", "/portgroups", body, status=201).json
    return document


def names(service: Service, query: str, path: str = "/portgroups") -> list[str]:
    return [group["name"] for group in service.baremetal("GET", f"{path}?{query}").json["portgroups"]]


def add_port(service: Service, node: str, group: str, number: int, **fields: Any) -> Any:
    status = fields.pop("status", 201)
    body = {"node_uuid": node, "address": MAC.format(number), "portgroup_uuid": group, **fields}
    return service.baremetal("POST", "/ports", body, status=status).json


def test_create_and_show(service: Service, node: str) -> None:
    group = add(service, node, address="52:54:00:00:00:AA", properties={"miimon": 100}, extra={"a": 1})
    url = f"http://localhost/baremetal/v1/portgroups/{group['uuid']}"
    assert (group["address"], group["mode"], group["properties"]) == (
        "52:54:00:00:00:aa",
        "active-backup",
        {"miimon": 100},
    )
    assert (group["standalone_ports_supported"], group["dynamic_portgroup"], group["node_uuid"]) == (True, False, node)
    assert group["ports"][0] == {"href": f"{url}/ports", "rel": "self"}
    assert service.baremetal("GET", "/portgroups/pg1").json == group
    assert service.baremetal("GET", f"/portgroups/{group['uuid']}").json == group
    assert service.baremetal("GET", "/portgroups/detail").json["portgroups"] == [group]


def test_bodies_that_do_not_fit(service: Service, node: str) -> None:
    for fields in (
        {"name": "a b"},
        {"name": ""},
        {"address": "x"},
        {"node_uuid": "x"},
        {"x": 1},
        {"dynamic_portgroup": True},
    ):
        service.baremetal("POST", "/portgroups", {"node_uuid": node, **fields}, status=400)
    service.baremetal("POST", "/portgroups", {}, status=400)
    service.baremetal("POST", "/portgroups", {"node_uuid": "aaaaaaaa-0000-4000-8000-000000000000"}, status=400)
    service.baremetal("POST", "/portgroups", {"node_uuid": node, "mode": "m"}, version="1.25", status=406)
    service.baremetal("POST", "/portgroups", {"node_uuid": node}, version="1.22", status=404)


def test_what_is_taken(service: Service, node: str) -> None:
    group = add(service, node, address=MAC.format(1))
    for fields in ({"name": "pg1"}, {"address": MAC.format(1)}, {"uuid": group["uuid"]}):
        service.baremetal("POST", "/portgroups", {"node_uuid": node, **fields}, status=409)


def test_filters(service: Service, node: str) -> None:
    service.add_conductor("c2", "rack")
    body = {"driver": "fake-hardware", "name": "n2", "conductor_group": "rack"}
    other = service.baremetal("POST", "/nodes", body).json["uuid"]
    add(service, node, address=MAC.format(1))
    add(service, other, "pg2")
    assert names(service, "node=n1") == names(service, f"node={node}") == ["pg1"]
    assert names(service, f"address={MAC.format(1)}") == ["pg1"]
    assert names(service, "shard=s1") == ["pg1"]
    assert names(service, "conductor_groups=rack") == ["pg2"]
    assert names(service, "", "/nodes/n2/portgroups") == names(service, "", "/nodes/n2/portgroups/detail") == ["pg2"]
    service.baremetal("GET", f"/portgroups?node=n1&address={MAC.format(1)}", status=400)
    service.baremetal("GET", "/portgroups?node=nosuch", status=404)
    service.baremetal("GET", "/portgroups?shard=s1", version="1.105", status=406)
    service.baremetal("GET", "/nodes/n1/portgroups", version="1.23", status=404)


def test_patch(service: Service, node: str) -> None:
    add(service, node)
    group = service.patch_at("/portgroups/pg1", ("replace", "/mode", "802.3ad"), ("add", "/extra/a", 1)).json
    assert (group["mode"], group["extra"]) == ("802.3ad", {"a": 1})
    for operation in (("remove", "/mode"), ("replace", "/name", "a b"), ("replace", "/dynamic_portgroup", True)):
        service.patch_at("/portgroups/pg1", operation, status=400)
    service.patch_at("/portgroups/pg1", ("replace", "/mode", "x"), version="1.25", status=406)
    service.set_columns(node, provision_state="inspecting")
    service.patch_at("/portgroups/pg1", ("add", "/extra/a", 2), status=409)
    service.set_columns(node, provision_state="enroll", reservation="c1")
    service.patch_at("/portgroups/pg1", ("add", "/extra/a", 2), status=409)


def test_an_empty_portgroup_moves_to_another_node(service: Service, node: str) -> None:
    other = service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n2"}).json["uuid"]
    group = add(service, node)["uuid"]
    assert service.patch_at("/portgroups/pg1", ("replace", "/node_uuid", other)).json["node_uuid"] == other
    port = add_port(service, other, group, 1)["uuid"]
    service.patch_at("/portgroups/pg1", ("replace", "/node_uuid", node), status=400)
    service.baremetal("DELETE", f"/ports/{port}")
    service.set_columns(node, provision_state="active")
    service.patch_at("/portgroups/pg1", ("replace", "/node_uuid", node), status=409)


def test_ports_of_a_portgroup(service: Service, node: str) -> None:
    group = add(service, node)["uuid"]
    port = add_port(service, node, group, 1)
    service.baremetal("POST", "/ports", {"node_uuid": node, "address": MAC.format(2)})
    for ident in ("pg1", group):
        assert [one["uuid"] for one in service.baremetal("GET", f"/portgroups/{ident}/ports").json["ports"]] == [
            port["uuid"]
        ]
    assert service.baremetal("GET", "/portgroups/pg1/ports/detail").json["ports"] == [port]
    service.baremetal("GET", "/portgroups/nosuch/ports", status=404)
    service.baremetal("GET", "/portgroups/pg1/ports", version="1.23", status=404)
    service.baremetal("POST", "/portgroups/pg1/ports", {}, status=400)


def test_a_portgroup_with_ports_stays(service: Service, node: str) -> None:
    group = add(service, node)["uuid"]
    port = add_port(service, node, group, 1)["uuid"]
    service.baremetal("DELETE", "/portgroups/pg1", status=400)
    service.patch_at(f"/ports/{port}", ("remove", "/portgroup_uuid"))
    service.baremetal("DELETE", "/portgroups/pg1", status=204)


def test_a_port_is_in_a_portgroup_of_its_own_node(service: Service, node: str) -> None:
    other = service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n2"}).json["uuid"]
    group = add(service, node)["uuid"]
    add_port(service, other, group, 1, status=400)
    port = add_port(service, node, group, 2)["uuid"]
    service.patch_at(f"/ports/{port}", ("replace", "/node_uuid", other), status=400)
    service.patch_at(f"/ports/{port}", ("replace", "/node_uuid", other), ("remove", "/portgroup_uuid"))


def test_a_portgroup_without_standalone_ports(service: Service, node: str) -> None:
    group = add(service, node, standalone_ports_supported=False)["uuid"]
    add_port(service, node, group, 1, pxe_enabled=True, status=409)
    add_port(service, node, group, 1, pxe_enabled=False)


def test_all_ports_are_on_one_physical_network(service: Service, node: str) -> None:
    group = add(service, node)["uuid"]
    port = add_port(service, node, group, 1, physical_network="p1")["uuid"]
    assert service.baremetal("GET", "/portgroups/pg1").json["physical_network"] == "p1"
    add_port(service, node, group, 2, physical_network="p2", status=409)
    add_port(service, node, group, 2, status=409)
    service.patch_at(f"/ports/{port}", ("replace", "/physical_network", "p2"), status=400)
    service.patch_at("/portgroups/pg1", ("replace", "/physical_network", "p2"))
    assert service.baremetal("GET", f"/ports/{port}").json["physical_network"] == "p2"
    add_port(service, node, group, 2, physical_network="p2")
