"""From a flavor and an image to a machine, as the specifications tell it: with the released ``openstack`` command only.

Its standard input is never a terminal, and its environment is what ``serve`` printed and nothing else.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.forked import forked_openstack
from tests.clients.openstack import OpenStack, variables_in
from tests.processes import serve
from tests.waiting import wait_until

ZEROS = {"resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0"}
NODE = "OS-EXT-SRV-ATTR:hypervisor_hostname"


@pytest.fixture
def openstack(tmp_path: Path) -> Iterator[OpenStack]:
    """The command, for a service of its own that knows no machine yet."""
    service, home = tmp_path / "service", tmp_path / "home"
    service.mkdir()
    home.mkdir()
    with serve(service) as (program, _), forked_openstack(home, variables_in(program.output)) as command:
        yield command


def enrol(openstack: OpenStack, folder: Path, **machines: tuple[str, ...]) -> dict[str, str]:
    """Make machines of class gold available, each with its traits; returns their UUIDs by name."""
    nodes = [{"name": name, "driver": "fake-hardware", "resource_class": "gold"} for name in machines]
    (folder / "fleet.json").write_text(json.dumps({"nodes": nodes}))
    names = " ".join(machines)
    (listed,) = openstack.batch(
        f"baremetal create {folder / 'fleet.json'}",
        *(f"baremetal node add trait {name} {' '.join(traits)}" for name, traits in machines.items() if traits),
        f"baremetal node manage {names} --wait",
        *(f"baremetal node power off {name}" for name in machines),
        f"baremetal node provide {names} --wait",
        "baremetal node list -f json",
    )
    assert {node["provision_state"] for node in listed} == {"available"}
    return {node["name"]: node["uuid"] for node in listed}


def properties(values: dict[str, str]) -> str:
    """Options that give a flavor or an image these properties."""
    return " ".join(f"--property {name}={value}" for name, value in values.items())


def flavor(name: str, **specs: str) -> str:
    """The command that makes a flavor for bare metal; ``__`` in a name stands for a colon."""
    given = {key.replace("__", ":"): value for key, value in specs.items()}
    return f"flavor create {name} --ram 8192 --vcpus 4 --disk 40 {properties({**ZEROS, **given})} -f json"


def image(openstack: OpenStack, name: str, *traits: str) -> dict[str, Any]:
    """Make an image that requires traits."""
    given = properties({f"trait:{trait}": "required" for trait in traits})
    made: dict[str, Any] = openstack(f"image create {name} --disk-format qcow2 {given} -f json")
    return made


def add_child(openstack: OpenStack, name: str, parent: str, inventory: str, *traits: str) -> str:
    """Make a part of a machine a provider below it; returns its UUID."""
    uuid: str = openstack(f"resource provider create {name} --parent-provider {parent} -f json")["uuid"]
    openstack(f"resource provider inventory set {uuid} --resource {inventory}")
    if traits:
        openstack(f"resource provider trait set {uuid} {' '.join(f'--trait {trait}' for trait in traits)}")
    return uuid


def provision_state(openstack: OpenStack, name: str) -> str:
    """The state of a node."""
    (node,) = openstack.batch(f"baremetal node show {name} --fields provision_state -f json")
    state: str = node["provision_state"]
    return state


def boot(openstack: OpenStack, name: str, flavor: str, image: str) -> dict[str, Any]:
    """Boot a server, and wait until it is active."""
    options = f"--flavor {flavor} --image {image} --wait -f json"
    server: dict[str, Any] = openstack(f"server create {name} {options}")
    assert server["status"] == "ACTIVE"
    return server


def boot_in_vain(openstack: OpenStack, name: str, flavor: str, image: str) -> str:
    """Boot a server for which there is no machine: the request is accepted, and the server's fault says why."""
    assert "Error creating server" in openstack.refused(
        f"server create {name} --flavor {flavor} --image {image} --wait"
    )
    server = openstack(f"server show {name} -f json")
    assert (server["status"], server[NODE]) == ("ERROR", None)
    message: str = server["fault"]["message"]
    return message


