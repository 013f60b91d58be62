# tier: ci
"""The ``openstack`` command from PyPI against the service, with nothing but what ``serve`` printed."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml

from tests.clients.openstack import OpenStack, variables_in
from tests.processes import conductor, serve
from tests.waiting import wait_until

FLEET = """
nodes:
  - name: rack1-gold
    driver: fake-hardware
    resource_class: gold
    conductor_group: rack1
    properties: {cpus: 8, memory_mb: 16384}
  - name: rack1-silver
    driver: fake-hardware
    resource_class: silver
    conductor_group: RACK1
  - name: loose-gold
    driver: fake-hardware
    resource_class: gold
    extra: {shelf: 7}
  - name: bare
    driver: manual-management
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The output of ``serve``. It runs in an empty folder, with a second conductor for the group rack1."""
    folder = tmp_path_factory.mktemp("service")
    with serve(folder) as (program, _), conductor(folder, "rack1-host", "--group", "rack1"):
        yield program.output


@pytest.fixture(scope="module")
def openstack(printed: str, tmp_path_factory: pytest.TempPathFactory) -> OpenStack:
    """The command with the environment variables that ``serve`` printed."""
    return OpenStack(tmp_path_factory.mktemp("home"), variables_in(printed))


@pytest.fixture(scope="module")
def fleet(openstack: OpenStack, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The nodes of FLEET by name, as ``node list --long`` shows them after ``create``."""
    path = tmp_path_factory.mktemp("fleet") / "fleet.yaml"
    path.write_text(FLEET)
    assert openstack(f"baremetal create {path}") is None
    nodes = openstack("baremetal node list --long -f json")
    return {node["name"]: node for node in nodes}


def test_create_fleet_from_a_file(fleet: dict[str, dict[str, Any]]) -> None:
    """``baremetal create fleet.yaml`` enrols every machine of the file, with the fields that it gives."""
    wanted = {node["name"]: node for node in yaml.safe_load(FLEET)["nodes"]}
    assert set(fleet) == set(wanted)
    for name, node in fleet.items():
        given = wanted[name] | {"conductor_group": wanted[name].get("conductor_group", "").lower()}
        assert {field: node[field] for field in given} == given
        assert node["provision_state"] == "enroll"
        assert (node["conductor"] == "rack1-host") == (node["conductor_group"] == "rack1")
        assert node["conductor"]


def test_node_set_and_show(openstack: OpenStack, fleet: dict[str, dict[str, Any]]) -> None:
    """``node set`` changes class and group, and the node belongs to the conductor of its new group at once."""
    before, after = openstack.batch(
        "baremetal node show bare -f json",
        "baremetal node set bare --resource-class Iron.v2 --conductor-group rack1",
        "baremetal node show bare -f json",
    )
    assert {field: before[field] for field in fleet["bare"]} == fleet["bare"]
    changes = {field: (before[field], after[field]) for field in after if after[field] != before[field]}
    assert changes.pop("updated_at")[1]
    assert changes == {
        "resource_class": (None, "Iron.v2"),
        "conductor_group": ("", "rack1"),
        "conductor": (fleet["loose-gold"]["conductor"], "rack1-host"),
    }


def test_node_traits(openstack: OpenStack, fleet: dict[str, dict[str, Any]]) -> None:
    """Traits are added one by one, listed, removed all at once; the resource provider always has the same."""
    uuid = fleet["loose-gold"]["uuid"]
    none, both, provided, node, nothing, nothing_provided = openstack.batch(
        "baremetal node trait list loose-gold -f json",
        "baremetal node add trait loose-gold CUSTOM_FAST HW_CPU_X86_VMX",
        "baremetal node trait list loose-gold -f json",
        f"resource provider trait list {uuid} -f json",
        "baremetal node show loose-gold -f json --fields traits",
        "baremetal node remove trait loose-gold --all",
        "baremetal node trait list loose-gold -f json",
        f"resource provider trait list {uuid} -f json",
    )
    traits = ["CUSTOM_FAST", "HW_CPU_X86_VMX"]
    assert none == nothing == nothing_provided == []
    assert [row["traits"] for row in both] == traits
    assert sorted(row["name"] for row in provided) == traits
    assert node == {"traits": traits}


