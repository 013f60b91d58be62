# tier: first
"""Methods of drivers that need no node, and networks that follow ports."""

from collections.abc import Mapping
from typing import Any

import pytest

from baremetal_sched.drivers import registry
from baremetal_sched.drivers.fake.hardware import FakeVendor
from baremetal_sched.drivers.noop import NoopNetwork
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import VendorMethod
from baremetal_sched.machines.machine import NOTHING, Effect, Machine
from baremetal_sched.settings import Settings
from tests.functional.conductor.test_driver_calls import await_settled, reservation
from tests.service import Service, fault


class VendorOfType(FakeVendor):
    """Has methods that need no machine."""

    driver_methods = {"add": VendorMethod("Add a and b.", asynchronous=False), "note": VendorMethod("Note something.")}

    def __init__(self) -> None:
        self.noted: list[Any] = []

    def call_driver(self, method: str, arguments: Mapping[str, Any], settings: Settings) -> Any:
        if method == "note":
            self.noted.append(arguments)
        elif "a" not in arguments:
            raise InvalidValue(message="There is no a.")
        return arguments.get("a", 0) + arguments.get("b", 0)


def test_methods_of_a_driver_need_no_node(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    vendor, others = VendorOfType(), registry.interface
    monkeypatch.setattr(registry, "interface", lambda *key: vendor if key == ("vendor", "fake") else others(*key))
    service.add_conductor("c1")
    path = "/drivers/fake-hardware/vendor_passthru"
    assert set(service.baremetal("GET", f"{path}/methods").json) == {"add", "note"}
    assert service.baremetal("POST", f"{path}/add", {"a": 1, "b": 2}, status=200).json == 3
    assert service.baremetal("POST", f"{path}?method=add", {"a": 1}, status=200).json == 1
    assert "There is no a." in fault(service.baremetal("POST", f"{path}/add", {}, status=400))
    assert "No handler" in fault(service.baremetal("POST", f"{path}/subtract", {}, status=400))
    service.baremetal("GET", f"{path}/add", status=400)
    await_settled(service)
    service.baremetal("POST", f"{path}/note", {"b": 5}, status=202)
    service.call_drivers("c1")
    assert vendor.noted == [{"b": 5}]


class FollowingNetwork(NoopNetwork):
    """Takes notice of ports, and refuses addresses that end with ff."""

    def __init__(self) -> None:
        self.followed: list[tuple[str, str]] = []

    def port_changed(self, machine: Machine, port: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Effect:
        if after["address"].endswith("ff"):
            raise InvalidValue(message="The switch does not know this address.")
        self.followed.append((before["address"], after["address"]))
        return NOTHING

    def portgroup_changed(
        self, machine: Machine, portgroup: str, before: Mapping[str, Any], after: Mapping[str, Any]
    ) -> Effect:
        self.followed.append((before["name"], after["name"]))
        return Effect(internal={"bond": after["name"]})


def test_networks_follow_ports_and_portgroups(service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network = FollowingNetwork()
    monkeypatch.setitem(registry.LOADED, ("network", "following"), network)
    first, second = "52:54:00:00:00:01", "52:54:00:00:00:02"
    port = service.baremetal("POST", "/ports", {"node_uuid": uuid, "address": first}).json["uuid"]
    group = service.baremetal("POST", "/portgroups", {"node_uuid": uuid, "name": "a"}).json["uuid"]
    service.patch_at(f"/ports/{port}", ("replace", "/extra", {"noop": "does not care"}))
    service.set_columns(uuid, network_interface="following")
    service.patch_at(f"/ports/{port}", ("replace", "/address", second))
    service.patch_at(f"/portgroups/{group}", ("replace", "/name", "b"))
    assert network.followed == [(first, second), ("a", "b")]
    assert service.node("n1")["driver_internal_info"]["bond"] == "b"
    refused = service.patch_at(f"/ports/{port}", ("replace", "/address", "52:54:00:00:00:ff"), status=400)
    assert "The switch does not know this address." in fault(refused)
    assert service.baremetal("GET", f"/ports/{port}").json["address"] == second
    assert reservation(service) is None
