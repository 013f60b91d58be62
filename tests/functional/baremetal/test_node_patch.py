# tier: first
"""PATCH /v1/nodes/{node}"""

import pytest

from tests.built_once import built_once
from tests.restored import Rows
from tests.service import Service, fault

UUID = "aaaaaaaa-2222-4000-8000-000000000001"
OTHER = "aaaaaaaa-2222-4000-8000-000000000002"
NODE_FIELDS_IN_ACTIVE = (
    ("add", "/extra/a", 1),
    ("add", "/description", "d"),
    ("add", "/shard", "s"),
    ("add", "/name", "z"),
)
NETWORK_DATA: dict[str, list] = {"links": [], "networks": [], "services": []}


@pytest.fixture
def uuid(service: Service) -> str:
    return built_once(
        service, lambda service: service.add_node("p1", extra={"a": 1}, resource_class="rc1", power=False)
    )


def test_the_answer_is_the_node_as_it_is_now(service: Service, uuid: str) -> None:
    response = service.patch(uuid, ("add", "/extra/b", {"c": [1]}), ("replace", "/name", "p2"), ("add", "/owner", "o"))
    assert response.json["extra"] == {"a": 1, "b": {"c": [1]}}
    assert (response.json["name"], response.json["owner"]) == ("p2", "o")
    assert response.json == service.node(uuid) | {"reservation": "c1"}
    assert response.json["updated_at"]


def test_nothing_to_do_is_fine(service: Service, uuid: str) -> None:
    before = service.node(uuid)
    assert service.patch(uuid).json == before | {"reservation": "c1"}
    assert service.patch(uuid, ("replace", "/resource_class", "rc1")).json == before | {"reservation": "c1"}
    assert service.node(uuid) == before


def test_json_values_keep_their_types(service: Service, uuid: str) -> None:
    for value in (True, 1, 1.5, None, "1", [], {}, False, 0):
        extra = service.patch(uuid, ("add", "/extra/a", value)).json["extra"]
        assert extra == {"a": value}
        assert type(service.node(uuid)["extra"]["a"]) is type(value)


def test_a_patch_is_all_or_nothing(service: Service, uuid: str) -> None:
    service.patch(uuid, ("add", "/extra/t", 1), ("remove", "/extra/none"), status=400)
    assert service.node(uuid)["extra"] == {"a": 1}


def test_what_cannot_be(service: Service, uuid: str, row: Rows) -> None:
    for operation, status, message in [
        (("add", "/nosuch", 1), 400, "Cannot patch /nosuch"),
        (("replace", "/uuid", OTHER), 400, "Cannot patch /uuid"),
        (("replace", "/traits", ["CUSTOM_A"]), 400, "Cannot patch /traits"),
        (("add", "/traits/-", "CUSTOM_A"), 400, "Cannot patch /traits"),
        (("replace", "/reservation", None), 400, "Cannot patch"),
        (("replace", "/extra", "x"), 400, "not of type 'object'"),
        (("replace", "/name", "a b"), 400, "Cannot change name to invalid name 'a b'"),
        (("replace", "/name", None), 400, "invalid name 'None'"),
        (("add", "/name", ""), 400, "invalid name ''"),
        (("replace", "/name", "detail"), 400, "reserved"),
        (("replace", "/driver", "nosuch"), 400, "No valid host was found"),
        (("replace", "/driver", "manual-management"), 400, "not supported by hardware type"),
        (("replace", "/driver", None), 400, "driver"),
        (("remove", "/driver"), 400, "driver"),
        (
            ("replace", "/deploy_interface", "nosuch"),
            400,
            "Valid interfaces are ['autodetect', 'custom-agent', 'direct', 'fake', 'noop']",
        ),
        (("replace", "/conductor_group", 5), 400, "conductor_group"),
        (("replace", "/conductor_group", "bad group"), 400, "No valid host"),
        (("replace", "/resource_class", "x" * 81), 400, "resource_class"),
        (("add", "/chassis_uuid", UUID), 400, "Chassis"),
        (("replace", "/maintenance", "maybe"), 400, "Unrecognized value"),
        (("replace", "/protected", True), 409, "can only be made protected"),
        (("replace", "/protected_reason", "r"), 400, "only be set when protected is True"),
        (("replace", "/retired", True), 409, "retired"),
        (("replace", "/retired_reason", "r"), 400, "only be set when retired is True"),
        (("replace", "/instance_uuid", "x"), 400, "Expected UUID for instance_uuid: x"),
        (("add", "/properties/memory_mb", "x"), 400, "memory_mb=x"),
        (("add", "/description", "x" * 4097), 400, "description"),
        (("add", "/network_data", {"links": []}), 400, "networks"),
        (("add", "/parent_node", "nosuch"), 400, "Unable to apply the requested parent_node"),
    ]:
        with row(operation, status, message):
            before = service.node(uuid)
            assert message in fault(service.patch(uuid, operation, status=status))
            assert service.node(uuid) == before