def test_a_flavor_and_an_image_choose_the_machine(openstack: OpenStack, tmp_path: Path) -> None:
    """Classes and traits, two images that choose different machines for one flavor, a fleet that is full, rebuilds with
    an image that fits and one that does not, and a machine that is free again."""
    nodes = enrol(
        openstack, tmp_path, raid=("CUSTOM_RAID", "HW_CPU_X86_VMX"), gpu=("CUSTOM_GPU", "HW_CPU_X86_VMX"), plain=()
    )
    made, shown = openstack.batch(
        flavor("bm.gold", resources__CUSTOM_GOLD="1", trait__HW_CPU_X86_VMX="required"), "flavor show bm.gold -f json"
    )
    specs = {**ZEROS, "resources:CUSTOM_GOLD": "1", "trait:HW_CPU_X86_VMX": "required"}
    assert made["properties"] == shown["properties"] == specs
    images = {name: image(openstack, name, *traits) for name, traits in (
        ("on-raid", ["CUSTOM_RAID"]), ("on-gpu", ["CUSTOM_GPU"]), ("anywhere", []), ("virtual", ["HW_CPU_X86_VMX"]),
    )}  # fmt: skip
    assert {made["status"] for made in images.values()} == {"active"}

    # One flavor, two images, two machines.
    first = boot(openstack, "s1", "bm.gold", "on-gpu")
    second = boot(openstack, "s2", "bm.gold", "on-raid")
    assert (first[NODE], second[NODE]) == (nodes["gpu"], nodes["raid"])
    assert first["image"] == f"on-gpu ({images['on-gpu']['id']})"
    node, claim, listed, zones = openstack.batch(
        "baremetal node show gpu -f json",
        f"resource provider allocation show {first['id']} -f json",
        "server list -f json",
        "availability zone list --compute -f json",
    )
    assert (node["provision_state"], node["instance_uuid"]) == ("active", first["id"])
    assert node["instance_info"]["traits"] == ["HW_CPU_X86_VMX", "CUSTOM_GPU"]
    assert node["instance_info"]["image_source"] == images["on-gpu"]["id"]
    assert [(row["resource_provider"], row["resources"]) for row in claim] == [(nodes["gpu"], {"CUSTOM_GOLD": 1})]
    assert {row["Name"]: (row["Status"], row["Flavor"]) for row in listed} == {
        "s1": ("ACTIVE", "bm.gold"),
        "s2": ("ACTIVE", "bm.gold"),
    }
    assert [(zone["Zone Name"], zone["Zone Status"]) for zone in zones] == [("nova", "available")]

    # Every machine that fits has a server, or what is asked for is known to nobody.
    message = boot_in_vain(openstack, "s3", "bm.gold", "anywhere")
    assert message == (
        "No valid host was found. No node that matches is free. Of 2 nodes, 2 are in use by instances; 1 would match "
        "if nodes that lack HW_CPU_X86_VMX were accepted."
    )
    openstack.batch(flavor("bm.silver", resources__CUSTOM_SILVER="1"))
    assert "CUSTOM_SILVER" in boot_in_vain(openstack, "s4", "bm.silver", "anywhere")
    openstack("server delete s3 s4 --wait")
    # What can be of no machine at all is refused at once.
    openstack.batch(flavor("bm.office", resources__CUSTOM_GOLD="1", trait__CUSTOM_GPU="forbidden"))
    assert "CUSTOM_GPU" in openstack.refused("server create s5 --flavor bm.office --image on-gpu")

    # Another image on the same machine. One that the machine cannot serve changes nothing.
    assert "CUSTOM_RAID" in openstack.refused("server rebuild s1 --image on-raid --wait")
    unchanged, node = openstack.batch("server show s1 -f json", "baremetal node show gpu -f json")
    assert (unchanged["status"], unchanged["image"]) == ("ACTIVE", first["image"])
    assert node["instance_info"]["traits"] == ["HW_CPU_X86_VMX", "CUSTOM_GPU"]
    openstack("server rebuild s1 --image virtual --wait")
    rebuilt, node, claim = openstack.batch(
        "server show s1 -f json",
        "baremetal node show gpu -f json",
        f"resource provider allocation show {first['id']} -f json",
    )
    assert (rebuilt["status"], rebuilt[NODE]) == ("ACTIVE", nodes["gpu"])
    assert rebuilt["image"] == f"virtual ({images['virtual']['id']})"
    assert set(node["instance_info"]["traits"]) == {"HW_CPU_X86_VMX"}
    assert [(row["resource_provider"], row["resources"]) for row in claim] == [(nodes["gpu"], {"CUSTOM_GOLD": 1})]

    # A server that is gone holds nothing, and its machine goes to the next one when it is clean.
    openstack("server delete s1 --wait")
    listed, claim = openstack.batch("server list -f json", f"resource provider allocation show {first['id']} -f json")
    assert [row["Name"] for row in listed] == ["s2"]
    assert claim == []
    wait_until(lambda: provision_state(openstack, "gpu") == "available", "the machine to be clean")
    assert boot(openstack, "s6", "bm.gold", "on-gpu")[NODE] == nodes["gpu"]


