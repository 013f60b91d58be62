"""``compute migrate-flavors``, ``compute status`` and what conductors do when they start."""

import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.conductor.servers import migrate_own
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Allocation, Consumer, Inventory, ResourceProvider
from baremetal_sched.machines import states
from baremetal_sched.placement import names
from tests.functional.compute import world
from tests.functional.compute.nova_lists import (
    Compute,
    columns,
    flavor_of,
    import_lists,
    old_server,
    server_of,
    specs,
    uuid_of,
)
from tests.restored import restored
from tests.service import Service
from tests.waiting import wait_until

GOLD = {"resources:CUSTOM_GOLD": "1"}


def state(service: Service, uuid: str, node: str) -> tuple[Any, ...]:
    """All that a migration could change of a server and its node."""
    return (
        specs(service, uuid),
        service.placement("GET", f"/allocations/{uuid}").json,
        service.placement("GET", f"/resource_providers/{node}").json["generation"],
        columns(service, uuid)["revision"],
    )


def test_an_old_server_gets_the_class_of_its_node(service: Service, compute: Compute, tmp_path: Path) -> None:
    node = service.add_node("n1", resource_class="gold.v1")
    uuid = old_server(compute, tmp_path, "s1", node, extra_specs={"a": "b", "trait:HW_CPU_X86_VMX": "required"})
    code, printed, _ = compute("migrate-flavors", "--all")
    assert code == 0
    assert printed.splitlines() == [
        f"migrated: node {node}, server {uuid}: resources:CUSTOM_GOLD_V1=1 was added to its flavor and it holds "
        "CUSTOM_GOLD_V1=1 of the node.",
        "1 migrated, 0 with nothing to do, 0 skipped",
    ]
    assert specs(service, uuid) == {"a": "b", "trait:HW_CPU_X86_VMX": "required", "resources:CUSTOM_GOLD_V1": "1"}
    assert world.held(service, uuid) == {node: {"CUSTOM_GOLD_V1": 1}}
    shown = service.placement("GET", f"/allocations/{uuid}").json
    assert (shown["project_id"], shown["user_id"], shown["consumer_type"]) == ("p1", "u1", "INSTANCE")
    assert service.database.snapshot(audit) == []


def test_neither_the_shared_flavor_nor_other_servers_change(service: Service, compute: Compute, tmp_path: Path) -> None:
    gold, silver = service.add_node("n1"), service.add_node("n2", resource_class="silver")
    import_lists(
        compute,
        tmp_path,
        flavors=[flavor_of(extra_specs={"a": "b"})],
        servers=[server_of("s1", gold), server_of("s2", silver)],
    )
    assert compute("migrate-flavors", "--node", "n1")[0] == 0
    assert specs(service, uuid_of("s1")) == GOLD
    assert specs(service, uuid_of("s2")) == {}
    assert (
        import_lists(compute, tmp_path, flavors=[flavor_of()]) == "flavors: 0 imported, 1 already present, 0 skipped\n"
    )
    assert compute("migrate-flavors")[0] == 0
    assert specs(service, uuid_of("s2")) == {"resources:CUSTOM_SILVER": "1"}


