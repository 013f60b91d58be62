"""Each of our commands, for people and for programs, with its exit status."""

import json
from typing import Any

import pytest

from tests.clients.osc.conftest import Site

MISTAKE = 2
NOTHING_FITS = 3


def names(rows: list[dict[str, Any]]) -> list[str]:
    """The names of the machines in a list, sorted."""
    return sorted(row["Name"] for row in rows)


FOUND = {
    "--trait CUSTOM_NVME": ["gold-1", "gold-2"],
    "--trait CUSTOM_NVME --trait HW_CPU_X86_VMX": ["gold-1"],
    "--trait CUSTOM_NVME --without-trait CUSTOM_OLD": ["gold-1"],
    "--without-trait CUSTOM_NVME,CUSTOM_SSD": ["gold-3"],
    "--any-trait CUSTOM_SSD,CUSTOM_OLD": ["annas", "gold-2", "silver-1"],
    "--class silver.v1": ["silver-1"],
    '--class gold --group ""': ["annas", "gold-1", "gold-2", "gold-3"],
    "--available --trait CUSTOM_NVME": ["gold-1", "gold-2"],
    "--available --class silver.v1": ["silver-1"],
}


@pytest.mark.parametrize("options", FOUND)
def test_nodes_are_found(site: Site, options: str) -> None:
    assert names(site.json(f"baremetal node find {options}")) == FOUND[options]


def test_nodes_for_people(site: Site) -> None:
    short = site.run("baremetal node find --class gold --trait CUSTOM_NVME --limit 1").stdout
    assert "gold-" in short
    assert "CUSTOM_NVME" not in short
    done = site.run("baremetal node find --class gold --trait CUSTOM_NVME --limit 1 --long")
    assert done.returncode == 0
    (row,) = [line for line in done.stdout.splitlines() if "gold-" in line]
    assert "CUSTOM_NVME, " in row
    nothing = site.run("baremetal node find --class bronze -f json")
    assert (nothing.returncode, json.loads(nothing.stdout)) == (NOTHING_FITS, [])


def test_a_node_that_is_claimed_is_not_available(site: Site) -> None:
    (claimed,) = site.json("scheduling claim --class silver.v1", "operator")
    try:
        assert site.json("baremetal node find --available --class silver.v1", status=NOTHING_FITS) == []
        assert names(site.json("baremetal node find --class silver.v1")) == ["silver-1"]
    finally:
        release(site, claimed["Consumer"])


def release(site: Site, *consumers: str) -> None:
    """Delete the allocations of consumers."""
    for consumer in consumers:
        assert site.operator.placement("DELETE", f"/allocations/{consumer}").status_code == 204


def test_explanations_of_a_query(site: Site) -> None:
    command = "scheduling explain --resource CUSTOM_GOLD=1 --required CUSTOM_NVME"
    fits = site.json(command)
    assert (fits["verdict"], fits["fitting"], fits["wanted"]) == ("fits", 2, 1)
    short = site.json(f"{command} --wanted 3", status=NOTHING_FITS)
    assert (short["verdict"], short["fitting"], short["wanted"]) == ("short", 2, 3)
    none = site.json(f"{command} --forbidden CUSTOM_OLD --required CUSTOM_SSD,CUSTOM_HDD", status=NOTHING_FITS)
    assert none["verdict"] == "impossible"
    assert {"trait:CUSTOM_NVME", "trait:!CUSTOM_OLD"} < {condition["id"] for condition in none["conditions"]}
    assert site.json("scheduling explain --query resources=CUSTOM_GOLD:1&required=CUSTOM_NVME") == fits
    groups = "--group 1 --resource CUSTOM_GOLD=1 --group 2 --resource CUSTOM_SILVER_V1=1 --group-policy isolate"
    assert set(site.json(f"scheduling explain {groups}", status=NOTHING_FITS)["parts"]) == {"resources1", "resources2"}
    assert "resources2: fits, 1 of " in site.run(f"scheduling explain {groups}").stdout