def test_what_can_be(service: Service, uuid: str, row: Rows) -> None:
    for operation, field, value in [
        (("remove", "/extra"), "extra", {}),
        (("replace", "/extra", None), "extra", {}),
        (("remove", "/name"), "name", None),
        (("remove", "/resource_class"), "resource_class", None),
        (("remove", "/conductor_group"), "conductor_group", ""),
        (("replace", "/conductor_group", None), "conductor_group", ""),
        (("remove", "/maintenance"), "maintenance", False),
        (("replace", "/maintenance", "true"), "maintenance", True),
        (("replace", "/automated_clean", False), "automated_clean", False),
        (("replace", "/deploy_interface", "noop"), "deploy_interface", "noop"),
        (("remove", "/deploy_interface"), "deploy_interface", "fake"),
        (("replace", "/deploy_interface", None), "deploy_interface", "fake"),
        (("add", "/instance_info/traits", "anything"), "instance_info", {"traits": "anything"}),
        (("add", "/extra/a~1b", 1), "extra", {"a": 1, "a/b": 1}),
        (("add", "/network_data", NETWORK_DATA), "network_data", NETWORK_DATA),
    ]:
        with row(operation, field, value):
            assert service.patch(uuid, operation).json[field] == value
            assert service.node(uuid)[field] == value


def test_fields_newer_than_the_request_are_406(service: Service, uuid: str, row: Rows) -> None:
    for operation, version in [
        (("add", "/name", "x"), "1.4"),
        (("replace", "/resource_class", "x"), "1.20"),
        (("replace", "/conductor_group", ""), "1.45"),
        (("replace", "/deploy_interface", "fake"), "1.30"),
        (("remove", "/chassis_uuid"), "1.24"),
    ]:
        with row(operation, version):
            service.patch(uuid, operation, version=version, status=406)


def test_removing_a_newer_field_is_not_gated(service: Service, uuid: str) -> None:
    service.patch(uuid, ("add", "/description", "d"))
    service.patch(uuid, ("remove", "/description"), version="1.50")
    assert service.node(uuid)["description"] is None


def test_escapes_in_paths_since_1_98(service: Service, uuid: str) -> None:
    service.patch(uuid, ("add", "/extra/a~1b", 1), version="1.97", status=400)
    assert service.patch(uuid, ("add", "/extra/~0~1", 1), version="1.98").json["extra"] == {"a": 1, "~/": 1}


def test_names_and_instances_are_taken_once(service: Service, uuid: str) -> None:
    other = service.add_node("q1", power=False)
    service.patch(uuid, ("add", "/name", "q1"), status=409)
    service.patch(uuid, ("add", "/instance_uuid", UUID))
    service.patch(uuid, ("add", "/instance_uuid", UUID))
    assert "is associated with instance" in fault(service.patch(uuid, ("add", "/instance_uuid", OTHER), status=409))
    assert "already associated" in fault(service.patch(other, ("add", "/instance_uuid", UUID), status=409))
    service.patch(uuid, ("remove", "/instance_uuid"))
    service.patch(other, ("replace", "/instance_uuid", UUID))


