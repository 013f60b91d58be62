"""The sample fleet gets its classes, traits, conductor groups and properties from inspection rules.

The machines are enrolled with nothing but a name. What is in them (``hardware``) is what somebody would have bought to
get the machine that the file describes; the rules know how to read that.
"""

from typing import Any

import pytest

from baremetal_sched.cli.demo import client
from baremetal_sched.cli.demo.client import DemoMachine
from tests.service import Service

MACHINES = client.load()

FLAGS = {"HW_CPU_X86_VMX": "vmx", "HW_CPU_X86_SVM": "svm", "HW_CPU_X86_AVX2": "avx2", "HW_CPU_X86_AVX512F": "avx512f"}
NICS = {"HW_NIC_SRIOV": "sriov", "HW_NIC_OFFLOAD_RDMA": "rdma"}
DISKS = {"STORAGE_DISK_SSD": False, "STORAGE_DISK_HDD": True}
GPUS = {
    "HW_GPU_CUDA_COMPUTE_CAPABILITY_V6_1": "1b38",
    "HW_GPU_CUDA_COMPUTE_CAPABILITY_V7_0": "1db4",
    "HW_GPU_CUDA_COMPUTE_CAPABILITY_V7_2": "1eb8",
}
MODELS = {"baremetal-general": "GS100", "baremetal-gpu": "GX200", "baremetal-storage": "SV300"}
SITES = {
    "rack-a": ("CUSTOM_RACK_A", "10.1.0.0/16"),
    "rack-b": ("CUSTOM_RACK_B", "10.2.0.0/16"),
    "edge": ("CUSTOM_EDGE_SITE", "10.128.0.0/9"),
}
FIRMWARE = {"CUSTOM_FIRMWARE_2023": "2023", "CUSTOM_FIRMWARE_2025": "2025"}


def hardware(number: int, machine: DemoMachine) -> dict[str, Any]:
    """The inventory of a machine that is like this one in the file."""
    properties, traits = machine.fields["properties"], machine.traits
    network = SITES[machine.group][1].partition(".0.0/")[0] if machine.group != "edge" else "10.200"
    (year,) = (year for trait, year in FIRMWARE.items() if trait in traits)
    cooling = "-LC" if "CUSTOM_LIQUID_COOLED" in traits else ""
    return {
        "cpu": {
            "count": properties["cpus"],
            "architecture": properties["cpu_arch"],
            "flags": ["fpu", *(flag for trait, flag in FLAGS.items() if trait in traits)],
        },
        "memory": {"physical_mb": properties["memory_mb"]},
        "disks": [
            {"name": f"/dev/{trait[-3:].lower()}", "size": properties["local_gb"] * 2**30, "rotational": rotational}
            for trait, rotational in DISKS.items()
            if trait in traits
        ],
        "interfaces": [{"name": "eth0", **{key: trait in traits for trait, key in NICS.items()}}],
        "pci_devices": [{"vendor_id": "10de", "product_id": id_} for trait, id_ in GPUS.items() if trait in traits],
        "bmc_address": f"{network}.7.{number}",
        "system_vendor": {
            "product_name": MODELS[machine.resource_class] + cooling,
            "firmware": {"version": f"{year}.03"},
        },
    }


def rule(*actions: tuple[str, list[Any]], when: dict[str, Any] | None = None, priority: int = 0) -> dict[str, Any]:
    return {
        "conditions": [when] if when else [],
        "actions": [{"op": op, "args": args} for op, args in actions],
        "priority": priority,
    }


def if_(op: str, *args: Any, **more: Any) -> dict[str, Any]:
    return {"op": op, "args": list(args), **more}


