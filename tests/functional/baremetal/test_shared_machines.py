"""Two nodes with one machine: a warning when the second one is enrolled, and in the explanations of both."""

import json
from typing import Any
from unittest.mock import Mock

import pytest

from baremetal_sched.baremetal.nodes import shared_machines
from tests.restored import Rows
from tests.service import Service

MACHINE = {"redfish_address": "https://BMC1.example.com", "redfish_system_id": "/redfish/v1/Systems/1"}
SAYS = "driver_info names the same machine as that of node {}, so that it may be given out twice."


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Mock:
    log = Mock()
    monkeypatch.setattr(shared_machines, "log", log)
    return log


def enrol(service: Service, name: str, driver_info: dict[str, Any]) -> Any:
    """The answer to the creation of a node."""
    body = {"driver": "fake-hardware", "name": name, "resource_class": "gold", "driver_info": driver_info}
    return service.baremetal("POST", "/nodes", body, status=201)


def remarks(service: Service, node: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = service.http.get(f"/scheduling/v1/nodes/{node}/availability").json["remarks"]
    return found


def test_the_same_machine(service: Service, log: Mock, row: Rows) -> None:
    for other, is_same in [
        ({"redfish_address": "bmc1.example.com/", "redfish_system_id": "/redfish/v1/Systems/1/"}, True),
        ({"redfish_address": "https://bmc1.example.com:443"}, True),  # the only machine there
        ({**MACHINE, "redfish_password": "secret-9"}, True),
        ({**MACHINE, "redfish_system_id": "/redfish/v1/Systems/2"}, False),
        ({**MACHINE, "redfish_address": "https://bmc1.example.com:8443"}, False),
        ({**MACHINE, "redfish_address": "https://bmc1.example.com.org"}, False),
        ({"ipmi_address": "bmc2.example.com"}, False),
        ({"redfish_address": "https://[::1", "note": "bmc1.example.com"}, False),
        ({"redfish_address": "https://bmc1.example.com:x"}, True),
        ({}, False),
    ]:
        with row(other, is_same):
            log.reset_mock()
            assert "Warning" not in enrol(service, "n1", MACHINE).headers
            answer = enrol(service, "n2", other)
            assert answer.headers.get("Warning") == (f'299 - "{SAYS.format("n1")}"' if is_same else None)
            assert log.warning.called == is_same
            for node, theirs in (("n1", "n2"), ("n2", "n1")):
                said = [each["reason"] for each in remarks(service, node) if each["label"] == "machine"]
                assert said == ([f"Its {SAYS.format(theirs)}"] if is_same else [])


def test_when_driver_info_is_changed(service: Service, log: Mock) -> None:
    enrol(service, "n1", {"ipmi_address": "10.0.0.1"})
    enrol(service, "n2", {"ipmi_address": "10.0.0.1", "ipmi_port": 6230})
    assert not log.warning.called
    answer = service.patch("n2", ("replace", "/driver_info/ipmi_port", "623"))
    assert SAYS.format("n1") in answer.headers["Warning"]
    assert "Warning" not in service.patch("n2", ("add", "/extra/a", 1)).headers
    both = service.patch("n2", ("replace", "/driver_info/ipmi_port", 623), ("replace", "/resource_class", "CUSTOM_X"))
    assert both.headers["Warning"].count("299 - ") == 2


def test_nodes_of_others_are_not_named(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        enrol(service, "theirs", {**MACHINE})
        theirs = service.node("theirs")["uuid"]
        body = {"driver": "fake-hardware", "name": "mine", "driver_info": MACHINE}
        headers = {"X-Auth-Token": "anna:a", "X-Roles": "admin,manager,member,reader", "OpenStack-System-Scope": ""}
        answer = service.baremetal("POST", "/nodes", body, headers=headers, status=201)
        assert "same machine as that of another node," in answer.headers["Warning"]
        reader = {**headers, "X-Roles": "reader"}
        why = service.http.get("/scheduling/v1/nodes/mine/availability", headers=reader).json
        assert "same machine as that of another node," in json.dumps(why)
        assert theirs not in json.dumps(why)