def test_a_key_that_is_there_is_kept(
    service: Service, compute: Compute, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """Whatever it says; the claim is that of the machine."""
    for value in ["0", "2", "no number"]:
        with subtests.test(value=value), restored(service):
            node = service.add_node("n1")
            uuid = old_server(compute, tmp_path, "s1", node, extra_specs={"resources:CUSTOM_GOLD": value})
            assert compute("migrate-flavors")[0] == 0
            assert specs(service, uuid) == {"resources:CUSTOM_GOLD": value}
            assert world.held(service, uuid) == {node: {"CUSTOM_GOLD": 1}}


def test_a_class_that_a_group_names_is_not_added(service: Service, compute: Compute, tmp_path: Path) -> None:
    node = service.add_node("n1")
    uuid = old_server(compute, tmp_path, "s1", node, extra_specs={"resources1:CUSTOM_GOLD": "1"})
    assert compute("migrate-flavors")[0] == 0
    assert specs(service, uuid) == {"resources1:CUSTOM_GOLD": "1"}
    assert world.held(service, uuid) == {node: {"CUSTOM_GOLD": 1}}


def test_another_class_does_not_stand_for_it(service: Service, compute: Compute, tmp_path: Path) -> None:
    node = service.add_node("n1")
    uuid = old_server(compute, tmp_path, "s1", node, extra_specs={"resources:CUSTOM_SILVER": "1"})
    assert compute("migrate-flavors")[0] == 0
    assert specs(service, uuid) == {"resources:CUSTOM_SILVER": "1", **GOLD}


def test_a_claim_that_is_there_stays(service: Service, compute: Compute, tmp_path: Path) -> None:
    node = service.add_node("n1")
    service.claim(uuid_of("s1"), node)
    uuid = old_server(compute, tmp_path, "s1", node)
    before = service.placement("GET", f"/allocations/{uuid}").json
    code, printed, _ = compute("migrate-flavors")
    assert (code, printed.count("it holds")) == (0, 0)
    assert specs(service, uuid) == GOLD
    assert service.placement("GET", f"/allocations/{uuid}").json == before


def test_what_is_held_elsewhere_stays_and_other_classes_of_the_node_go(
    service: Service, compute: Compute, tmp_path: Path
) -> None:
    """Nothing but its class can be claimed of a node now; what was claimed before that may be there still."""
    node, disk, uuid = service.add_node("n1"), uuid_of("disk"), uuid_of("s1")
    service.placement("POST", "/resource_providers", {"uuid": disk, "name": disk})
    stock = {"resource_provider_generation": 0, "inventories": {"DISK_GB": {"total": 100}}}
    service.placement("PUT", f"/resource_providers/{disk}/inventories", stock)
    service.claim(uuid, disk, "DISK_GB")
    claim_other_class(service, uuid, node, "VCPU")
    assert world.held(service, uuid) == {disk: {"DISK_GB": 1}, node: {"VCPU": 1}}
    old_server(compute, tmp_path, "s1", node)
    assert compute("migrate-flavors")[0] == 0
    assert world.held(service, uuid) == {disk: {"DISK_GB": 1}, node: {"CUSTOM_GOLD": 1}}
    assert set(service.inventory(node)) == {"CUSTOM_GOLD"}
    assert service.placement("GET", f"/allocations/{uuid}").json["project_id"] == "p"
    assert service.database.snapshot(audit) == []


def claim_other_class(service: Service, consumer: str, node: str, resource_class: str) -> None:
    """Claim 1 of another class of a node, behind the back of placement."""

    def write(session: Session) -> None:
        provider = session.scalars(select(ResourceProvider.id).where(ResourceProvider.uuid == node)).one()
        holder = session.scalars(select(Consumer.id).where(Consumer.uuid == consumer)).one()
        class_id = names.ensure_class(session, resource_class)
        numbers = {"total": 4, "reserved": 0, "min_unit": 1, "max_unit": 4, "step_size": 1, "allocation_ratio": 1.0}
        stock = Inventory(provider_id=provider, resource_class_id=class_id, capacity=4, used=1, withheld=1, **numbers)
        amount = Allocation(consumer_id=holder, provider_id=provider, resource_class_id=class_id, used=1)
        stock.created_at = amount.created_at = utcnow()
        session.add_all([stock, amount])

    service.database.write(write)


def test_a_machine_with_parts(service: Service, compute: Compute, tmp_path: Path) -> None:
    """The whole tree is the server's then."""
    node, part = service.add_node("n1"), uuid_of("part")
    body = {"uuid": part, "name": "part", "parent_provider_uuid": node}
    service.placement("POST", "/resource_providers", body)
    stock = {"resource_provider_generation": 0, "inventories": {"FPGA": {"total": 1}}}
    service.placement("PUT", f"/resource_providers/{part}/inventories", stock)
    assert service.candidates("resources=FPGA:1") == {part}
    uuid = old_server(compute, tmp_path, "s1", node)
    assert compute("migrate-flavors")[0] == 0
    assert world.held(service, uuid) == {node: {"CUSTOM_GOLD": 1}}
    assert service.candidates("resources=FPGA:1") == set()
    assert service.database.snapshot(audit) == []


def test_a_second_run_changes_nothing(service: Service, compute: Compute, tmp_path: Path) -> None:
    node = service.add_node("n1")
    uuid = old_server(compute, tmp_path, "s1", node)
    compute("migrate-flavors")
    before = state(service, uuid, node)
    code, printed, _ = compute("migrate-flavors")
    assert (code, printed) == (0, "0 migrated, 1 with nothing to do, 0 skipped\n")
    assert state(service, uuid, node) == before


def test_a_dry_run_changes_nothing(service: Service, compute: Compute, tmp_path: Path) -> None:
    node = service.add_node("n1")
    uuid = old_server(compute, tmp_path, "s1", node)
    before = state(service, uuid, node)
    code, printed, _ = compute("migrate-flavors", "--dry-run")
    assert code == 0
    assert printed.splitlines() == [
        f"would migrate: node {node}, server {uuid}: its flavor lacks resources:CUSTOM_GOLD and it does not hold "
        "CUSTOM_GOLD=1 of the node.",
        "1 to migrate, 0 with nothing to do, 0 skipped",
    ]
    assert state(service, uuid, node) == before


def test_a_node_without_a_class_is_skipped_until_it_has_one(service: Service, compute: Compute, tmp_path: Path) -> None:
    node, other = service.add_node("n1", resource_class=None), service.add_node("n2")
    uuid, second = old_server(compute, tmp_path, "s1", node), old_server(compute, tmp_path, "s2", other)
    code, printed, _ = compute("migrate-flavors")
    assert code == 0
    assert f"skipped: node {node}, server {uuid}: the node has no resource class." in printed
    assert printed.endswith("1 migrated, 0 with nothing to do, 1 skipped\n")
    assert (specs(service, uuid), specs(service, second)) == ({}, GOLD)
    service.patch("n1", ("add", "/resource_class", "gold"))
    assert compute("migrate-flavors")[0] == 0
    assert specs(service, uuid) == GOLD
    assert world.held(service, uuid) == {node: {"CUSTOM_GOLD": 1}}


def test_two_servers_on_a_node_are_named(service: Service, compute: Compute, tmp_path: Path) -> None:
    """The others are migrated all the same."""
    first, second = service.add_node("n1"), service.add_node("n2")
    uuid, other = old_server(compute, tmp_path, "s1", first), old_server(compute, tmp_path, "s2", second)
    compute("migrate-flavors", "--node", first)
    intruder = uuid_of("s3")
    renamed = update(Consumer).where(Consumer.uuid == uuid).values(uuid=intruder)
    service.database.write(lambda session: session.execute(renamed) and None)
    code, printed, _ = compute("migrate-flavors")
    assert code == 2
    assert (
        f"skipped: node {first}, server {uuid}: there is more than one server on the node: {intruder} holds it too."
        in printed
    )
    assert specs(service, other) == GOLD
    assert world.held(service, uuid) == {}


def test_selections(service: Service, compute: Compute, tmp_path: Path) -> None:
    service.add_conductor("c2", group="rack2")
    n1, n2, n3 = (
        service.add_node("n1"),
        service.add_node("n2", conductor_group="rack2"),
        service.add_node("n3", resource_class="silver"),
    )
    uuids = [old_server(compute, tmp_path, f"s{n}", node) for n, node in enumerate((n1, n2, n3))]

    def migrated() -> list[bool]:
        return [bool(specs(service, uuid)) for uuid in uuids]

    assert compute("migrate-flavors", "--host", "c2")[0] == 0
    assert migrated() == [False, True, False]
    code, printed, _ = compute("migrate-flavors", "--resource-class", "silver")
    assert (code, migrated()) == (0, [False, True, True])
    assert f"skipped: node {n1}, server {uuids[0]}: the class of the node is CUSTOM_GOLD." in printed
    assert compute("migrate-flavors", "--host", "c1", "--node", "n1", "--resource-class", "CUSTOM_GOLD")[0] == 0
    assert migrated() == [True, True, True]


def test_exit_codes(service: Service, compute: Compute, subtests: pytest.Subtests) -> None:
    for arguments, code in [
        (("--all",), 0),
        (("--host", "c1"), 0),
        (("--host", "c1", "--node", "n1"), 0),
        (("--host", "nowhere"), 1),
        (("--node", "nothing"), 1),
        (("--host", "c2", "--node", "n1"), 1),
        (("--all", "--host", "c1"), 3),
        (("--all", "--node", "n1"), 3),
        (("--node", ""), 3),
        (("--colour",), 3),
        (("--host",), 3),
        (("n1",), 3),
    ]:
        with subtests.test(arguments=arguments), restored(service):
            service.add_node("n1", power=False)
            service.add_conductor("c2", group="rack2")
            assert compute("migrate-flavors", *arguments)[0] == code


def test_without_nodes_nothing_is_found(compute: Compute) -> None:
    assert compute("migrate-flavors")[0] == 1


def test_a_server_that_was_booted_here_is_not_old(service: Service, compute: Compute) -> None:
    """Its flavor names a part of the machine only; the machine itself was added to the claim."""
    node, part = service.add_node("n1"), uuid_of("part")
    service.placement("POST", "/resource_providers", {"uuid": part, "name": "part", "parent_provider_uuid": node})
    stock = {"resource_provider_generation": 0, "inventories": {"CUSTOM_FPGA": {"total": 1}}}
    service.placement("PUT", "/resource_classes/CUSTOM_FPGA")
    service.placement("PUT", f"/resource_providers/{part}/inventories", stock)
    flavor = world.flavor()
    flavor["extra_specs"] = {**world.ZEROS, "resources:CUSTOM_FPGA": "1"}
    uuid = world.boot(service, flavor=flavor)["uuid"]
    before = state(service, uuid, node)
    assert compute("migrate-flavors")[:2] == (0, "0 migrated, 1 with nothing to do, 0 skipped\n")
    assert state(service, uuid, node) == before


# -- adopted nodes -----------------------------------------------------------------------------------------------------


def adopted(service: Service, name: str, **fields: Any) -> str:
    """A node that was adopted with an instance, of which nothing else is known."""
    node = service.add_node(name, instance_uuid=uuid_of(f"instance of {name}"), **fields)
    service.set_columns(name, provision_state=states.ACTIVE)
    return node


def test_an_adopted_node_gets_its_claim(service: Service, compute: Compute) -> None:
    node = adopted(service, "n1", instance_info={"project_id": "p7"})
    uuid = uuid_of("instance of n1")
    code, printed, _ = compute("migrate-flavors")
    assert code == 0
    assert f"migrated: node {node}, server {uuid}: it holds CUSTOM_GOLD=1 of the node." in printed
    assert world.held(service, uuid) == {node: {"CUSTOM_GOLD": 1}}
    assert service.placement("GET", f"/allocations/{uuid}").json["project_id"] == "p7"
    assert service.database.snapshot(audit) == []
    assert compute("migrate-flavors")[1] == "0 migrated, 1 with nothing to do, 0 skipped\n"


def test_its_claim_goes_with_the_instance(service: Service, compute: Compute) -> None:
    node = adopted(service, "n1")
    compute("migrate-flavors")
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "deleted"})
    service.work()
    assert service.node("n1")["provision_state"] == "available"
    assert world.held(service, uuid_of("instance of n1")) == {}
    assert service.candidates("resources=CUSTOM_GOLD:1") == {node}