def rules() -> list[dict[str, Any]]:
    """Rules for any number of machines of these makes, at these sites."""
    product, version = "{inventory[system_vendor][product_name]}", "{inventory[system_vendor][firmware][version]}"
    disks = [f"{{inventory[disks][{number}][rotational]}}" for number in range(4)]
    found = [
        rule(
            ("set-attribute", ["/properties/cpus", "{inventory[cpu][count]}"]),
            ("set-attribute", ["/properties/cpu_arch", "{inventory[cpu][architecture]}"]),
            ("set-attribute", ["/properties/memory_mb", "{inventory[memory][physical_mb]}"]),
        )
    ]
    for trait, flag in FLAGS.items():
        found.append(rule(("add-trait", [trait]), when=if_("one-of", flag, "{inventory[cpu][flags]}")))
    for trait, key in NICS.items():
        found.append(rule(("add-trait", [trait]), when=if_("is-true", f"{{inventory[interfaces][0][{key}]}}")))
    for trait, rotational in DISKS.items():
        when = if_("is-true" if rotational else "is-false", "{item}", loop=disks, multiple="any")
        found.append(rule(("add-trait", [trait]), when=when))
    for trait, product_id in GPUS.items():
        when = if_("contains", "{inventory[pci_devices]}", f"'vendor_id': '10de', 'product_id': '{product_id}'")
        found.append(rule(("add-trait", [trait]), when=when))
    for resource_class, model in MODELS.items():
        when = if_("matches", product, f"{model}(-LC)?")
        found.append(rule(("set-attribute", ["/resource_class", resource_class]), when=when, priority=10))
    found.append(rule(("add-trait", ["CUSTOM_LIQUID_COOLED"]), when=if_("contains", product, "-LC$")))
    for group, (trait, subnet) in SITES.items():
        when = if_("in-net", "{inventory[bmc_address]}", subnet)
        found.append(rule(("set-attribute", ["/conductor_group", group]), ("add-trait", [trait]), when=when))
    for trait, year in FIRMWARE.items():
        found.append(rule(("add-trait", [trait]), when=if_("matches", version, rf"{year}\.\d+")))
    return found


@pytest.fixture
def inspected(service: Service) -> Service:
    """The service with the fleet in it, inspected by these rules."""
    for group in SITES:
        service.add_conductor(f"conductor-{group}", group)
    for body in rules():
        service.baremetal("POST", "/inspection_rules", body, status=201)
    for number, machine in enumerate(MACHINES, start=1):
        body = {
            "name": machine.name,
            "driver": "fake-hardware",
            "driver_info": {"fake_inventory": hardware(number, machine)},
        }
        service.baremetal("POST", "/nodes", body, status=201)
    for verb in ("manage", "inspect"):
        for machine in MACHINES:
            service.baremetal("PUT", f"/nodes/{machine.name}/states/provision", {"target": verb}, status=202)
        service.work()
    return service


def test_the_fleet_gets_its_classes_and_traits_from_rules(inspected: Service) -> None:
    nodes = {node["name"]: node for node in inspected.baremetal("GET", "/nodes/detail").json["nodes"]}
    assert set(nodes) == {machine.name for machine in MACHINES}
    for machine in MACHINES:
        node = nodes[machine.name]
        assert (node["provision_state"], node["last_error"]) == ("manageable", None), machine.name
        assert node["resource_class"] == machine.resource_class
        assert set(node["traits"]) == machine.traits
        assert node["conductor_group"] == machine.group
        assert node["conductor"] == f"conductor-{machine.group}"
        found = machine.fields["properties"].items()
        expected = {key: value for key, value in found if key not in ("local_gb", "rack")}
        assert node["properties"] == expected
        assert set(inspected.provider_traits(node["uuid"])) == machine.traits


def test_what_placement_then_offers_is_what_the_file_says(inspected: Service) -> None:
    for machine in MACHINES:
        inspected.baremetal("PUT", f"/nodes/{machine.name}/states/power", {"target": "power off"}, status=202)
    inspected.work()
    for machine in MACHINES:
        inspected.baremetal("PUT", f"/nodes/{machine.name}/states/provision", {"target": "provide"}, status=202)
    inspected.work()
    names = {node["uuid"]: node["name"] for node in inspected.baremetal("GET", "/nodes").json["nodes"]}
    for machine in MACHINES:
        if machine.maintenance:
            inspected.baremetal("PUT", f"/nodes/{machine.name}/maintenance", {}, status=202)
    for wish in (
        client.Wish("baremetal-general", required=("HW_CPU_X86_VMX",), forbidden=("CUSTOM_EDGE_SITE",)),
        client.Wish("baremetal-gpu", any_of=tuple(GPUS)),
        client.Wish("baremetal-storage", required=("STORAGE_DISK_HDD", "HW_NIC_OFFLOAD_RDMA")),
    ):
        offered = {names[uuid] for uuid in inspected.candidates(wish.query)}
        assert offered == wish.answer(MACHINES) != set()
