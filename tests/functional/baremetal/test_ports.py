# tier: first
"""/v1/ports, and the ports of nodes."""

from typing import Any

import pytest

from tests.restored import Rows
from tests.service import Service, fault

MAC = "52:54:00:00:00:0{}"


@pytest.fixture
def node(service: Service) -> str:
    return str(
        service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1", "shard": "S1"}).json["uuid"]
    )


@pytest.fixture
def other(service: Service) -> str:
    service.add_conductor("c2", "rack")
    body = {"driver": "fake-hardware", "name": "n2", "conductor_group": "rack"}
    return str(service.baremetal("POST", "/nodes", body).json["uuid"])


def add(service: Service, node: str, number: int = 1, **fields: Any) -> dict[str, Any]:
    body = {"node_uuid": node, "address": MAC.format(number), **fields}
    document: dict[str, Any] = service.baremetal("POST", "/ports", body, status=201).json
    return document


def addresses(service: Service, query: str, path: str = "/ports") -> list[str]:
    return [port["address"][-1] for port in service.baremetal("GET", f"{path}?{query}").json["ports"]]


def test_create_and_show(service: Service, node: str) -> None:
    body = {
        "node_uuid": node,
        "address": "52:54:00:CF:2D:31",
        "name": "eth0",
        "extra": {"a": 1},
        "local_link_connection": {"switch_id": "0A:1B:2C:3D:4E:5F", "port_id": "Eth1", "switch_info": "s"},
        "physical_network": "physnet1",
        "pxe_enabled": "no",
        "description": "d",
        "vendor": "v",
        "category": "c",
    }
    response = service.baremetal("POST", "/ports", body, status=201)
    port = response.json
    assert response.headers["Location"] == f"http://localhost/baremetal/v1/ports/{port['uuid']}"
    assert port["address"] == "52:54:00:cf:2d:31"
    assert port["local_link_connection"]["switch_id"] == "0a:1b:2c:3d:4e:5f"
    assert (port["node_uuid"], port["pxe_enabled"], port["is_smartnic"]) == (node, False, False)
    assert port["available_for_dynamic_portgroup"] is True
    assert service.baremetal("GET", "/ports/eth0").json == port
    assert service.baremetal("GET", f"/ports/{port['uuid'].upper()}").json == port
    assert service.baremetal("GET", "/ports/detail").json["ports"] == [port]


def test_a_node_may_be_named(service: Service, node: str) -> None:
    body = {"node_ident": "n1", "address": MAC.format(1)}
    service.baremetal("POST", "/ports", body, version="1.93", status=406)
    assert service.baremetal("POST", "/ports", body, version="1.94").json["node_uuid"] == node


def test_bodies_that_do_not_fit_are_400(service: Service, node: str, row: Rows) -> None:
    for fields in [
        {"address": "x"},
        {"address": None},
        {"node_ident": "n1"},
        {"physical_network": ""},
        {"x": 1},
        {"internal_info": {}},
        {"local_link_connection": {"x": "1"}},
        {"local_link_connection": {"port_id": "1"}},
        {"local_link_connection": {"port_id": "1", "switch_id": "nosuch"}},
        {"local_link_connection": {"port_id": 1, "switch_id": "0a:1b:2c:3d:4e:5f"}},
        {"local_link_connection": {"network_type": "other"}},
        {"local_link_connection": {"network_type": "managed"}},
        {"local_link_connection": {"port_id": "1", "vtep-logical-switch": "s"}},
        {"is_smartnic": True, "local_link_connection": {"port_id": "1", "switch_id": "0a:1b:2c:3d:4e:5f"}},
        {"portgroup_uuid": "aaaaaaaa-0000-4000-8000-000000000000"},
        {"description": "d" * 256},
        {"vendor": "v" * 33},
        {"available_for_dynamic_portgroup": None},
    ]:
        with row(fields):
            body = {"node_uuid": node, "address": MAC.format(1), **fields}
            service.baremetal("POST", "/ports", body, status=400)
            assert addresses(service, "") == []


def test_links_that_fit(service: Service, node: str, row: Rows) -> None:
    for link in [
        {},
        {"network_type": "unmanaged"},
        {"port_id": "1", "hostname": "h"},
        {"port_id": "1", "switch_id": "00000a1b2c3d4e5f"},
        {"port_id": "1", "vtep-logical-switch": "l", "vtep-physical-switch": "p"},
    ]:
        with row(link):
            assert add(service, node, local_link_connection=link)["local_link_connection"] == link


