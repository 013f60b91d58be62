"""Every command of osc-placement, the plugin for the ``openstack`` command, against the service."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.test_openstack_client import OpenStack
from tests.processes import serve

ROOT, CHILD, OTHER = (f"0000000{n}-aaaa-4aaa-8aaa-000000000000" for n in (1, 2, 3))
AGGREGATE = "00000001-eeee-4eee-8eee-000000000000"
CONSUMER, MIGRATION = (f"0000000{n}-cccc-4ccc-8ccc-000000000000" for n in (1, 2))
RP = "resource provider"
AS_JSON = "-f json"


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """A service of its own, without nodes."""
    with serve(tmp_path, "--without-conductor") as (_, url):
        yield url


def openstack(url: str, folder: Path, version: str) -> OpenStack:
    """The command at ``--os-placement-api-version``."""
    variables = {"OS_AUTH_TYPE": "none", "OS_ENDPOINT": f"{url}/placement"}
    return OpenStack(folder, variables, "--os-placement-api-version", version)


def column(rows: list[dict[str, Any]], name: str) -> list[Any]:
    """One column, sorted."""
    return sorted(row[name] for row in rows)


def test_providers(url: str, tmp_path: Path) -> None:
    """Providers are created, shown, listed by everything that a list takes, renamed, moved and deleted."""
    client = openstack(url, tmp_path, "1.39")
    root, child, other, shown, renamed, moved, again = client.batch(
        f"{RP} create root --uuid {ROOT} {AS_JSON}",
        f"{RP} create child --uuid {CHILD} --parent-provider {ROOT} {AS_JSON}",
        f"{RP} create other --uuid {OTHER} {AS_JSON}",
        f"{RP} show {CHILD} --allocations {AS_JSON}",
        f"{RP} set {OTHER} --name renamed {AS_JSON}",
        f"{RP} set {CHILD} --name child --parent-provider {OTHER} {AS_JSON}",
        f"{RP} set {CHILD} --name child --parent-provider {ROOT} {AS_JSON}",
    )
    assert root == {
        "uuid": ROOT,
        "name": "root",
        "generation": 0,
        "root_provider_uuid": ROOT,
        "parent_provider_uuid": None,
    }
    assert (child["root_provider_uuid"], child["parent_provider_uuid"]) == (ROOT, ROOT)
    assert shown == child | {"allocations": {}}
    assert renamed == other | {"name": "renamed"}
    assert (moved["root_provider_uuid"], moved["parent_provider_uuid"]) == (OTHER, OTHER)
    assert again == child

    client.batch(
        f"{RP} inventory set {CHILD} --resource VCPU=4 {AS_JSON}",
        f"{RP} trait set {CHILD} --trait HW_CPU_X86_VMX {AS_JSON}",
        f"{RP} aggregate set {CHILD} --aggregate {AGGREGATE} --generation 2 {AS_JSON}",
    )
    queries = {
        "": {ROOT, CHILD, OTHER},
        f"--uuid {ROOT}": {ROOT},
        "--name child": {CHILD},
        "--resource VCPU=4": {CHILD},
        "--resource VCPU=5": set(),
        f"--in-tree {CHILD}": {ROOT, CHILD},
        "--required HW_CPU_X86_VMX": {CHILD},
        "--required HW_CPU_X86_VMX,HW_CPU_X86_SVM": {CHILD},
        "--required HW_CPU_X86_VMX --required HW_CPU_X86_SVM": set(),
        "--forbidden HW_CPU_X86_VMX": {ROOT, OTHER},
        f"--member-of {AGGREGATE}": {CHILD},
        f"--member-of {AGGREGATE} --member-of {ROOT}": set(),
    }
    found = client.batch(*(f"{RP} list {query} {AS_JSON}" for query in queries))
    assert [{row["uuid"] for row in rows} for rows in found] == list(queries.values())

    client.batch(*(f"{RP} delete {uuid}" for uuid in (CHILD, ROOT, OTHER)))
    assert client(f"{RP} list {AS_JSON}") == []


def test_providers_of_old(url: str, tmp_path: Path) -> None:
    """At 1.0 providers have no trees and no traits; at 1.14 a provider may get a parent, once."""
    created, listed = openstack(url, tmp_path, "1.0").batch(
        f"{RP} create root --uuid {ROOT} {AS_JSON}", f"{RP} list {AS_JSON}"
    )
    assert created == {"uuid": ROOT, "name": "root", "generation": 0}
    assert listed == [created]
    child, adopted = openstack(url, tmp_path, "1.14").batch(
        f"{RP} create child --uuid {CHILD} {AS_JSON}",
        f"{RP} set {CHILD} --name child --parent-provider {ROOT} {AS_JSON}",
    )
    assert child["parent_provider_uuid"] is None
    assert adopted["parent_provider_uuid"] == ROOT


def test_inventories(url: str, tmp_path: Path) -> None:
    """Inventories are set all at once, amended, tried without effect, set by class and by aggregate, and deleted."""
    client = openstack(url, tmp_path, "1.39")
    inventory = f"{RP} inventory"
    created, replaced, amended, tried, changed, shown, listed, joined, together, remaining, nothing = client.batch(
        f"{RP} create root --uuid {ROOT} {AS_JSON}",
        f"{inventory} set {ROOT} --resource VCPU=8 --resource VCPU:max_unit=4 {AS_JSON}",
        f"{inventory} set {ROOT} --resource MEMORY_MB=1024 --amend {AS_JSON}",
        f"{inventory} set {ROOT} --resource DISK_GB=10 --dry-run {AS_JSON}",
        f"{inventory} class set {ROOT} VCPU --total 16 --reserved 1 --allocation_ratio 2.0 {AS_JSON}",
        f"{inventory} show {ROOT} VCPU {AS_JSON}",
        f"{inventory} list {ROOT} {AS_JSON}",
        f"{RP} aggregate set {ROOT} --aggregate {AGGREGATE} --generation 3 {AS_JSON}",
        f"{inventory} set {AGGREGATE} --aggregate --resource VCPU=2 --resource DISK_GB=5 {AS_JSON}",
        f"{inventory} delete {ROOT} --resource-class VCPU",
        f"{inventory} list {ROOT} {AS_JSON}",
        f"{inventory} delete {ROOT}",
        f"{inventory} list {ROOT} {AS_JSON}",
    )
    default = {"allocation_ratio": 1.0, "min_unit": 1, "max_unit": 2147483647, "reserved": 0, "step_size": 1}
    assert created["generation"] == 0
    assert replaced == [default | {"resource_class": "VCPU", "total": 8, "max_unit": 4}]
    assert column(amended, "resource_class") == ["MEMORY_MB", "VCPU"]
    assert column(tried, "resource_class") == ["DISK_GB"]
    assert changed == default | {"total": 16, "reserved": 1, "allocation_ratio": 2.0}
    assert shown == changed | {"used": 0}
    assert column(listed, "resource_class") == ["MEMORY_MB", "VCPU"]
    assert column(listed, "used") == [0, 0]
    assert joined == [{"uuid": AGGREGATE}]
    assert {(row["resource_provider"], row["resource_class"], row["total"]) for row in together} == {
        (ROOT, "VCPU", 2),
        (ROOT, "DISK_GB", 5),
    }
    assert column(remaining, "resource_class") == ["DISK_GB"]
    assert nothing == []


def test_names(url: str, tmp_path: Path) -> None:
    """Resource classes and traits are created, set, shown, listed and deleted."""
    client = openstack(url, tmp_path, "1.39")
    classes, one, trait, custom, associated, traits, cleared = client.batch(
        "resource class create CUSTOM_A",
        "resource class set CUSTOM_B",
        f"resource class list {AS_JSON}",
        f"resource class show CUSTOM_B {AS_JSON}",
        "resource class delete CUSTOM_A",
        "resource class delete CUSTOM_B",
        "trait create CUSTOM_X",
        "trait create CUSTOM_Y",
        f"trait show CUSTOM_X {AS_JSON}",
        f"trait list --name startswith:CUSTOM_ {AS_JSON}",
        f"{RP} create root --uuid {ROOT}",
        f"{RP} trait set {ROOT} --trait CUSTOM_X --trait HW_CPU_X86_VMX",
        f"trait list --associated {AS_JSON}",
        f"{RP} trait list {ROOT} {AS_JSON}",
        f"{RP} trait delete {ROOT}",
        f"{RP} trait list {ROOT} {AS_JSON}",
        "trait delete CUSTOM_X",
    )
    assert {"VCPU", "CUSTOM_A", "CUSTOM_B"} <= {row["name"] for row in classes}
    assert one == {"name": "CUSTOM_B"}
    assert trait == {"name": "CUSTOM_X"}
    assert column(custom, "name") == ["CUSTOM_X", "CUSTOM_Y"]
    assert column(associated, "name") == column(traits, "name") == ["CUSTOM_X", "HW_CPU_X86_VMX"]
    assert cleared == []
    classes, traits = client.batch(
        f"resource class list {AS_JSON}", f"trait list --name in:CUSTOM_X,CUSTOM_Y {AS_JSON}"
    )
    assert not [row for row in classes if row["name"].startswith("CUSTOM_")]
    assert column(traits, "name") == ["CUSTOM_Y"]


def test_aggregates(url: str, tmp_path: Path) -> None:
    """Aggregates are set with the provider's generation, or, below 1.19, without."""
    current, replaced, listed = openstack(url, tmp_path, "1.39").batch(
        f"{RP} create root --uuid {ROOT} {AS_JSON}",
        f"{RP} aggregate set {ROOT} --aggregate {AGGREGATE} --aggregate {OTHER} --generation 0 {AS_JSON}",
        f"{RP} aggregate list {ROOT} {AS_JSON}",
    )
    assert current["generation"] == 0
    assert column(replaced, "uuid") == column(listed, "uuid") == [AGGREGATE, OTHER]
    fewer, listed, shown, none = openstack(url, tmp_path, "1.18").batch(
        f"{RP} aggregate set {ROOT} --aggregate {OTHER} {AS_JSON}",
        f"{RP} aggregate list {ROOT} {AS_JSON}",
        f"{RP} show {ROOT} {AS_JSON}",
        f"{RP} aggregate set {ROOT} {AS_JSON}",
    )
    assert fewer == listed == [{"uuid": OTHER}]
    assert shown["generation"] == 1
    assert none == []


