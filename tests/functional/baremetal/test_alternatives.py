"""Other addresses of operations on nodes and drivers, and resources that the query string or the body names."""

import random
import re

import pytest

from baremetal_sched.baremetal.api.routes import ALTERNATIVES
from tests.built_once import built_once
from tests.reference import API_REF, shape
from tests.restored import Rows
from tests.service import LATEST, Service, fault

IDENTS = ("n1", "nosuch", "a%20b", "%00", "%ff", "..", "states", "x" * 3000, "a%2Fb", "n1.json")
QUERIES = ("", "node_ident=n1", "node_ident=n1&node_ident=n2", "node_ident=", "node_ident=%ff", "vif_id=%00", "trait=")
DOCUMENTS = (
    *(b"", b"null", b"[]", b"{}", b'"x"', b"\xff", b'{"node_ident": "n1"}', b'{"node_ident": ["n1"]}'),
    *(b'{"node_ident": {"a": 1}}', b'{"node_ident": null, "target": 5}', b'{"node_ident": 1' + b"0" * 400 + b"}"),
    *(b'{"target": [1], "enabled": {}, "reason": 5}', b'{"callback_url": 5, "node_ident": "\\u0000"}'),
)
REPORT = {"callback_url": "http://192.0.2.1:9999", "agent_token": "x"}


@pytest.fixture
def node(service: Service) -> str:
    return built_once(service, lambda service: service.add_node("n1", power=False))


def test_states(service: Service, node: str, row: Rows) -> None:
    for path in ["/nodes/states/n1", "/nodes/states?node_ident=n1", "/nodes/states/n1/"]:
        with row(path):
            assert service.baremetal("GET", path).json == service.baremetal("GET", "/nodes/n1/states").json


def test_the_console(service: Service, node: str, row: Rows) -> None:
    for path in ["/nodes/states/console/n1", "/nodes/states/n1/console", "/nodes/states/console?node_ident=n1"]:
        with row(path):
            assert service.baremetal("GET", path).json == {"console_enabled": False, "console_info": None}
            answer = service.baremetal("PUT", path, {"enabled": True}, status=202)
            assert answer.headers["Location"].endswith("/v1/nodes/n1/states/console")
            service.work()
            assert service.baremetal("GET", path).json["console_enabled"]


def test_power(service: Service, node: str, row: Rows) -> None:
    for path, body in [
        ("/nodes/states/power/n1", {"target": "power on"}),
        ("/nodes/states/power", {"target": "power on", "node_ident": "n1"}),
        ("/nodes/states/power?node_ident=n1", {"target": "power on"}),
        ("/nodes/states/power?node_ident=n1&target=power%20on", None),
        ("/nodes/n1/states/power?target=power%20on", None),
        ("/nodes/n1/states/power/power%20on", None),
        ("/nodes/states/power/n1/power%20on", None),
    ]:
        with row(path, body):
            answer = service.baremetal("PUT", path, body, status=202)
            assert answer.headers["Location"].endswith("/v1/nodes/n1/states")
            service.work()
            assert service.node("n1")["power_state"] == "power on"


def test_what_is_done_to_a_node(service: Service, node: str, row: Rows) -> None:
    for method, path, body, status in [
        ("PUT", "states/provision/n1", {"target": "manage"}, 202),
        ("PUT", "states/provision/n1/manage", None, 202),
        ("PUT", "states/raid/n1", {}, 204),
        ("PUT", "states/raid?node_ident=n1", {}, 204),
        ("PUT", "states/boot_mode/n1", {"target": "uefi"}, 202),
        ("PUT", "states/secure_boot/n1", {"target": True}, 202),
        ("GET", "management/boot_device/n1", None, 200),
        ("PUT", "management/boot_device/n1", {"boot_device": "pxe"}, 204),
        ("GET", "management/boot_device/n1/supported", None, 200),
        ("GET", "management/boot_device/supported?node_ident=n1", None, 200),
        ("PUT", "management/inject_nmi/n1", None, 400),
        ("GET", "management/indicators/n1/led-0@chassis", None, 200),
        ("GET", "management/indicators?node_ident=n1", None, 200),
        ("GET", "vendor_passthru/n1/methods", None, 200),
        ("GET", "vendor_passthru/methods?node_ident=n1", None, 200),
        ("POST", "vendor_passthru/n1/second_method", {"bar": "kazoo"}, 202),
        ("POST", "vendor_passthru/n1?method=second_method", {"bar": "kazoo"}, 202),
        ("POST", "vendor_passthru?method=second_method&node_ident=n1", {"bar": "kazoo"}, 202),
        ("DELETE", "n1/vifs?vif_id=x", None, 204),
        ("PUT", "n1/traits?trait=CUSTOM_X", None, 204),
    ]:
        with row(method, path, body, status):
            service.patch("n1", ("add", "/vendor_interface", "fake"))
            service.baremetal(method, f"/nodes/{path}", body, status=status)


def test_maintenance(service: Service, node: str) -> None:
    for path, body in (
        ("maintenance/n1", {"reason": "x"}),
        ("maintenance/n1/x", None),
        ("maintenance", {"reason": "x", "node_ident": "n1"}),
    ):
        service.baremetal("PUT", f"/nodes/{path}", body, status=202)
        assert service.node("n1")["maintenance_reason"] == "x"
        service.baremetal("DELETE", "/nodes/maintenance?node_ident=n1", status=202)
        assert not service.node("n1")["maintenance"]