def test_explanations_for_people(site: Site) -> None:
    done = site.run("scheduling explain --resource CUSTOM_GOLD=1 --required CUSTOM_NVEM")
    assert done.returncode == NOTHING_FITS
    assert "has CUSTOM_NVEM: " in done.stdout
    assert "CUSTOM_NVEM: did you mean CUSTOM_NVME (2 machines)?" in done.stdout
    assert "without trait:CUSTOM_NVEM: 4 would fit" in done.stdout


def test_explanations_of_allocations_and_servers(site: Site) -> None:
    of_nodes = site.json("scheduling explain --class gold --trait CUSTOM_NVME --without-trait CUSTOM_OLD")
    assert (of_nodes["verdict"], of_nodes["fitting"]) == ("fits", 1)
    candidates = "scheduling explain --class gold --any-trait CUSTOM_SSD,CUSTOM_OLD --candidate-node gold-1"
    assert site.json(candidates, status=NOTHING_FITS)["fitting"] == 0
    zeros = {"resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0"}
    site.operator.compute("POST", "/flavors", {"flavor": {"name": "bm", "ram": 1, "vcpus": 1, "disk": 1, "id": "f1"}})
    specs = {"extra_specs": {"resources:CUSTOM_GOLD": "1", **zeros}}
    site.operator.compute("POST", "/flavors/f1/os-extra_specs", specs)
    required = {"name": "an image", "trait:CUSTOM_NVME": "required"}
    image = site.operator.image("POST", "/images", required).json()["id"]
    of_server = site.json("scheduling explain --flavor bm --image 'an image'", "operator")
    assert (of_server["verdict"], of_server["fitting"]) == ("fits", 2)
    assert site.json(f"scheduling explain --flavor f1 --image {image}", "operator") == of_server
    for options, said in {
        "--flavor none": "There is no flavor 'none'",
        "--flavor bm --image none": "There is no image 'none'",
    }.items():
        done = site.run(f"scheduling explain {options}", "operator")
        assert (done.returncode, said in done.stderr) == (1, True), done.stderr


def test_explanations_of_a_node(site: Site) -> None:
    offered = site.json("scheduling explain node gold-3")
    assert (offered["name"], offered["offered"], offered["reasons"]) == ("gold-3", True, [])
    site.admin.baremetal("PUT", "/nodes/gold-3/maintenance", {"reason": "disk"})
    try:
        done = site.run("scheduling explain node gold-3")
        assert done.returncode == NOTHING_FITS
        assert "It is in maintenance." in done.stdout
        assert site.json("scheduling explain node gold-3", status=NOTHING_FITS)["reasons"][0]["label"] == "maintenance"
    finally:
        site.admin.baremetal("DELETE", "/nodes/gold-3/maintenance")
    for node in ("unheard-of", "a/b", "%2e%2e", "\u202egold"):
        unknown = site.run(f"scheduling explain node {node}")
        assert (unknown.returncode, "could not be found" in unknown.stderr) == (1, True), unknown.stderr


def test_whether_a_node_fits_a_request(site: Site) -> None:
    assert site.json("scheduling explain node gold-1 --class gold --trait CUSTOM_NVME")["verdict"] == "fits"
    request = "--resource CUSTOM_GOLD=1 --required CUSTOM_NVME"
    found = site.json(f"scheduling explain node gold-3 {request}", status=NOTHING_FITS)
    holds = {each["id"]: each["holds"] for each in found["conditions"]}
    assert (holds["class:CUSTOM_GOLD"], holds["trait:CUSTOM_NVME"]) == (True, False)
    done = site.run(f"scheduling explain node gold-3 {request}")
    assert done.returncode == NOTHING_FITS
    assert "no  has CUSTOM_NVME" in done.stdout
    assert "without trait:CUSTOM_NVME" in done.stdout