def test_a_driver_change_can_reset_the_interfaces(service: Service, uuid: str) -> None:
    path = f"/nodes/{uuid}?reset_interfaces=true"
    body = [{"op": "replace", "path": "/driver", "value": "manual-management"}]
    node = service.baremetal("PATCH", path, body).json
    assert (node["driver"], node["boot_interface"], node["power_interface"]) == ("manual-management", "ipxe", "agent")
    service.baremetal("PATCH", path, [{"op": "add", "path": "/extra/x", "value": 1}], status=400)
    service.baremetal("PATCH", path, body, version="1.44", status=406)
    back = [
        {"op": "replace", "path": "/driver", "value": "fake-hardware"},
        {"op": "replace", "path": "/boot_interface", "value": "pxe"},
    ]
    node = service.baremetal("PATCH", path, back).json
    assert (node["boot_interface"], node["power_interface"]) == ("pxe", "fake")


def test_what_an_active_node_allows(service: Service, uuid: str) -> None:
    service.set_columns(uuid, provision_state="active")
    for operation in NODE_FIELDS_IN_ACTIVE:
        service.patch(uuid, operation, status=200)
    for path, value in (("/resource_class", "rc9"), ("/deploy_interface", "noop")):
        refused = fault(service.patch(uuid, ("replace", path, value), status=409))
        assert "allowed (enroll, inspecting" in refused
        assert ("or in maintenance mode" in refused) == (path == "/deploy_interface")
    service.patch(uuid, ("replace", "/resource_class", "rc1"), status=200)
    service.patch(uuid, ("replace", "/protected", True), ("replace", "/protected_reason", "mine"), status=200)
    service.patch(uuid, ("replace", "/protected", False), status=200)
    assert service.node(uuid)["protected_reason"] is None
    service.patch(uuid, ("replace", "/maintenance", True))
    service.patch(uuid, ("replace", "/deploy_interface", "noop"), status=200)
    service.patch(uuid, ("replace", "/resource_class", "rc9"), status=409)


def test_the_first_resource_class_may_come_in_any_state(service: Service, uuid: str) -> None:
    service.patch(uuid, ("remove", "/resource_class"))
    service.set_columns(uuid, provision_state="active")
    service.patch(uuid, ("add", "/resource_class", "rc1"), status=200)
    service.patch(uuid, ("remove", "/resource_class"), status=409)


def test_a_node_in_transition_cannot_be_changed(service: Service, uuid: str) -> None:
    service.set_columns(uuid, provision_state="deploying", target_provision_state="active")
    assert "state transition" in fault(service.patch(uuid, ("add", "/extra/a", 2), status=409))
    service.set_columns(uuid, provision_state="deploy failed")
    service.patch(uuid, ("add", "/extra/a", 2), status=200)
    service.set_columns(uuid, provision_state="inspecting", target_provision_state="manageable")
    service.patch(uuid, ("add", "/extra/a", 3), status=409)
    service.patch(uuid, ("add", "/extra/a", 3), version="1.38", status=200)
    service.set_columns(uuid, provision_state="deploying", maintenance=True, instance_uuid=UUID)
    service.patch(uuid, ("remove", "/instance_uuid"), status=200)


def test_leaving_maintenance_clears_its_reason(service: Service, uuid: str) -> None:
    service.baremetal("PUT", f"/nodes/{uuid}/maintenance", {"reason": "fan"})
    service.patch(uuid, ("replace", "/maintenance", False))
    assert service.node(uuid)["maintenance_reason"] is None


def test_retired(service: Service, uuid: str) -> None:
    service.set_columns(uuid, provision_state="manageable")
    service.patch(uuid, ("replace", "/retired", True), ("replace", "/retired_reason", "old"), status=200)
    service.patch(uuid, ("replace", "/retired", False))
    assert service.node(uuid)["retired_reason"] is None


def test_an_instance_gets_its_display_name(service: Service, uuid: str) -> None:
    assert service.patch(uuid, ("add", "/instance_info/display_name", "dn")).json["instance_name"] == "dn"
    service.patch(uuid, ("replace", "/instance_info/display_name", "other"))
    assert service.node(uuid)["instance_name"] == "dn"


def test_a_parent_has_the_same_owner(service: Service, uuid: str) -> None:
    other = service.add_node("q1", power=False)
    assert service.patch(uuid, ("add", "/parent_node", "q1")).json["parent_node"] == other
    service.patch(uuid, ("remove", "/parent_node"))
    service.patch(uuid, ("add", "/owner", "o"))
    service.patch(uuid, ("add", "/parent_node", "q1"), status=400)
