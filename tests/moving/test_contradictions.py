"""A contradiction is named with a remedy, and nothing is written; an adopted one is resolved as the line says."""

import re
from collections.abc import Callable

import pytest
from sqlalchemy import select

from baremetal_sched.db.models import Node, NodeAllocation
from baremetal_sched.machines import states
from baremetal_sched.moving import importing, in_flight
from baremetal_sched.moving.findings import FindingKind
from tests.moving.moving_nodes import instance_of, name_of
from tests.moving.sources import Cloud
from tests.moving.test_import import Target, blocked, target

__all__ = ["target"]

USED, FREE, OTHER = name_of("node", 63), name_of("node", 70), name_of("node", 74)
STRANGER = name_of("stranger", 0)
Plant = Callable[[Cloud], object]


def leftover(cloud: Cloud) -> None:
    cloud.inventory(cloud.provider_of(OTHER), "VCPU", total=8)
    cloud.inventory(cloud.provider_of(OTHER), "MEMORY_MB", total=8)


def claimed_leftover(cloud: Cloud) -> None:
    cloud.inventory(cloud.provider_of(USED), "VCPU", total=8)
    cloud.claim(instance_of(63) or "", cloud.provider_of(USED), "VCPU", used=8)


def several(cloud: Cloud) -> None:
    cloud.claim(STRANGER, cloud.provider_of(USED), "CUSTOM_SILVER_V2")


def another(cloud: Cloud) -> None:
    cloud.ironic.execute("UPDATE nodes SET instance_uuid = ? WHERE uuid = ?", name_of("instance", 999), USED)


def no_provider(cloud: Cloud) -> None:
    provider = cloud.provider_of(OTHER)
    for table in ("inventories", "resource_provider_traits"):
        cloud.placement.execute(f"DELETE FROM {table} WHERE resource_provider_id = ?", provider)
    cloud.placement.execute("DELETE FROM resource_providers WHERE id = ?", provider)


def no_node(cloud: Cloud) -> None:
    cloud.inventory(cloud.provider(STRANGER, STRANGER), "CUSTOM_GOLD")


def orphan(cloud: Cloud) -> None:
    cloud.claim(STRANGER, 999, "CUSTOM_GOLD")


def in_a_tree(cloud: Cloud) -> None:
    host = cloud.provider_of(name_of("other", 1))
    values = (host, host, OTHER)
    cloud.placement.execute(
        "UPDATE resource_providers SET parent_provider_id = ?, root_provider_id = ? WHERE uuid = ?", *values
    )


CONTRADICTIONS = [
    (leftover, FindingKind.LEFTOVER_CLASS, OTHER),
    (claimed_leftover, FindingKind.LEFTOVER_CLASS, USED),
    (several, FindingKind.SEVERAL_CONSUMERS, USED),
    (another, FindingKind.OTHER_CONSUMER, USED),
    (no_provider, FindingKind.NODE_WITHOUT_PROVIDER, OTHER),
    (no_node, FindingKind.PROVIDER_WITHOUT_NODE, STRANGER),
    (orphan, FindingKind.ORPHAN_ALLOCATION, STRANGER),
    (in_a_tree, FindingKind.PROVIDER_IN_TREE, OTHER),
]


@pytest.mark.parametrize(("plant", "kind", "subject"), CONTRADICTIONS)
def test_a_contradiction_is_refused_and_can_be_adopted(
    target: Target, plant: Plant, kind: FindingKind, subject: str
) -> None:
    plant(target.cloud)
    before = target.rows()
    report = target.run()
    assert blocked(report) == [(kind.word, subject)]
    (line,) = (line for line in report.lines() if line.startswith("refused"))
    assert any(word in line for word in ("openstack", "nova-compute", "PUT /resource_providers"))
    assert f"--adopt {kind.word}:{subject}" in line
    assert target.rows() == before
    assert blocked(target.run(f"{kind.word}:{name_of('another', 1)}")) == [(kind.word, subject)]
    assert blocked(target.run(f"{kind.word}:{subject}")) == []
    assert target.audit() == []
    assert target.run(kind.word).written.total() == 0