def test_drivers(service: Service, row: Rows) -> None:
    for path in ["raid/fake-hardware/logical_disk_properties", "vendor_passthru/fake-hardware/methods"]:
        with row(path):
            service.baremetal("GET", f"/drivers/{path}", status=200)


def test_a_node_that_the_query_string_names_is_changed_and_deleted(service: Service, node: str) -> None:
    operations = [{"op": "add", "path": "/extra/a", "value": 1}]
    assert service.baremetal("PATCH", "/nodes?node_ident=n1", operations).json["extra"] == {"a": 1}
    service.baremetal("PUT", "/nodes/n1/maintenance", {})
    service.baremetal("DELETE", "/nodes?node_ident=n1", status=204)
    service.baremetal("DELETE", "/nodes?node_ident=n1", status=404)


def test_what_names_no_node_or_several(service: Service, node: str, row: Rows) -> None:
    for path, body, message in [
        ("power", {"target": "power on"}, "Missing mandatory parameter: node_ident"),
        ("power", {"target": "power on", "node_ident": 5}, "Expected one UUID or name for node_ident: 5"),
        ("power?node_ident=n1", {"target": "power on", "node_ident": "n2"}, "Expected one UUID or name for"),
        ("power/n1/power%20on", {"target": "power off"}, "Expected one value for target"),
        ("power/n1?node_ident=n1", {"target": "power on"}, "Unexpected arguments: node_ident"),
        ("power/a$b", {"target": "power on"}, "Expected UUID or name for node_ident: a$b"),
    ]:
        with row(path, body, message):
            assert message in fault(service.baremetal("PUT", f"/nodes/states/{path}", body, status=400))


def test_a_heartbeat_may_name_the_node_in_its_body(service: Service, node: str) -> None:
    """404 below 1.22, as every heartbeat; then it is one."""
    body = {"node_ident": "n1", **REPORT}
    service.baremetal("POST", "/heartbeat", body, version="1.21", status=404)
    answers = [
        fault(service.baremetal("POST", path, given, status=400))
        for path, given in (("/heartbeat", body), ("/heartbeat/n1", REPORT))
    ]
    assert answers[0] == answers[1]
    assert "Missing mandatory" not in answers[0]
    service.baremetal("POST", "/heartbeat", {"node_ident": "nosuch", **REPORT}, status=404)
    assert fault(service.baremetal("POST", "/heartbeat", REPORT, status=400)).endswith("parameter: node_ident")


def test_names_of_subcollections_are_found_as_nodes_or_not(service: Service) -> None:
    service.baremetal("GET", "/nodes/states/ports", status=404)
    service.baremetal("GET", "/nodes/states/states", status=404)


def test_hostile_arguments_are_refused(service: Service, node: str) -> None:
    """Whatever stands for a node, or in the body: never a 500."""
    draw = random.Random(1)
    for route in ALTERNATIVES:
        for _ in range(3):
            path = re.sub(r"<\w+>", lambda _: draw.choice(IDENTS), route.path)
            answer = service.http.request(
                f"/baremetal{path}?{draw.choice(QUERIES)}",
                method=route.method,
                headers={"X-OpenStack-Ironic-API-Version": LATEST, "Content-Type": "application/json"},
                body=draw.choice(DOCUMENTS),
                expect_errors=True,
            )
            assert answer.status_code < 500, (route.method, path, answer.text)


def test_every_other_address_is_in_the_reference() -> None:
    text = shape((API_REF / "baremetal" / "alternatives.rst").read_text())
    paths = {shape(route.path) for route in ALTERNATIVES}
    assert [path for path in paths if f"{path}``" not in text] == []


def test_what_a_microversion_lacks_is_not_found(service: Service, node: str, row: Rows) -> None:
    """Whatever the method; a microversion that is not served comes first."""
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"]:
        for path, version in [
            ("/nodes/n1/vmedia", 88),
            ("/nodes/n1/vifs", 27),
            ("/nodes/n1/bios", 39),
            ("/nodes/n1/allocation", 51),
            ("/nodes/n1/portgroups", 23),
            ("/nodes/n1/history", 77),
            ("/volume/connectors/x", 31),
            ("/runbooks/x/traits", 111),
        ]:
            with row(method, path, version):
                body = {} if method in ("POST", "PUT", "PATCH") else None
                service.baremetal(method, path, body, version=f"1.{version}", status=404)
                service.baremetal(method, path, body, version="1.999", status=406)


def test_methods_that_a_path_lacks_are_not_allowed_in_its_microversions(service: Service, node: str) -> None:
    for version in ("1.89", LATEST):
        service.baremetal("PUT", "/nodes/n1/vmedia", {}, version=version, status=405)


def test_a_driver_that_the_query_string_names(service: Service) -> None:
    service.add_conductor("c1")
    for path in ("properties", "vendor_passthru/methods"):
        expected = service.baremetal("GET", f"/drivers/fake-hardware/{path}").json
        assert expected or path != "properties"
        assert service.baremetal("GET", f"/drivers/{path}?driver_name=fake-hardware").json == expected
        service.baremetal("GET", f"/drivers/{path}?driver_name=nosuch", status=404)
        assert "driver_name" in fault(service.baremetal("GET", f"/drivers/{path}", status=400))
        service.baremetal("GET", f"/drivers/{path}?driver_name=fake-hardware&x=1", status=400)
