# tier: first
"""/v1/volume: connectors and targets."""

from typing import Any

import pytest

from tests.restored import Rows
from tests.service import Service, fault

CONNECTOR = {"type": "iqn", "connector_id": "iqn.a"}
TARGET = {"volume_type": "iscsi", "volume_id": "v", "boot_index": 0, "properties": {"auth_password": "x", "lun": 1}}
BODIES = {"connectors": CONNECTOR, "targets": TARGET}


@pytest.fixture
def node(service: Service) -> str:
    return str(service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1"}).json["uuid"])


def add(service: Service, node: str, kind: str, *, status: int = 201, **fields: Any) -> Any:
    return service.baremetal(
        "POST", f"/volume/{kind}", {"node_uuid": node, **BODIES[kind], **fields}, status=status
    ).json


def test_what_there_is(service: Service, node: str) -> None:
    links = service.baremetal("GET", "/volume").json
    assert links["connectors"][0]["href"] == "http://localhost/baremetal/v1/volume/connectors"
    assert links["links"][1]["href"] == "http://localhost/baremetal/volume/"
    links = service.baremetal("GET", "/nodes/n1/volume").json
    assert links["targets"][0]["href"] == "http://localhost/baremetal/v1/nodes/n1/volume/targets"
    service.baremetal("GET", "/nodes/nosuch/volume", status=404)
    for path in ("/volume", "/volume/connectors", "/volume/targets", "/nodes/n1/volume"):
        service.baremetal("GET", path, version="1.31", status=404)


def test_create_and_show(service: Service, node: str) -> None:
    connector = add(service, node, "connectors", extra={"a": 1})
    assert connector["links"][0]["href"] == f"http://localhost/baremetal/v1/volume/connectors/{connector['uuid']}"
    assert {**connector, **CONNECTOR, "node_uuid": node, "extra": {"a": 1}} == connector
    target = add(service, node, "targets")
    assert target["properties"] == {"auth_password": "******", "lun": 1}
    for kind, thing in (("connectors", connector), ("targets", target)):
        assert service.baremetal("GET", f"/volume/{kind}/{thing['uuid']}").json == thing
        for version in ("1.32", "1.115"):  # not only from 1.43, as with other collections
            assert service.baremetal("GET", f"/volume/{kind}?detail=true", version=version).json[kind] == [thing]
        assert (
            service.baremetal("GET", f"/nodes/n1/volume/{kind}?fields=extra").json[kind][0]["extra"] == thing["extra"]
        )
        assert (
            service.baremetal("GET", f"/volume/{kind}?node=n1").json == service.baremetal("GET", f"/volume/{kind}").json
        )
        service.baremetal("GET", f"/volume/{kind}?node=nosuch", status=404)
        service.baremetal("GET", f"/volume/{kind}/x", status=400)


def test_bodies_that_do_not_fit_are_400(service: Service, node: str, row: Rows) -> None:
    for kind, fields in [
        ("connectors", {"type": 1}),
        ("connectors", {"connector_id": None}),
        ("connectors", {"node_uuid": "aaaaaaaa-0000-4000-8000-000000000000"}),
        ("connectors", {"boot_index": 1}),
        ("targets", {"boot_index": "0"}),
        ("targets", {"boot_index": True}),
        ("targets", {"boot_index": 2**31}),
        ("targets", {"volume_type": "t" * 65}),
        ("targets", {"properties": []}),
    ]:
        with row(kind, fields):
            add(service, node, kind, status=400, **fields)


def test_what_is_taken(service: Service, node: str) -> None:
    other = service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n2"}).json["uuid"]
    connector, target = add(service, node, "connectors"), add(service, node, "targets")
    add(service, other, "connectors", status=409)
    add(service, node, "targets", status=409, volume_id="w")
    add(service, node, "connectors", status=409, uuid=connector["uuid"], connector_id="iqn.b")
    assert add(service, other, "targets")["uuid"] != target["uuid"]
    add(service, node, "connectors", type="ip")


def test_patch_needs_a_node_whose_power_is_off(service: Service, node: str) -> None:
    """Not to know it is not enough; what may be removed in the node's state may not be changed."""
    for kind in BODIES:
        path = f"/volume/{kind}/{add(service, node, kind)['uuid']}"
        for power_state in ("power on", None):
            service.set_columns(node, provision_state="enroll", power_state=power_state)
            assert "must be powered off" in fault(service.patch_at(path, ("add", "/extra/a", 1), status=400))
        service.set_columns(node, power_state="power off")
        service.patch_at(path, ("add", "/extra/a", 1))
        service.set_columns(node, power_state="power on")
        service.baremetal("DELETE", path, status=204)


def test_patch_and_delete_need_a_node_that_does_not_run(service: Service, node: str) -> None:
    service.set_columns(node, power_state="power off")
    connector = f"/volume/connectors/{add(service, node, 'connectors')['uuid']}"
    target = f"/volume/targets/{add(service, node, 'targets')['uuid']}"
    add(service, node, "targets", boot_index=1)
    assert service.patch_at(connector, ("replace", "/connector_id", "iqn.b")).json["connector_id"] == "iqn.b"
    assert service.patch_at(target, ("replace", "/boot_index", 2)).json["boot_index"] == 2
    service.patch_at(target, ("replace", "/boot_index", 1), status=409)
    service.patch_at(target, ("remove", "/volume_id"), status=400)
    service.patch_at(target, ("replace", "/uuid", node), status=400)
    service.set_columns(node, provision_state="active", power_state="power on")
    for path in (connector, target):
        service.patch_at(path, ("add", "/extra/a", 1), status=400)
        service.baremetal("DELETE", path, status=400)
    service.set_columns(node, power_state="power off")
    service.patch_at(connector, ("add", "/extra/a", 1))
    for path in (connector, target):
        service.baremetal("DELETE", path, status=204)
        service.baremetal("DELETE", path, status=404)


def test_they_move_to_another_node_and_go_with_it(service: Service, node: str) -> None:
    other = service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n2"}).json["uuid"]
    for each in (node, other):
        service.set_columns(each, power_state="power off")
    target = f"/volume/targets/{add(service, node, 'targets')['uuid']}"
    add(service, other, "connectors")
    assert service.patch_at(target, ("replace", "/node_uuid", other)).json["node_uuid"] == other
    service.baremetal("DELETE", "/nodes/n2", status=204)
    service.baremetal("GET", target, status=404)
    assert service.baremetal("GET", "/volume/connectors").json["connectors"] == []