@pytest.fixture
def stocked(url: str, tmp_path: Path) -> OpenStack:
    """The command at 1.39, and a tree whose root has memory and whose child has processors."""
    client = openstack(url, tmp_path, "1.39")
    client.batch(
        f"{RP} create root --uuid {ROOT}",
        f"{RP} create child --uuid {CHILD} --parent-provider {ROOT}",
        f"{RP} inventory set {ROOT} --resource MEMORY_MB=1000",
        f"{RP} inventory set {CHILD} --resource VCPU=8",
        f"{RP} trait set {CHILD} --trait HW_CPU_X86_VMX",
    )
    return client


def test_allocations(stocked: OpenStack) -> None:
    """Allocations are set, shown, taken away in parts, deleted; usages follow."""
    allocation = f"{RP} allocation"
    who = "--project-id p --user-id u --consumer-type INSTANCE"
    both = f"--allocation rp={ROOT},MEMORY_MB=100 --allocation rp={CHILD},VCPU=2"
    written, shown, of_child, usage, usages, of_user, of_nobody = stocked.batch(
        f"{allocation} set {CONSUMER} {both} {who} {AS_JSON}",
        f"{allocation} show {CONSUMER} {AS_JSON}",
        f"{RP} show {CHILD} --allocations {AS_JSON}",
        f"{RP} usage show {CHILD} {AS_JSON}",
        f"resource usage show p {AS_JSON}",
        f"resource usage show p --user-id u {AS_JSON}",
        f"resource usage show p --user-id nobody {AS_JSON}",
    )
    assert {row["resource_provider"]: row["resources"] for row in written} == {
        ROOT: {"MEMORY_MB": 100},
        CHILD: {"VCPU": 2},
    }
    assert {(row["project_id"], row["user_id"], row["consumer_type"]) for row in written} == {("p", "u", "INSTANCE")}
    assert shown == written
    assert of_child["allocations"] == {CONSUMER: {"resources": {"VCPU": 2}, "consumer_generation": 1}}
    assert usage == [{"resource_class": "VCPU", "usage": 2}]
    grouped = {"MEMORY_MB": 100, "VCPU": 2, "consumer_count": 1}
    assert usages == of_user == [{"resource_class": "INSTANCE", "usage": grouped}]
    assert of_nobody == []

    without_memory, without_child, again, gone = stocked.batch(
        f"{allocation} unset {CONSUMER} --resource-class MEMORY_MB {AS_JSON}",
        f"{allocation} set {CONSUMER} {both} {who}",
        f"{allocation} unset {CONSUMER} --provider {CHILD} {AS_JSON}",
        f"{allocation} set {CONSUMER} {both} {who} {AS_JSON}",
        f"{allocation} delete {CONSUMER}",
        f"{allocation} show {CONSUMER} {AS_JSON}",
    )
    assert [row["resource_provider"] for row in without_memory] == [CHILD]
    assert [row["resource_provider"] for row in without_child] == [ROOT]
    assert column(again, "resource_provider") == [ROOT, CHILD]
    assert gone == []