def test_a_claim_of_another_kind_does_not_go_with_the_instance(service: Service, compute: Compute) -> None:
    """Such as that of a Nova, which gives it back itself."""
    node = service.add_node("n1")
    service.claim(uuid_of("instance of n1"), node)
    service.patch("n1", ("add", "/instance_uuid", uuid_of("instance of n1")))
    service.set_columns("n1", provision_state=states.ACTIVE)
    assert compute("migrate-flavors")[1] == "0 migrated, 1 with nothing to do, 0 skipped\n"
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "deleted"})
    service.work()
    assert world.held(service, uuid_of("instance of n1")) == {node: {"CUSTOM_GOLD": 1}}


def test_nodes_that_are_to_be_deployed_are_left_alone(service: Service, compute: Compute) -> None:
    """Who gives a node an instance before it is deployed has a claim, or makes one."""
    service.add_node("n1", instance_uuid=uuid_of("s1"))
    service.add_node("n2")
    service.baremetal("POST", "/allocations", {"resource_class": "gold", "name": "a1"})
    assert compute("migrate-flavors")[:2] == (0, "0 migrated, 0 with nothing to do, 0 skipped\n")


# -- at the start of a conductor ---------------------------------------------------------------------------------------


def test_a_conductor_migrates_what_is_on_its_own_nodes(service: Service, compute: Compute, tmp_path: Path) -> None:
    service.add_conductor("c2", group="rack2")
    own, other = service.add_node("n1"), service.add_node("n2", conductor_group="rack2")
    uuid, second = old_server(compute, tmp_path, "s1", own), old_server(compute, tmp_path, "s2", other)
    settings = service.app.settings
    stopped = threading.Event()
    stopped.set()
    migrate_own(ConductorHost("c1", service.database, settings), stopped)
    assert specs(service, uuid) == {}
    migrate_own(ConductorHost("c1", service.database, settings), threading.Event())
    assert (specs(service, uuid), specs(service, second)) == (GOLD, {})


