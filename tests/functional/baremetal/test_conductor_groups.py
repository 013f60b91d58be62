"""Conductor groups, conductors, drivers."""

import uuid as uuid_module

import pytest
from sqlalchemy import update

from baremetal_sched.db.models import Conductor
from baremetal_sched.hashring import HashRing
from tests.restored import Rows
from tests.service import Service, fault

FAKE = {"driver": "fake-hardware"}


@pytest.fixture
def groups(service: Service) -> Service:
    service.add_conductor("c2")
    service.add_conductor("c3", "Rack1")
    return service


def silence(service: Service, host: str) -> None:
    """The conductor dies: no more heartbeats."""
    service.database.write(
        lambda session: session.execute(update(Conductor).where(Conductor.hostname == host).values(heartbeat_at=0))
    )


def test_groups_compare_without_case(groups: Service, row: Rows) -> None:
    for group in ["rack1", "RACK1", "Rack1"]:
        with row(group):
            node = groups.baremetal("POST", "/nodes", FAKE | {"conductor_group": group}).json
            assert (node["conductor_group"], node["conductor"]) == ("rack1", "c3")
            listed = groups.baremetal("GET", f"/nodes?conductor_group={group}").json["nodes"]
            assert [found["uuid"] for found in listed] == [node["uuid"]]
            moved = groups.patch(node["uuid"], ("replace", "/conductor_group", "")).json
            assert moved["conductor"] in ("c1", "c2")
            back = groups.patch(node["uuid"], ("replace", "/conductor_group", group)).json
            assert (back["conductor_group"], back["conductor"]) == ("rack1", "c3")


def test_a_group_without_a_conductor_is_refused_and_the_others_are_named(groups: Service, row: Rows) -> None:
    for group in ["nosuch", "NOSUCH", "bad group", "x" * 255, "x" * 256, "é"]:
        with row(group):
            response = groups.baremetal("POST", "/nodes", FAKE | {"conductor_group": group}, status=400)
            assert f'for conductor group "{group.lower()}"' in fault(response)
            assert 'Conductor groups that serve it: the default group, "rack1".' in fault(response)
            uuid = groups.add_node("n1", power=False)
            assert '"rack1"' in fault(groups.patch(uuid, ("replace", "/conductor_group", group), status=400))
            assert groups.node("n1")["conductor_group"] == ""


def test_owners_are_those_of_the_ring(groups: Service) -> None:
    default, rack = HashRing(["c1", "c2"]), HashRing(["c3"])
    for number in range(30):
        group = "rack1" if number % 3 == 0 else ""
        uuid = str(uuid_module.uuid5(uuid_module.NAMESPACE_DNS, str(number)))
        node = groups.baremetal("POST", "/nodes", FAKE | {"uuid": uuid, "conductor_group": group}).json
        assert node["conductor"] == (rack if group else default).owner(uuid)
    assert {node["conductor"] for node in groups.baremetal("GET", "/nodes/detail").json["nodes"]} == {"c1", "c2", "c3"}


def test_when_the_last_conductor_of_a_group_dies(groups: Service) -> None:
    uuid = groups.baremetal("POST", "/nodes", FAKE | {"conductor_group": "rack1", "name": "r"}).json["uuid"]
    silence(groups, "c3")
    assert groups.node(uuid)["conductor"] is None
    groups.baremetal("GET", "/nodes/r/traits", status=200)
    groups.baremetal("GET", "/nodes/r/states", status=200)
    for method, path, body, status in (
        ("PUT", "/traits/CUSTOM_A", None, 404),
        ("PUT", "/traits", {"traits": []}, 404),
        ("DELETE", "/traits", None, 404),
        ("PUT", "/states/power", {"target": "power on"}, 404),
        ("PATCH", "", [{"op": "add", "path": "/extra/a", "value": 1}], 400),
        ("PUT", "/maintenance", {}, 400),
        ("DELETE", "", None, 400),
    ):
        response = groups.baremetal(method, f"/nodes/r{path}", body, status=status)
        assert "No valid host was found" in fault(response), path
    assert groups.patch("r", ("replace", "/conductor_group", "")).json["conductor"] in ("c1", "c2")


def test_when_there_is_no_conductor_at_all(groups: Service) -> None:
    uuid = groups.add_node("n1", power=False)
    for host in ("c1", "c2", "c3"):
        silence(groups, host)
    assert groups.node(uuid)["conductor"] is None
    assert groups.baremetal("GET", "/drivers").json == {"drivers": []}
    for method, path, body in (
        ("POST", "/nodes", FAKE),
        ("PATCH", "/nodes/n1", []),
        ("PUT", "/nodes/n1/traits/CUSTOM_A", None),
        ("DELETE", "/nodes/n1", None),
    ):
        response = groups.baremetal(method, path, body, status=503)
        assert "Retry-After" not in response.headers
        assert fault(response) == "Resource temporarily unavailable, please retry."


def test_a_clean_stop_is_known_at_once(groups: Service) -> None:
    groups.conductors["c3"].sign_off()
    assert groups.baremetal("GET", "/conductors/c3").json["alive"] is False
    groups.baremetal("POST", "/nodes", FAKE | {"conductor_group": "rack1"}, status=400)
    groups.add_conductor("c3", "rack1")
    groups.baremetal("POST", "/nodes", FAKE | {"conductor_group": "rack1"}, status=201)


