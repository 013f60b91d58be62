"""Inspection hooks for disks, accelerators, and other data about the hardware."""

from pathlib import Path
from typing import Any

import pytest

from tests.functional.baremetal.test_inspection_hooks import INVENTORY, inspecting, report
from tests.restored import Rows
from tests.service import Service

pytestmark = pytest.mark.sqlite_only

GIB = 2**30
SMALL = {"name": "/dev/sda", "size": GIB // 2, "serial": "s1", "rotational": False}
FAST = {"name": "/dev/sdb", "size": 100 * GIB + 5, "serial": "s2", "rotational": False}
LARGE = {"name": "/dev/sdc", "size": 1000 * GIB, "serial": "s3", "rotational": True}


def with_disks(*disks: Any) -> dict[str, Any]:
    return {**INVENTORY, "disks": list(disks)}


def set_properties(service: Service, **properties: Any) -> None:
    service.patch("n1", ("add", "/properties", properties))


def properties(service: Service) -> dict[str, Any]:
    shown: dict[str, Any] = service.node("n1")["properties"]
    return shown


def plugin_data(service: Service) -> dict[str, Any]:
    shown: dict[str, Any] = service.baremetal("GET", "/nodes/n1/inventory").json["plugin_data"]
    return shown


def test_the_root_device(database_url: str, row: Rows) -> None:
    for own, spacing, disk, size in [
        ({"root_device": {"rotational": "no", "size": ">= 1"}}, True, FAST, 99),
        ({"root_device": {"size": ">= 1"}, "skip_block_devices": [{"serial": "s2"}]}, True, LARGE, 999),
        ({"root_device": {"serial": "S3"}}, False, LARGE, 1000),
        ({"root_device": {"name": "/dev/sda"}}, True, SMALL, 0),
        ({}, True, None, 0),
    ]:
        with (
            row(own, spacing, disk, size),
            inspecting(database_url, hooks="root-device", disk_partitioning_spacing=spacing) as service,
        ):
            set_properties(service, **own)
            report(service, with_disks(SMALL, FAST, LARGE))
            assert properties(service) == {**own, "local_gb": size}
            assert plugin_data(service) == {"local_gb": size} | ({"root_disk": disk} if disk else {})


def test_a_root_device_that_the_agent_chose(database_url: str, row: Rows) -> None:
    for disk, size in [(FAST, 99), ({"size": "big"}, 0), ({"size": True}, 0), ("sda", 0)]:
        with row(disk, size), inspecting(database_url, hooks="root-device") as service:
            report(service, with_disks(LARGE), root_disk=disk)
            assert properties(service) == {"local_gb": size}
            assert plugin_data(service)["root_disk"] == disk


def test_no_root_device(database_url: str, row: Rows) -> None:
    for own, text in [
        ({"root_device": {"serial": "s9"}}, "No disks satisfied root device hints {'serial': 's9'}"),
        ({"root_device": {"serial": "s2"}, "skip_block_devices": [{"size": "< 500"}]}, "No disks satisfied"),
        ({"root_device": {"colour": "red"}}, "Unknown hint 'colour'"),
        ({"root_device": {"serial": "s2"}, "skip_block_devices": {"size": 1}}, "skip_block_devices must be a list"),
        ({"root_device": {"serial": "s2"}, "skip_block_devices": ["sda"]}, "Hints must be an object"),
    ]:
        with row(own, text), inspecting(database_url, hooks="root-device") as service:
            set_properties(service, **own)
            report(service, with_disks(SMALL, FAST, LARGE, "x"), state="inspect failed", root_disk=LARGE)
            error = service.node("n1")["last_error"]
            assert text in error
            assert error.endswith("(inspection hook root-device)")
            assert properties(service) == own


def test_a_rule_that_changes_the_root_disk_leaves_the_inventory_alone(database_url: str) -> None:
    with inspecting(database_url, hooks="root-device") as service:
        rule = {"actions": [{"op": "set-plugin-data", "args": ["root_disk.size", 1]}]}
        service.baremetal("POST", "/inspection_rules", rule)
        set_properties(service, root_device={"serial": "s2"})
        report(service, with_disks(FAST))
        kept = service.baremetal("GET", "/nodes/n1/inventory").json
        assert (kept["plugin_data"]["root_disk"]["size"], kept["inventory"]["disks"]) == (1, [FAST])


def inspect_again(service: Service, *disks: Any) -> None:
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "inspect"})
    service.work()
    report(service, with_disks(*disks))