def test_links_that_the_client_cannot_know(service: Service, node: str) -> None:
    vtep = {"port_id": "1", "vtep-logical-switch": "l", "vtep-physical-switch": "p"}
    uuid = add(service, node, local_link_connection=vtep)["uuid"]
    assert service.baremetal("GET", f"/ports/{uuid}", version="1.89").json["local_link_connection"] == {}
    body = {"node_uuid": node, "address": MAC.format(2), "local_link_connection": vtep}
    service.baremetal("POST", "/ports", body, version="1.89", status=406)
    body["local_link_connection"] = {"network_type": "unmanaged"}
    service.baremetal("POST", "/ports", body, version="1.63", status=406)
    operation = ("add", "/local_link_connection/network_type", "unmanaged")
    service.patch_at(f"/ports/{uuid}", operation, version="1.63", status=406)


def test_nodes_that_cannot_have_it(service: Service, node: str) -> None:
    missing = {"node_uuid": "aaaaaaaa-0000-4000-8000-000000000000", "address": MAC.format(1)}
    service.baremetal("POST", "/ports", missing, status=400)
    service.set_columns(node, conductor_group="gone")
    service.baremetal("POST", "/ports", {"node_uuid": node, "address": MAC.format(1)}, status=404)


def test_what_is_taken(service: Service, node: str) -> None:
    port = add(service, node, name="eth0")
    for fields in ({"uuid": port["uuid"]}, {"address": MAC.format(1).upper()}, {"name": "eth0"}):
        body = {"node_uuid": node, "address": MAC.format(2), **fields}
        service.baremetal("POST", "/ports", body, status=409)
    add(service, node, 2)
    assert "already exists" in fault(
        service.patch_at("/ports/eth0", ("replace", "/address", MAC.format(2)), status=409)
    )


def test_names_are_for_newer_clients(service: Service, node: str) -> None:
    uuid = add(service, node, name="eth0")["uuid"]
    service.baremetal("GET", "/ports/eth0", version="1.87", status=404)
    assert "name" not in service.baremetal("GET", f"/ports/{uuid}", version="1.87").json
    service.baremetal("GET", f"/ports/{MAC.format(1)}", status=400)
    service.baremetal("DELETE", "/ports/eth0", status=400)
    service.baremetal(
        "POST", "/ports", {"node_uuid": node, "address": MAC.format(2), "name": "x"}, version="1.87", status=406
    )


def test_filters(service: Service, node: str, other: str) -> None:
    add(service, node, 1, description="Uplink")
    add(service, other, 2)
    group = service.baremetal("POST", "/portgroups", {"node_uuid": other, "name": "pg"}).json["uuid"]
    add(service, other, 3, portgroup_uuid=group)
    assert addresses(service, "") == ["1", "2", "3"]
    assert addresses(service, "node=n1") == addresses(service, f"node_uuid={node}") == ["1"]
    assert addresses(service, f"node={other}") == ["2", "3"]
    assert addresses(service, f"address={MAC.format(2).upper()}") == ["2"]
    assert addresses(service, "address=52:54:00:00:00:99") == []
    assert addresses(service, "portgroup=pg") == addresses(service, f"portgroup={group}") == ["3"]
    assert addresses(service, "shard=s1,s2") == ["1"]
    assert addresses(service, "description_contains=LINK") == ["1"]
    assert addresses(service, "conductor_groups=RACK,other") == ["2", "3"]
    assert addresses(service, "node=n2&description_contains=up") == []


def test_filters_that_cannot_be(service: Service, node: str) -> None:
    service.baremetal("GET", "/ports?node=n1&shard=s", status=403)
    service.baremetal("GET", f"/nodes/{node}/ports?shard=s", status=403)
    service.baremetal("GET", "/ports?conductor_groups=x&node=n1", status=400)
    service.baremetal("GET", "/ports?node=nosuch", status=404)
    service.baremetal("GET", "/ports?portgroup=nosuch", status=404)
    for query in ("address=x", "node_uuid=x", "node=a/b", "sort_key=extra", "sort_key=node_uuid", "fields=node_id"):
        service.baremetal("GET", f"/ports?{query}", status=400)
    for query, version in (("node=n1", "1.4"), ("portgroup=x", "1.23"), ("shard=s", "1.81"), ("fields=name", "1.87")):
        service.baremetal("GET", f"/ports?{query}", version=version, status=406)


def test_ports_of_a_node(service: Service, node: str, other: str) -> None:
    for number in (1, 2):
        add(service, node, number)
    add(service, other, 3)
    assert addresses(service, "", "/nodes/n1/ports") == addresses(service, "", f"/nodes/{node}/ports") == ["1", "2"]
    page = service.baremetal("GET", "/nodes/n1/ports?limit=1").json
    assert page["next"].startswith("http://localhost/baremetal/v1/nodes/n1/ports?")
    following = page["next"].removeprefix("http://localhost/baremetal/v1")
    assert [port["address"] for port in service.baremetal("GET", following).json["ports"]] == [MAC.format(2)]
    assert service.baremetal("GET", "/nodes/n1/ports/detail").json["ports"][0]["node_uuid"] == node
    service.baremetal("GET", "/nodes/nosuch/ports", status=404)
    service.baremetal("POST", "/nodes/n1/ports", {"address": MAC.format(4)}, status=400)


