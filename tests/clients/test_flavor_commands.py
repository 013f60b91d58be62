"""The ``openstack`` command for flavors, key pairs and zones, with nothing but what ``serve`` printed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.openstack import OpenStack, variables_in
from tests.processes import serve

PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE5vHVSmuTxJ5ivDGgnJgnwnFhR9v4GSuIRFFbBVKqm9 me@here"


@pytest.fixture(scope="module")
def openstack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenStack]:
    with serve(tmp_path_factory.mktemp("service")) as (program, _):
        yield OpenStack(tmp_path_factory.mktemp("home"), variables_in(program.output))


def test_flavors(openstack: OpenStack) -> None:
    """A flavor for bare metal from creation to deletion, by name."""
    zeros = " ".join(f"--property resources:{name}=0" for name in ("VCPU", "MEMORY_MB", "DISK_GB"))
    created, listed, shown, changed, private, public_only, everything = openstack.batch(
        f"flavor create gold -f json --vcpus 4 --ram 8192 --disk 100 --property resources:CUSTOM_GOLD=1 {zeros}",
        "flavor create hidden --private --id 7 --swap 512 --ephemeral 3 --rxtx-factor 2 --description secret",
        "flavor list -f json --long",
        "flavor show -f json gold",
        "flavor set gold --property trait:CUSTOM_NVME=required --description new",
        "flavor unset gold --property resources:VCPU --property resources:DISK_GB",
        "flavor show -f json gold",
        "flavor show -f json hidden",
        "flavor list -f json",
        "flavor list -f json --all",
        "flavor delete gold hidden",
    )
    specs = {"resources:CUSTOM_GOLD": "1", "resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0"}
    assert created["properties"] == specs
    assert [(row["Name"], row["RAM"], row["Properties"]) for row in listed] == [("gold", 8192, specs)]
    assert shown == {**created, "access_project_ids": None}
    kept = {"resources:CUSTOM_GOLD": "1", "resources:MEMORY_MB": "0", "trait:CUSTOM_NVME": "required"}
    assert (changed["description"], changed["properties"]) == ("new", kept)
    assert (private["id"], private["swap"], private["description"]) == ("7", 512, "secret")
    assert private["access_project_ids"] == []
    assert [row["Name"] for row in public_only] == ["gold"]
    assert sorted(row["Name"] for row in everything) == ["gold", "hidden"]
    assert openstack("flavor list --all -f json") == []


def test_what_is_refused_is_said(openstack: OpenStack) -> None:
    openstack("flavor create silver -f json")
    done = openstack.run(["flavor", "set", "silver", "--property", "traits:CUSTOM_NVME=required"])
    assert done.returncode != 0
    assert "Extra spec 'traits:CUSTOM_NVME' is not valid" in done.stderr
    done = openstack.run(["flavor", "show", "bronze"])
    assert done.returncode != 0
    assert "No Flavor found for bronze" in done.stderr
    openstack("flavor delete silver")


def test_key_pairs(openstack: OpenStack, tmp_path: Path) -> None:
    public, private = tmp_path / "key.pub", tmp_path / "key"
    public.write_text(PUBLIC_KEY)
    created, listed, shown, page = openstack.batch(
        f"keypair create mine -f json --public-key {public}",
        f"keypair create other --private-key {private}",
        "keypair list -f json",
        "keypair show mine -f json",
        "keypair list --limit 1 -f json",
        "keypair delete mine other",
    )
    assert (created["name"], created["type"]) == ("mine", "ssh")
    assert [row["Name"] for row in listed] == ["mine", "other"]
    assert listed[0]["Fingerprint"] == created["fingerprint"] == shown["fingerprint"]
    assert "PRIVATE KEY" in private.read_text()
    # The library goes on to the next page by itself.
    assert page == listed
    assert openstack("keypair list -f json") == []


def test_availability_zones(openstack: OpenStack) -> None:
    (zone,) = openstack("availability zone list --compute --long -f json")
    assert (zone["Zone Name"], zone["Zone Status"], zone["Service Name"]) == ("nova", "available", "nova-compute")