def test_a_conductor_does_it_when_it_starts(service: Service, compute: Compute, tmp_path: Path) -> None:
    node = service.add_node("n1")
    uuid = old_server(compute, tmp_path, "s1", node)
    stop, conductor = threading.Event(), service.conductors["c1"]
    conductor.sign_off()
    starting = service.add_conductor("c1")
    thread = threading.Thread(target=starting.run, args=(stop,))
    thread.start()
    try:
        wait_until(lambda: specs(service, uuid), "the migration")
    finally:
        stop.set()
        thread.join()
    assert specs(service, uuid) == GOLD
    assert world.held(service, uuid) == {node: {"CUSTOM_GOLD": 1}}


# -- may flavors be switched -------------------------------------------------------------------------------------------


def test_status_before_and_after(service: Service, compute: Compute, tmp_path: Path) -> None:
    node = service.add_node("n1")
    assert compute("status")[:2] == (0, "Servers: success\nNodes: success\n")
    uuid = old_server(compute, tmp_path, "s1", node)
    code, printed, _ = compute("status")
    assert code == 2
    assert printed.startswith(
        "Servers: failure. 1 of 1 are not migrated. Run: baremetal-sched compute migrate-flavors\n"
    )
    assert specs(service, uuid) == {}
    compute("migrate-flavors")
    assert compute("status")[:2] == (0, "Servers: success\nNodes: success\n")