def test_allocations_of_old(stocked: OpenStack, url: str, tmp_path: Path) -> None:
    """At 1.7 nobody owns an allocation, at 1.8 somebody must, from 1.12 the owner is shown; to 1.37 usages have no
    types."""
    allocation = f"{RP} allocation"
    what = f"--allocation rp={CHILD},VCPU=1"
    (ownerless,) = openstack(url, tmp_path, "1.7").batch(f"{allocation} set {CONSUMER} {what} {AS_JSON}")
    assert ownerless == [{"resource_provider": CHILD, "generation": 3, "resources": {"VCPU": 1}}]
    (owned,) = openstack(url, tmp_path, "1.8").batch(
        f"{allocation} set {MIGRATION} {what} --project-id p --user-id u {AS_JSON}"
    )
    assert owned == [{"resource_provider": CHILD, "generation": 4, "resources": {"VCPU": 1}}]
    shown, unset, usages = openstack(url, tmp_path, "1.27").batch(
        f"{allocation} show {MIGRATION} {AS_JSON}",
        f"{allocation} unset {CONSUMER} --resource-class MEMORY_MB {AS_JSON}",
        f"resource usage show p {AS_JSON}",
    )
    assert shown == [row | {"project_id": "p", "user_id": "u"} for row in owned]
    nobody = "00000000-0000-0000-0000-000000000000"
    assert [(row["project_id"], row["resources"]) for row in unset] == [(nobody, {"VCPU": 1})]
    assert usages == [{"resource_class": "VCPU", "usage": 1}]
    (usages,) = stocked.batch(f"resource usage show p {AS_JSON}")
    assert usages == [{"resource_class": "unknown", "usage": {"VCPU": 1, "consumer_count": 1}}]