def do_as_said(cloud: Cloud, remedy: str) -> None:
    """Do what a remedy says, as Placement would."""
    placement = cloud.placement
    if found := re.search(r"inventory delete (\S+) --resource-class (\w+)$", remedy):
        ids = (cloud.provider_of(found[1]), cloud.named("resource_classes", found[2]))
        placement.execute("DELETE FROM inventories WHERE resource_provider_id = ? AND resource_class_id = ?", *ids)
    elif found := re.search(r"allocation set (\S+) --allocation rp=(\S+),(\w+)=1 ", remedy):
        placement.execute("DELETE FROM allocations WHERE consumer_id = ?", found[1])
        cloud.claim(found[1], cloud.provider_of(found[2]), found[3])
    elif found := re.search(r"allocation delete (\S+)$", remedy):
        placement.execute("DELETE FROM allocations WHERE consumer_id = ?", found[1])
    elif found := re.search(r"Delete its allocations, then run: openstack resource provider delete (\S+)$", remedy):
        provider = cloud.provider_of(found[1])
        for table in ("allocations", "inventories"):
            placement.execute(f"DELETE FROM {table} WHERE resource_provider_id = ?", provider)
        placement.execute("DELETE FROM resource_providers WHERE id = ?", provider)
    elif found := re.search(r"node-without-provider (\S+): .* Let a nova-compute", remedy):
        cloud.inventory(cloud.provider(found[1], found[1]), "CUSTOM_GOLD")
    elif found := re.search(r"provider-in-tree (\S+): .* Give it null as parent_provider_uuid", remedy):
        root = "UPDATE resource_providers SET parent_provider_id = NULL, root_provider_id = id WHERE uuid = ?"
        placement.execute(root, found[1])
    else:
        pytest.fail(f"nobody can follow this: {remedy}")


@pytest.mark.ci
@pytest.mark.parametrize(("plant", "kind", "subject"), CONTRADICTIONS)
def test_a_remedy_works(target: Target, plant: Plant, kind: FindingKind, subject: str) -> None:
    """If it takes several steps, each is said when the one before is done."""
    plant(target.cloud)
    assert blocked(target.run()) == [(kind.word, subject)]
    for _ in range(4):
        report = target.run()
        if not report.blocking:
            break
        do_as_said(target.cloud, str(report.blocking[0]))
    assert blocked(target.run()) == []
    assert target.audit() == []


def test_what_cannot_be_adopted_is_not(target: Target) -> None:
    """Whose machine it is cannot be known if the node has no instance."""
    provider = target.cloud.provider_of(OTHER)
    for consumer in (STRANGER, name_of("stranger", 1)):
        target.cloud.claim(consumer, provider, "CUSTOM_GOLD")
    report = target.run("several-consumers")
    assert blocked(report) == [("several-consumers", OTHER)]
    assert "--adopt" not in str(report.blocking[0])
    with pytest.raises(importing.InvalidValue, match="must begin with one of"):
        target.run("in-flight")


def test_a_claim_without_an_instance_is_kept_and_said(target: Target) -> None:
    target.cloud.claim(STRANGER, target.cloud.provider_of(OTHER), "CUSTOM_GOLD")
    report = target.run()
    assert any(finding.subject == OTHER and STRANGER in finding.text for finding in report.remarks)
    assert target.audit() == []


def test_work_in_flight_is_refused_or_has_failed(target: Target) -> None:
    """In every state in which that may be."""
    wanted = {}
    for number, state in enumerate(in_flight.FAILED):
        instance = name_of("instance", 200 + number)
        uuid = target.cloud.node(200 + number, provision_state=state, reservation="old-1", instance_uuid=instance)
        wanted[uuid] = state
    assert blocked(target.run()) == [("in-flight", uuid) for uuid in wanted]
    assert target.run(failed=True).blocking == []
    query = select(Node).where(Node.uuid.in_(wanted))
    for node in target.database.read(lambda session: session.scalars(query).all()):
        state = wanted[node.uuid]
        assert (node.provision_state, node.reservation) == (in_flight.FAILED[state][0], None)
        assert node.provision_state not in in_flight.FAILED
        assert state in (node.last_error or "")
    assert target.audit() == []
    assert target.run(failed=True).written.total() == 0