def test_the_disk_that_is_new_is_the_root_device(database_url: str) -> None:
    with inspecting(database_url, hooks="raid-device,root-device") as service:
        report(service, with_disks(SMALL))
        assert "root_device" not in properties(service)
        inspect_again(service, SMALL)
        assert "root_device" not in properties(service)
        inspect_again(service, SMALL, {"size": 5}, FAST)
        assert properties(service) == {"root_device": {"serial": "s2"}, "local_gb": 99}
        inspect_again(service, SMALL, FAST, LARGE)
        assert properties(service)["root_device"] == {"serial": "s2"}


def test_of_two_new_disks_none_is_the_root_device(database_url: str) -> None:
    with inspecting(database_url, hooks="raid-device") as service:
        report(service, INVENTORY)
        inspect_again(service, FAST, LARGE)
        assert properties(service) == {}


T4 = {"vendor_id": "10de", "product_id": "1eb8", "bus": "0000:3b:00.0"}
KNOWN_T4 = {"vendor_id": "10de", "device_id": "1eb8", "type": "GPU", "device_info": "NVIDIA Corporation Tesla T4"}
OTHER = {"vendor_id": "8086", "product_id": "1eb8", "bus": "0000:00:00.0"}


def test_accelerators(database_url: str) -> None:
    shown = {**KNOWN_T4, "pci_address": "0000:3b:00.0"}
    with inspecting(database_url, hooks="accelerators") as service:
        report(service, pci_devices=[OTHER, T4, {}, 5])
        assert properties(service) == {"accelerators": [shown]}
        inspect_again(service)
        assert properties(service) == {"accelerators": [shown]}


def test_accelerators_of_the_inventory(database_url: str) -> None:
    with inspecting(database_url, hooks="accelerators") as service:
        report(service, {**INVENTORY, "pci_devices": [OTHER]})
        assert properties(service) == {"accelerators": []}


def test_accelerators_of_a_file(database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "known.yaml"
    file.write_text('pci_devices: [{vendor_id: "8086", device_id: 1EB8, type: FPGA}]')
    with inspecting(database_url, hooks="accelerators", known_accelerators=str(file)) as service:
        report(service, pci_devices=[OTHER, T4])
        assert properties(service)["accelerators"] == [
            {"vendor_id": "8086", "device_id": "1EB8", "type": "FPGA", "pci_address": "0000:00:00.0"}
        ]


ENTRIES = [["disk", "sda", "size", "10"], ["disk", "sda", "model", "x1"], ["cpu", "logical", "number", 4]]
OBJECTS = {"disk": {"sda": {"size": 10, "model": "x1"}}, "cpu": {"logical": {"number": 4}}}


def test_extra_hardware(database_url: str, row: Rows) -> None:
    for strict in [False, True]:
        for data, loose, strictly in [
            (ENTRIES, {"extra": OBJECTS}, {"extra": OBJECTS}),
            ([], {"extra": {}}, {"extra": {}}),
            ([*ENTRIES, ["disk", "sdb"], [], [1, 2, 3, 4]], {"extra": OBJECTS}, {}),
            ([["a", "b", "c", "9" * 30], ["a", "b", "d", "-5"]],)
            + ({"extra": {"a": {"b": {"c": "9" * 30, "d": -5}}}},) * 2,
            (["x"], {"data": ["x"]}, {}),
            ({"disk": {}}, {"data": {"disk": {}}}, {}),
        ]:
            with (
                row(strict, data, loose, strictly),
                inspecting(database_url, hooks="extra-hardware", extra_hardware_strict=strict) as service,
            ):
                report(service, data=data)
                assert plugin_data(service) == (strictly if strict else loose)


def test_without_extra_hardware(database_url: str) -> None:
    with inspecting(database_url, hooks="extra-hardware") as service:
        report(service)
        assert plugin_data(service) == {}