def test_a_conductor_that_lost_its_entry_enters_again(groups: Service) -> None:
    groups.database.write(lambda session: session.query(Conductor).filter_by(hostname="c3").delete())
    groups.conductors["c3"].beat()
    assert groups.baremetal("GET", "/conductors/c3").json["alive"] is True


def test_list_of_conductors(groups: Service) -> None:
    conductors = groups.baremetal("GET", "/conductors").json["conductors"]
    assert [(c["hostname"], c["conductor_group"], c["alive"]) for c in conductors] == [
        ("c1", "", True),
        ("c2", "", True),
        ("c3", "rack1", True),
    ]
    assert set(conductors[0]) == {"hostname", "conductor_group", "alive", "links"}
    (only,) = groups.baremetal("GET", "/conductors?sort_key=hostname&sort_dir=desc&limit=1&fields=hostname").json[
        "conductors"
    ]
    assert only["hostname"] == "c3"
    after = groups.baremetal("GET", "/conductors?marker=c2").json["conductors"]
    assert [conductor["hostname"] for conductor in after] == ["c3"]
    following = groups.baremetal("GET", "/conductors?limit=2").json["next"]
    assert following.endswith("&limit=2&marker=c2")


def test_one_conductor(groups: Service) -> None:
    conductor = groups.baremetal("GET", "/conductors/c3").json
    assert conductor["drivers"] == ["fake-hardware", "manual-management"]
    assert conductor["created_at"].endswith("+00:00")
    assert conductor["updated_at"].endswith("+00:00")
    assert set(groups.baremetal("GET", "/conductors/c3?fields=alive").json) == {"alive", "links"}
    assert conductor == groups.baremetal("GET", "/conductors?detail=true").json["conductors"][2]


def test_conductors_that_cannot_be(groups: Service, row: Rows) -> None:
    for path, version, status in [
        ("/conductors", "1.48", 404),
        ("/conductors/c1", "1.48", 404),
        ("/conductors/nosuch", "1.115", 404),
        ("/conductors?marker=nosuch", "1.115", 404),
        ("/conductors?fields=nosuch", "1.115", 400),
        ("/conductors?detail=true&fields=hostname", "1.115", 400),
        ("/conductors?sort_key=alive", "1.115", 400),
        ("/conductors?conductor_group=x", "1.115", 400),
    ]:
        with row(path, version, status):
            assert fault(groups.baremetal("GET", path, version=version, status=status))
            groups.baremetal("POST", "/conductors", {}, status=405)


def test_drivers(groups: Service) -> None:
    drivers = groups.baremetal("GET", "/drivers").json["drivers"]
    assert [(d["name"], d["hosts"], d["type"]) for d in drivers] == [
        ("fake-hardware", ["c1", "c2", "c3"], "dynamic"),
        ("manual-management", ["c1", "c2", "c3"], "dynamic"),
    ]
    detail = groups.baremetal("GET", "/drivers/manual-management").json
    assert (detail["default_boot_interface"], detail["enabled_boot_interfaces"]) == ("ipxe", ["ipxe", "pxe"])
    assert detail == groups.baremetal("GET", "/drivers?detail=true").json["drivers"][1]
    assert set(groups.baremetal("GET", "/drivers/fake-hardware", version="1.13").json) == {"name", "hosts", "links"}
    assert "default_bios_interface" not in groups.baremetal("GET", "/drivers/fake-hardware", version="1.39").json
    assert "default_bios_interface" in groups.baremetal("GET", "/drivers/fake-hardware", version="1.40").json
    assert groups.baremetal("GET", "/drivers?type=classic").json == {"drivers": []}
    assert groups.baremetal("GET", "/drivers/fake-hardware/properties").json["B1"]
    one = groups.baremetal("GET", "/drivers/fake-hardware?fields=default_boot_interface").json
    assert one["default_boot_interface"] == "fake"


def test_drivers_that_cannot_be(groups: Service, row: Rows) -> None:
    for path, version, status in [
        ("/drivers/nosuch", "1.115", 404),
        ("/drivers/nosuch/properties", "1.115", 404),
        ("/drivers?type=x", "1.115", 400),
        ("/drivers?type=dynamic", "1.29", 406),
        ("/drivers?fields=name", "1.76", 406),
        ("/drivers?fields=nosuch", "1.115", 400),
        ("/drivers?fields=name,default_boot_interface,enabled_boot_interfaces", "1.115", 400),
        ("/drivers?fields=name&detail=true", "1.115", 400),
    ]:
        with row(path, version, status):
            assert fault(groups.baremetal("GET", path, version=version, status=status))


def test_a_driver_that_nobody_serves_is_refused_with_the_option_that_enables_it(groups: Service) -> None:
    response = groups.baremetal("POST", "/nodes", {"driver": "redfish"}, status=400)
    said = fault(response)
    assert "Drivers that are served: fake-hardware" in said
    assert "To serve another, add it to [DEFAULT] enabled_hardware_types of a conductor" in said
