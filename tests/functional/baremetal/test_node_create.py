# tier: first
"""POST /v1/nodes"""

import re
from typing import Any

from baremetal_sched.baremetal.nodes.node_fields import FIELDS
from tests.restored import Rows
from tests.service import Service, fault

UUID = "aaaaaaaa-0000-4000-8000-000000000001"
FAKE = {"driver": "fake-hardware"}


def create(service: Service, status: int | None = None, version: str = "1.115", **body: Any) -> Any:
    return service.baremetal("POST", "/nodes", FAKE | body, version=version, status=status)


def test_a_new_node(service: Service) -> None:
    response = create(service, 201, name="n1", properties={"cpus": 4}, extra={"é": [1, None, 2**70]})
    node = response.json
    assert response.headers["Location"] == f"http://localhost/baremetal/v1/nodes/{node['uuid']}"
    assert node["provision_state"] == "enroll"
    assert node["power_state"] is None
    assert node["conductor"] == "c1"
    assert node["conductor_group"] == ""
    assert node["extra"] == {"é": [1, None, 2**70]}
    assert node["traits"] == []
    assert node["updated_at"] is None
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", node["created_at"])
    interfaces = {name: value for name, value in node.items() if name.endswith("_interface")}
    assert len(interfaces) == 13
    assert set(interfaces.values()) == {"fake", "noop"}
    assert service.node("n1") == node


def test_fields_appear_at_their_version(service: Service, row: Rows) -> None:
    for version in [1, 2, 4, 5, 11, 31, 37, 46, 52, 82, 104, 115]:
        with row(version):
            node = create(service, 201, f"1.{version}").json
            assert set(node) == {name for name, field in FIELDS.items() if field.since <= version}
            expected = {1: None}.get(version, "available" if version < 11 else "enroll")
            assert node["provision_state"] == expected


def test_a_uuid_of_the_clients_own(service: Service, row: Rows) -> None:
    for given, stored in [(UUID, UUID), (UUID.upper(), UUID), (UUID.replace("-", ""), UUID)]:
        with row(given, stored):
            assert create(service, 201, uuid=given).json["uuid"] == stored
            assert service.node(given)["uuid"] == stored
            assert fault(create(service, 409, uuid=given)) == f"A node with UUID {stored} already exists."


def test_null_means_not_given(service: Service) -> None:
    node = create(service, 201, uuid=None, name=None, properties=None, extra=None, resource_class=None, owner=None).json
    assert node["properties"] == node["extra"] == {}
    assert node["uuid"]


def test_what_cannot_be_is_400_and_creates_nothing(service: Service, row: Rows) -> None:
    for body, message in [
        ({"driver": None}, "driver"),
        ({"driver": 5}, "'driver': 5 is not of type 'string'"),
        ({"driver": "nosuch"}, "supports driver nosuch"),
        ({"nosuch": 1}, "Additional properties are not allowed"),
        ({"traits": ["CUSTOM_A"]}, "'traits': Additional properties are not allowed"),
        ({"provision_state": "active"}, "Additional properties"),
        ({"protected": True}, "Additional properties"),
        ({"uuid": "xyz"}, "Expected UUID for uuid: xyz"),
        ({"name": 5}, "'name'"),
        ({"name": ""}, "invalid name ''"),
        ({"name": "a b"}, "invalid name 'a b'"),
        ({"name": UUID}, "invalid name"),
        ({"name": "detail"}, "reserved"),
        ({"resource_class": "x" * 81}, "resource_class"),
        ({"resource_class": 5}, "resource_class"),
        ({"conductor_group": 5}, "conductor_group"),
        ({"description": "x" * 4097}, "description"),
        ({"chassis_uuid": UUID}, f"Chassis {UUID} could not be found."),
        ({"chassis_uuid": "x"}, "Expected UUID for chassis_uuid"),
        ({"instance_uuid": "x"}, "Expected UUID for instance_uuid"),
        ({"properties": {"local_gb": "ten"}}, "local_gb=ten"),
        ({"properties": {"memory_mb": -1}}, "memory_mb=-1"),
        ({"properties": []}, "not of type 'object'"),
        ({"maintenance": "maybe"}, "Unrecognized value 'maybe'"),
        ({"maintenance": 5}, "not of type 'boolean'"),
        ({"bios_interface": "nosuch"}, "Valid interfaces are ['fake', 'no-bios']"),
        ({"driver": "manual-management", "deploy_interface": "fake"}, "not supported by hardware type"),
        ({"parent_node": UUID}, "Unable to apply the requested parent_node"),
        ({"network_data": {"links": 5}}, "network_data"),
        ({"instance_name": ""}, "instance_name"),
    ]:
        with row(body, message):
            assert message in fault(create(service, 400, **body))
            assert service.baremetal("GET", "/nodes").json["nodes"] == []
            assert service.placement("GET", "/resource_providers").json["resource_providers"] == []