@pytest.mark.ci
def test_conductors_and_drivers(openstack: OpenStack, fleet: dict[str, dict[str, Any]]) -> None:
    """Both conductors are listed with their groups, and each driver with the hosts that serve it."""
    conductors, drivers = openstack.batch("baremetal conductor list -f json", "baremetal driver list -f json")
    embedded = fleet["loose-gold"]["conductor"]
    assert sorted((row["hostname"], row["conductor_group"], row["alive"]) for row in conductors) == sorted(
        [(embedded, "", True), ("rack1-host", "rack1", True)]
    )
    assert {row["name"]: sorted(row["hosts"].split(", ")) for row in drivers} == {
        name: sorted([embedded, "rack1-host"]) for name in ("fake-hardware", "manual-management")
    }


@pytest.mark.ci
def test_candidates_and_claims(openstack: OpenStack, fleet: dict[str, dict[str, Any]]) -> None:
    """An available machine is offered to who asks for its class and traits, claimed, offered no more, and released."""
    # Clients that know no later version than 1.10 get nodes that are available at once.
    uuid = openstack(
        "baremetal node create --driver fake-hardware --name ready -f json", "--os-baremetal-api-version", "1.10"
    )["uuid"]
    openstack.batch(
        "baremetal node set ready --resource-class gold --conductor-group rack1",
        "baremetal node add trait ready CUSTOM_FAST",
        "baremetal node power on ready",
    )
    show = f"baremetal node show {uuid} -f json --fields power_state"
    wait_until(lambda: openstack(show)["power_state"] == "power on", "the power to be on")

    consumer = uuid4()
    candidates = "allocation candidate list -f json --resource CUSTOM_GOLD=1"
    claim = f"resource provider allocation set {consumer} -f json --allocation rp={uuid},CUSTOM_GOLD=1"
    listed, offered, refused, claimed, shown, taken, released, again = openstack.batch(
        "resource provider list -f json",
        f"{candidates} --required CUSTOM_FAST --forbidden HW_CPU_X86_VMX",
        f"{candidates} --forbidden CUSTOM_FAST",
        f"{claim} --project-id a-project --user-id a-user --consumer-type INSTANCE",
        f"resource provider allocation show {consumer} -f json",
        candidates,
        f"resource provider allocation delete {consumer}",
        f"resource provider allocation show {consumer} -f json",
        candidates,
    )
    assert {row["uuid"] for row in listed} == {uuid, *(node["uuid"] for node in fleet.values())}
    # The golden nodes of the fleet are not: they are only enrolled.
    assert [row["resource provider"] for row in offered] == [uuid]
    assert offered[0]["inventory used/capacity"] == "CUSTOM_GOLD=0/1"
    assert offered[0]["traits"] == "CUSTOM_FAST"
    assert refused == []
    assert claimed == shown
    assert [(row["resource_provider"], row["resources"]) for row in shown] == [(uuid, {"CUSTOM_GOLD": 1})]
    assert (shown[0]["project_id"], shown[0]["user_id"]) == ("a-project", "a-user")
    assert taken == []
    assert released == []
    assert again == offered


@pytest.mark.ci
def test_clouds_yaml(printed: str, tmp_path: Path) -> None:
    """The clouds.yaml that ``serve`` printed, saved as it is, configures the command for every API."""
    block = re.search(r"^ +clouds:\n(?: +.*\n)+", printed, re.MULTILINE)
    assert block
    (tmp_path / "clouds.yaml").write_text(textwrap.dedent(block[0]))
    openstack = OpenStack(tmp_path, {}, "--os-cloud", "baremetal-sched")
    conductors, providers, _, flavors = openstack.batch(
        "baremetal conductor list -f json",
        "resource provider list -f json",
        "allocation candidate list -f json --resource VCPU=1 --required HW_CPU_X86_VMX",
        "flavor list -f json",
    )
    assert [row["alive"] for row in conductors] == [True, True]
    assert isinstance(providers, list)
    assert flavors == []