def test_every_transient_state_has_a_failure() -> None:
    lasting = {states.ENROLL, states.MANAGEABLE, states.AVAILABLE, states.ACTIVE, states.ERROR, states.RESCUE}
    failures = {state for state in states.PROVISION_STATES if state.endswith("failed")}
    # The last two are targets, which no node is in.
    assert in_flight.FAILED.keys() == states.PROVISION_STATES - lasting - failures - {"deleted", "rebuild"}


def test_an_allocation_that_waits_has_failed(target: Target) -> None:
    own = name_of("allocation", 7)
    target.cloud.ironic.add("allocations", uuid=own, state="allocating", resource_class="gold")
    target.cloud.ironic.execute("UPDATE nodes SET target_power_state = 'power on' WHERE uuid = ?", OTHER)
    assert blocked(target.run()) == [("in-flight", OTHER), ("in-flight", own)]
    target.run(failed=True)
    query = select(NodeAllocation.state).where(NodeAllocation.uuid == own)
    assert target.database.read(lambda session: session.scalar(query)) == "error"


def test_drivers_without_a_place_are_replaced(target: Target) -> None:
    changes = "driver = 'idrac', management_interface = 'idrac-redfish', raid_interface = 'idrac-redfish'"
    target.cloud.ironic.execute(f"UPDATE nodes SET {changes} WHERE uuid = ?", OTHER)
    report = target.run()
    assert blocked(report) == [("driver", OTHER)]
    assert "--replace-interface driver.idrac=redfish" in str(report.blocking[0])
    driver = "driver.idrac=fake-hardware"
    report = target.run(replaced=(driver,))
    assert blocked(report) == [("interface", OTHER), ("interface", OTHER)]
    assert "raid.idrac-redfish=" in str(report.blocking[1])
    everything = (driver, "idrac-redfish=redfish", "raid.idrac-redfish=no-raid")
    assert target.run(replaced=everything).blocking == []
    node = target.database.read(lambda session: session.scalars(select(Node).where(Node.uuid == OTHER)).one())
    assert (node.driver, node.management_interface, node.raid_interface) == ("fake-hardware", "redfish", "no-raid")


@pytest.mark.parametrize(("text", "message"), [("idrac", "give OLD=NEW"), ("idrac=nothing", "no installed package")])
def test_a_replacement_has_to_exist(target: Target, text: str, message: str) -> None:
    with pytest.raises(importing.InvalidValue, match=message):
        target.run(replaced=(text,))


def test_what_changes_meanwhile_is_in_motion(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    read = importing.fingerprints
    monkeypatch.setattr(
        importing, "fingerprints", lambda placement: {**read(placement), 1: 1, **_changed(read(placement))}
    )
    report = target.run(frozen=True)
    assert {finding.kind for finding in report.blocking} == {FindingKind.IN_MOTION}
    report = target.run()
    assert report.blocking == []
    assert "run the import again" in str(next(f for f in report.remarks if f.kind is FindingKind.IN_MOTION))


def _changed(before: dict[int, int]) -> dict[int, int]:
    return {next(iter(before)): -1}


def test_rules_that_compare_numbers_as_text_are_named(target: Target) -> None:
    """Ironic fills fields in as text; a rule that says so itself does the same here."""
    memory = "{inventory[memory][physical_mb]}"
    conditions = [
        {"op": "gt", "args": {"values": [memory, "9000"]}},
        {"op": "!lt", "args": [[memory, 9000]]},
        {"op": "gt", "args": {"values": [memory, "9000"], "force_strings": True}},
        {"op": "eq", "args": {"values": [memory, "9000"]}},
        {"op": "lt", "args": {"values": [1, 2]}},
    ]
    for number in (1, 2):
        compared = conditions if number == 1 else conditions[2:]
        name = name_of("rule", number)
        target.cloud.ironic.add(
            "inspection_rules", uuid=name, priority=1, phase="main", actions=[], conditions=compared
        )
    found = [finding for finding in target.run().remarks if "inspection rule" in finding.text]
    assert [finding.subject for finding in found] == [name_of("rule", 1)]
    assert "compares fields (gt, !lt) as numbers here, and as text in Ironic" in str(found[0])
    assert "force_strings" in str(found[0])