def test_capacity(site: Site) -> None:
    rows = site.json("scheduling capacity --by class,group")
    assert rows == [
        {"Resource Class": "gold", "Conductor Group": "", "Total": 4, "Free": 4, "Allocated": 0, "Unavailable": {}},
        {
            "Resource Class": "silver.v1",
            "Conductor Group": "",
            "Total": 1,
            "Free": 1,
            "Allocated": 0,
            "Unavailable": {},
        },
    ]
    by_trait = site.json("scheduling capacity --by trait:CUSTOM_NVME --class gold --without-trait CUSTOM_OLD")
    assert [(row["trait:CUSTOM_NVME"], row["Free"]) for row in by_trait] == [(False, 2), (True, 1)]
    scarce = site.json("scheduling capacity --by class --at-least 2", status=NOTHING_FITS)
    assert [row["Resource Class"] for row in scarce] == ["silver.v1"]
    assert site.json("scheduling capacity --by class --at-least 1") == []
    assert "silver.v1" in site.run("scheduling capacity --by class").stdout
    refused = site.run("scheduling capacity --by clas")
    assert (refused.returncode, "--by clas: use class, group" in refused.stderr) == (MISTAKE, True)


def test_groups(site: Site) -> None:
    (row,) = site.json("scheduling group list")
    assert (row["Conductor Group"], row["Nodes"], row["Alive"], row["Its Nodes"], row["Share"]) == ("", 5, True, 5, 1.0)
    (ring, _) = site.json('scheduling group list --rings --group ""')
    assert (ring["Driver"], ring["Nodes"], ring["Share of Ring"]) == ("fake-hardware", 5, 1.0)
    assert "100.0%" in site.run("scheduling group list").stdout
    assert site.json("scheduling group list --group rack9") == []


def test_claims(site: Site) -> None:
    own = "11111111-2222-4333-8444-555555555555"
    nodes = {row["UUID"]: row["Name"] for row in site.json("baremetal node find")}
    one = "scheduling claim --class gold --trait CUSTOM_NVME --without-trait CUSTOM_OLD"
    (first,) = site.json(f"{one} --consumer {own}", "operator")
    assert (first["Consumer"], nodes[first["Node"]], first["Resources"]) == (own, "gold-1", {"CUSTOM_GOLD": 1})
    assert site.json(f"{one} --consumer {own}", "operator")[0]["Consumer"] == own
    again = site.run(f"scheduling claim --class gold --consumer {own}", "operator")
    assert (again.returncode, "was made with another body" in again.stderr) == (1, True), again.stderr

    done = site.run("scheduling claim --resource CUSTOM_GOLD=1 --count 4", "admin")
    assert (done.returncode, "Only 3 nodes can be had" in done.stderr) == (NOTHING_FITS, True), done.stderr
    several = "scheduling claim --query resources=CUSTOM_GOLD:1 --count 3 --project-id p --user-id u"
    others = site.json(several)
    assert sorted(nodes[row["Node"]] for row in others) == ["annas", "gold-2", "gold-3"]
    held = site.operator.placement("GET", f"/allocations/{others[0]['Consumer']}").json()
    assert (held["project_id"], held["user_id"], held["consumer_type"]) == ("p", "u", "INSTANCE")
    nothing = site.run("scheduling claim --resource CUSTOM_GOLD=1", "operator")
    assert (nothing.returncode, "No node that matches is free" in nothing.stderr) == (NOTHING_FITS, True)
    release(site, own, *(row["Consumer"] for row in others))
    assert site.json("scheduling capacity --class gold")[0]["Free"] == 4