def test_status_of_servers_that_cannot_be_migrated(service: Service, compute: Compute, tmp_path: Path) -> None:
    node = service.add_node("n1", resource_class=None)
    old_server(compute, tmp_path, "s1", node)
    code, printed, _ = compute("status")
    assert code == 2
    assert "Servers: failure. 1 of 1 are on nodes without a resource class. Set it, then migrate." in printed


def test_status_warns_of_free_nodes_without_a_class(service: Service, compute: Compute) -> None:
    service.add_node("n1", resource_class=None)
    code, printed, _ = compute("status")
    assert code == 1
    assert "Nodes: warning. 1 free node has no resource class: no flavor that asks for one gets them." in printed


def test_status_of_a_claim_that_is_gone(service: Service, compute: Compute, tmp_path: Path) -> None:
    node = service.add_node("n1")
    old_server(compute, tmp_path, "s1", node)
    compute("migrate-flavors")
    gone = update(Allocation).values(used=2)
    service.database.write(lambda session: session.execute(gone) and None)
    assert compute("status")[0] == 2


def test_what_fails_is_no_answer(compute: Compute, tmp_path: Path, subtests: pytest.Subtests) -> None:
    """No database: that is neither a warning nor a node that is not there."""
    for command in ["status", "migrate-flavors"]:
        with subtests.test(command=command):
            code, printed, complaints = compute(command, database=f"sqlite:///{tmp_path}/none.sqlite")
            assert (code, printed) == (255, "")
            assert complaints.startswith("Error: ")
            assert len(complaints.splitlines()) == 1


def test_a_defect_is_no_answer_either(compute: Compute, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baremetal_sched.compute.migration.upgrade_checks.run", lambda *_: 1 / 0)
    code, _, complaints = compute("status")
    assert code == 255
    assert "ZeroDivisionError" in complaints