def test_candidates(stocked: OpenStack, url: str, tmp_path: Path) -> None:
    """Candidates are listed with what each provider gives, narrowed by traits, aggregates and groups; before 1.29 the
    two of a tree cannot serve together."""
    stocked.batch(f"{RP} aggregate set {ROOT} --aggregate {AGGREGATE} --generation 1")
    candidate = "allocation candidate list"
    both = "--resource VCPU=2 --resource MEMORY_MB=10"
    rows, limited, required, forbidden, of_aggregate, of_other, grouped, isolated = stocked.batch(
        f"{candidate} {both} {AS_JSON}",
        f"{candidate} {both} --limit 1 {AS_JSON}",
        f"{candidate} {both} --required HW_CPU_X86_VMX,HW_CPU_X86_SVM {AS_JSON}",
        f"{candidate} {both} --forbidden HW_CPU_X86_VMX {AS_JSON}",
        f"{candidate} {both} --member-of {AGGREGATE} {AS_JSON}",
        f"{candidate} {both} --member-of {OTHER} {AS_JSON}",
        f"{candidate} --group 1 --resource VCPU=1 --group 2 --resource VCPU=2 {AS_JSON}",
        f"{candidate} --group 1 --resource VCPU=1 --group 2 --resource VCPU=2 --group-policy isolate {AS_JSON}",
    )
    assert {(row["#"], row["resource provider"], row["allocation"]) for row in rows} == {
        (1, CHILD, "VCPU=2"),
        (1, ROOT, "MEMORY_MB=10"),
    }
    assert {(row["inventory used/capacity"], row["traits"]) for row in rows} == {
        ("VCPU=0/8", "HW_CPU_X86_VMX"),
        ("MEMORY_MB=0/1000", ""),
    }
    assert column(limited, "resource provider") == column(rows, "resource provider")
    assert column(required, "resource provider") == column(of_aggregate, "resource provider") == [ROOT, CHILD]
    assert forbidden == of_other == isolated == []
    assert [(row["resource provider"], row["allocation"]) for row in grouped] == [(CHILD, "VCPU=3")]

    for version in ("1.10", "1.12", "1.28"):
        alone, together = openstack(url, tmp_path, version).batch(
            f"{candidate} --resource VCPU=2 {AS_JSON}", f"{candidate} {both} {AS_JSON}"
        )
        assert [(row["resource provider"], row["allocation"]) for row in alone] == [(CHILD, "VCPU=2")]
        assert together == []