def test_tenants(site: Site) -> None:
    """Their nodes are found, explained and counted; claims and the names of conductors are the operator's."""
    assert names(site.json("baremetal node find", "anna")) == ["annas"]
    assert [row["Free"] for row in site.json("scheduling capacity", "anna")] == [1]
    groups = site.json("scheduling group list", "anna")
    assert groups == [{"Conductor Group": "", "Nodes": 1, "Unserved": 0, "Conductors Alive": 1}]
    assert site.json("scheduling explain node annas", "anna")["offered"] is True
    assert "could not be found" in site.run("scheduling explain node gold-1", "anna").stderr
    assert names(site.json("baremetal node find --available", "anna")) == ["annas"]
    refused = site.run("scheduling claim --class gold", "anna")
    assert (refused.returncode, "scheduling:claims:create" in refused.stderr) == (1, True)
    wrong = site.openstack.run(["--os-password", "wrong", "scheduling", "capacity"])
    assert (wrong.returncode, "does not accept the login" in wrong.stderr) == (1, True)


MISTAKES = {
    "scheduling explain --query foo=bar": "The query has no parameter 'foo', only resources",
    "scheduling capacity --at-least none": "is not an integer of 1 or more",
    "scheduling claim --class gold --group rack1": "is a part of the query, and not a conductor group",
    "scheduling claim --class golden": "No machine has the resource class 'golden'. Did you mean 'gold'?",
    "scheduling claim --class CUSTOM_SILVER_V1": "is what placement calls the class 'silver.v1'.",
    "scheduling explain": "Specify the request",
    "scheduling explain --class gold --resource CUSTOM_GOLD=1": "different requests",
    "scheduling explain --query resources=A:1 --required B": "--query is the whole request",
    "scheduling explain --resource CUSTOM_GOLD": "CLASS=AMOUNT",
    "scheduling explain --resource CUSTOM_GOLD=1 --trait B": "go with --class",
    "scheduling explain --class gold --image i": "go with --flavor",
    "scheduling explain --query resources=CUSTOM_GOLD:0": "amount >= 1",
    "scheduling explain node gold-1 --trait B": "Specify the request",
    "scheduling claim": "Specify the request",
    "scheduling claim --class gold --consumer me": "must be a UUID",
    "scheduling claim --class gold --count 3"
    " --consumer 11111111-2222-4333-8444-555555555555 --consumer 11111111-2222-4333-8444-555555555556": "once for each",
    "baremetal node find --any-trait A --any-trait B": "can be given once",
    "baremetal node find --trait nvme": "nvme",
}


@pytest.mark.parametrize("command", MISTAKES)
def test_mistakes_are_explained(site: Site, command: str) -> None:
    done = site.run(command, "operator" if " claim " in command else "admin")
    assert done.returncode == MISTAKE
    assert MISTAKES[command] in done.stderr


UNKNOWN = {
    "scheduling capacity --class golden": (0, "No machine has the resource class 'golden'. Did you mean 'gold'?"),
    "scheduling capacity --by class --group rack9": (0, "No machine is in the conductor group 'rack9'."),
    "scheduling group list --group rack9": (0, "No machine is in the conductor group 'rack9'."),
    "baremetal node find --class golden": (NOTHING_FITS, "Did you mean 'gold'?"),
    "baremetal node find --group rack9": (NOTHING_FITS, "No machine is in the conductor group 'rack9'."),
}


@pytest.mark.parametrize("command", UNKNOWN)
def test_unknown_names_are_said(site: Site, command: str) -> None:
    status, words = UNKNOWN[command]
    done = site.run(command)
    assert (done.returncode, words in done.stderr) == (status, True), done.stderr


def test_tables_fit_into_100_columns(site: Site) -> None:
    for command in (
        "baremetal node find",
        "scheduling capacity --by class,group",
        "scheduling group list",
        "scheduling group list --rings",
        "scheduling explain --class golden --trait CUSTOM_NVME --without-trait CUSTOM_OLD --any-trait CUSTOM_A",
        "scheduling explain node annas --class golden --trait CUSTOM_NVME",
    ):
        output = site.run(command).stdout
        assert output
        assert max(map(len, output.splitlines())) <= 100, output