def test_a_flavor_of_children_boots_once_a_machine(openstack: OpenStack, tmp_path: Path) -> None:
    """The cards of a machine are providers below it. A server that asks for one of them has the machine, so the second
    card of a machine is for nobody else."""
    nodes = enrol(openstack, tmp_path, f1=(), f2=())
    openstack.batch("resource class create CUSTOM_FPGA_X", flavor("bm.fpga", resources__CUSTOM_FPGA_X="1"))
    cards = {name: add_child(openstack, f"{name}-fpga", uuid, "CUSTOM_FPGA_X=2") for name, uuid in nodes.items()}
    image(openstack, "any")

    servers = [boot(openstack, name, "bm.fpga", "any") for name in ("s1", "s2")]
    assert {server[NODE] for server in servers} == set(nodes.values())
    claims = openstack.batch(*(f"resource provider allocation show {server['id']} -f json" for server in servers))
    held = {row["resource_provider"]: row["resources"] for rows in claims for row in rows}
    assert held == {
        **{node: {"CUSTOM_GOLD": 1} for node in nodes.values()},
        **{card: {"CUSTOM_FPGA_X": 1} for card in cards.values()},
    }
    assert boot_in_vain(openstack, "s3", "bm.fpga", "any") == (
        "No valid host was found. No node that matches is free. Of 2 nodes, 2 are in use by instances."
    )


def test_only_what_a_server_holds_allows_a_rebuild(openstack: OpenStack, tmp_path: Path) -> None:
    """Of two network cards of the machine the server has one: the trait of the other one does not count."""
    nodes = enrol(openstack, tmp_path, n1=("CUSTOM_FAST",))
    openstack.batch(
        "resource class create CUSTOM_NIC",
        "trait create CUSTOM_SLOW",
        flavor("bm.nic", resources__CUSTOM_GOLD="1", resources_1__CUSTOM_NIC="1", trait_1__CUSTOM_FAST="required"),
    )
    fast = add_child(openstack, "nic1", nodes["n1"], "CUSTOM_NIC=1", "CUSTOM_FAST")
    add_child(openstack, "nic2", nodes["n1"], "CUSTOM_NIC=1", "CUSTOM_SLOW")
    for name, traits in (("any", []), ("slow", ["CUSTOM_SLOW"]), ("fast", ["CUSTOM_FAST"])):
        image(openstack, name, *traits)
    server = boot(openstack, "s1", "bm.nic", "any")
    (claim,) = openstack.batch(f"resource provider allocation show {server['id']} -f json")
    assert {row["resource_provider"] for row in claim} == {nodes["n1"], fast}

    complaint = openstack.refused("server rebuild s1 --image slow --wait")
    assert "CUSTOM_SLOW" in complaint
    assert "ConflictException" in complaint
    shown = openstack("server show s1 -f json")
    assert (shown["status"], shown["image"]) == ("ACTIVE", server["image"])
    openstack("server rebuild s1 --image fast --wait")
    assert openstack("server show s1 -f json")["image"].startswith("fast ")


def test_a_flavor_without_the_zeros_is_told_of_them(openstack: OpenStack, tmp_path: Path) -> None:
    """A custom class does not switch the base classes off, and no machine has those."""
    enrol(openstack, tmp_path, n1=())
    image(openstack, "any")
    openstack("flavor create bm.bad --ram 8192 --vcpus 4 --disk 40 --property resources:CUSTOM_GOLD=1")
    message = boot_in_vain(openstack, "s1", "bm.bad", "any")
    assert "add resources:VCPU=0, resources:MEMORY_MB=0, resources:DISK_GB=0" in message
    openstack(f"flavor set bm.bad {properties(ZEROS)}")
    assert boot(openstack, "s2", "bm.bad", "any")["status"] == "ACTIVE"