def test_fields_newer_than_the_request_are_406(service: Service, row: Rows) -> None:
    for body, version in [
        ({"name": "n"}, "1.4"),
        ({"resource_class": "a"}, "1.20"),
        ({"conductor_group": "g"}, "1.45"),
        ({"conductor_group": None}, "1.45"),
        ({"boot_interface": "fake"}, "1.30"),
        ({"retired": True}, "1.60"),
        ({"parent_node": UUID}, "1.82"),
        ({"instance_name": "i"}, "1.103"),
    ]:
        with row(body, version):
            create(service, 406, version, **body)


def test_newer_fields_may_be_there_empty(service: Service) -> None:
    create(service, 201, "1.4", name=None)
    create(service, 201, "1.45", conductor_group="")
    create(service, 201, "1.20", resource_class=None)
    create(service, 201, "1.60", retired=None)
    create(service, 201, "1.94", disable_power_off=None)


def test_words_for_booleans(service: Service) -> None:
    node = create(service, 201, maintenance="yes", automated_clean="false", retired="1").json
    assert (node["maintenance"], node["automated_clean"], node["retired"]) == (True, False, True)


def test_flags_that_are_null_are_off(service: Service) -> None:
    flags = ("console_enabled", "maintenance", "retired", "disable_power_off")
    node = create(service, 201, **dict.fromkeys(flags)).json
    assert [node[name] for name in flags] == [False] * 4
    service.patch(node["uuid"], ("add", "/retired", True))
    assert service.patch(node["uuid"], ("replace", "/retired", None)).json["retired"] is False


def test_names_are_unique(service: Service) -> None:
    create(service, 201, name="n1")
    assert fault(create(service, 409, name="n1")) == "A node with name n1 already exists."
    create(service, 201, name="N1")


def test_an_instance_is_on_one_node_only(service: Service) -> None:
    create(service, 201, instance_uuid=UUID)
    assert UUID in fault(create(service, 409, instance_uuid=UUID))


def test_defaults_come_from_the_settings(database_url: str) -> None:
    with Service(database_url, DEFAULT={"default_resource_class": "d", "default_conductor_group": "Rack1"}) as service:
        service.add_conductor("c2", "rack1")
        node = create(service, 201, resource_class="").json
        assert (node["resource_class"], node["conductor_group"], node["conductor"]) == ("d", "rack1", "c2")


def test_a_node_of_manual_management_has_its_defaults(service: Service) -> None:
    node = create(service, 201, driver="manual-management").json
    assert (node["boot_interface"], node["bios_interface"], node["power_interface"]) == ("ipxe", "no-bios", "agent")


def test_children_are_named_by_uuid_or_name(service: Service) -> None:
    parent = create(service, 201, name="p").json["uuid"]
    child = create(service, 201, name="c", parent_node="p").json
    assert child["parent_node"] == parent
    assert service.baremetal("GET", f"/nodes?parent_node={parent}&fields=name").json["nodes"][0]["name"] == "c"


def test_secrets_are_masked(service: Service) -> None:
    node = create(
        service, 201, driver_info={"ipmi_password": "s", "user": "u"}, instance_info={"configdrive": "H4"}
    ).json
    assert node["driver_info"] == {"ipmi_password": "******", "user": "u"}
    assert node["instance_info"] == {"configdrive": "******"}


def test_who_may_do_everything_and_has_no_project_names_an_owner(service: Service) -> None:
    """As with a later change of the node."""
    node = create(service, 201, owner="o").json
    assert node["owner"] == "o"
    assert service.patch(node["uuid"], ("replace", "/owner", "p")).json["owner"] == "p"


def test_who_has_a_project_creates_nodes_of_this_project(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        headers = {"X-Auth-Token": "someone:ours", "OpenStack-System-Scope": ""}
        body = {"driver": "fake-hardware", "owner": "theirs"}
        answer = service.baremetal("POST", "/nodes", body, headers=headers, status=400)
        assert "project scoped admin" in fault(answer)