def test_lists_take_few_statements(service: Service, node: str) -> None:
    for number in (1, 2, 3):
        add(service, node, number)
    with service.statements() as statements:
        service.baremetal("GET", "/ports/detail")
    assert len(statements) == 1


def test_patch(service: Service, node: str) -> None:
    path = f"/ports/{add(service, node)['uuid']}"
    port = service.patch_at(
        path,
        ("replace", "/address", "52:54:00:00:00:0A"),
        ("add", "/extra/a", 1),
        ("add", "/name", "eth1"),
        ("replace", "/pxe_enabled", "false"),
    ).json
    assert (port["address"], port["extra"], port["name"], port["pxe_enabled"]) == (
        "52:54:00:00:00:0a",
        {"a": 1},
        "eth1",
        False,
    )
    assert port["updated_at"]
    port = service.patch_at("/ports/eth1", ("remove", "/pxe_enabled"), ("remove", "/name"), ("remove", "/extra")).json
    assert (port["pxe_enabled"], port["name"], port["extra"]) == (True, None, {})
    assert service.patch_at(path, ("replace", "/pxe_enabled", None)).json["pxe_enabled"] is True


def test_patches_that_do_not_fit(service: Service, node: str) -> None:
    path = f"/ports/{add(service, node)['uuid']}"
    before = service.baremetal("GET", path).json
    for operation in (
        ("remove", "/address"),
        ("replace", "/uuid", "aaaaaaaa-0000-4000-8000-000000000000"),
        ("replace", "/node_uuid", "aaaaaaaa-0000-4000-8000-000000000000"),
        ("replace", "/physical_network", ""),
        ("add", "/portgroup_uuid", "aaaaaaaa-0000-4000-8000-000000000000"),
        ("add", "/internal_info/a", 1),
    ):
        service.patch_at(path, ("add", "/extra/a", 1), operation, status=400)
    service.patch_at(path, ("add", "/vendor", "v"), version="1.99", status=406)
    service.patch_at("/ports/nosuch", status=404)
    assert service.baremetal("GET", path).json == before


def test_a_port_moves_to_another_node(service: Service, node: str, other: str) -> None:
    path = f"/ports/{add(service, node)['uuid']}"
    assert service.patch_at(path, ("replace", "/node_uuid", other)).json["node_uuid"] == other
    assert addresses(service, "node=n2") == ["1"]
    service.set_columns(node, provision_state="active")
    service.patch_at(path, ("replace", "/node_uuid", node), status=409)
    # Whether there is such a node is looked at first.
    unknown = "aaaaaaaa-0000-4000-8000-000000000000"
    refused = service.patch_at(path, ("replace", "/node_uuid", unknown), status=400)
    assert fault(refused) == f"Node {unknown} could not be found."


def test_what_may_change_in_which_state(service: Service, node: str) -> None:
    path = f"/ports/{add(service, node)['uuid']}"
    service.set_columns(node, provision_state="available")
    service.patch_at(path, ("add", "/physical_network", "p"), status=409)
    service.patch_at(path, ("replace", "/address", MAC.format(2)))
    service.set_columns(node, provision_state="active")
    service.patch_at(path, ("replace", "/address", MAC.format(3)), status=409)
    service.patch_at(path, ("add", "/extra/a", 1))
    service.set_columns(node, maintenance=True)
    service.patch_at(path, ("replace", "/address", MAC.format(3)), ("add", "/physical_network", "p"))
    service.set_columns(node, provision_state="inspecting", maintenance=False)
    service.patch_at(path, ("add", "/extra/a", 2), status=409)
    service.patch_at(path, ("add", "/extra/a", 2), version="1.38")


def test_a_locked_node_keeps_its_ports(service: Service, node: str) -> None:
    path = f"/ports/{add(service, node)['uuid']}"
    service.set_columns(node, reservation="c1")
    add(service, node, 2)
    service.patch_at(path, ("add", "/extra/a", 1), status=409)
    service.baremetal("DELETE", path, status=409)
    service.baremetal("GET", path)


def test_delete(service: Service, node: str) -> None:
    path = f"/ports/{add(service, node)['uuid']}"
    service.baremetal("DELETE", path, status=204)
    service.baremetal("DELETE", path, status=404)


def test_ports_and_portgroups_go_with_their_node(service: Service, node: str) -> None:
    group = service.baremetal("POST", "/portgroups", {"node_uuid": node}).json["uuid"]
    add(service, node, portgroup_uuid=group)
    service.baremetal("DELETE", "/nodes/n1", status=204)
    assert addresses(service, "") == []
    assert service.baremetal("GET", "/portgroups").json["portgroups"] == []
