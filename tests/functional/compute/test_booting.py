# tier: first
"""Booting: which machine a server gets, what it then holds, and what becomes of it if its deployment fails."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select

from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.models import Node
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.compute import InvalidExtraSpec, NothingRequested, TraitConflict
from tests.functional.compute.world import ZEROS, boot, create, flavor, held, image, show
from tests.interleaving import just_before
from tests.service import Service
from tests.unchanged import unchanged

TOTALS = {"total": 1, "reserved": 0, "min_unit": 1, "max_unit": 1, "step_size": 1, "allocation_ratio": 1.0}


def add_child(service: Service, node: str, name: str, resource_class: str, *traits: str, total: int = 1) -> str:
    """A provider below that of a node; returns its UUID."""
    service.placement("PUT", f"/resource_classes/{resource_class}", status="2*")
    body = {"name": name, "parent_provider_uuid": node}
    child: str = service.placement("POST", "/resource_providers", body).json["uuid"]
    stock = {resource_class: {**TOTALS, "total": total, "max_unit": total}}
    service.placement(
        "PUT", f"/resource_providers/{child}/inventories", {"inventories": stock, "resource_provider_generation": 0}
    )
    for trait in traits:
        service.placement("PUT", f"/traits/{trait}", status="2*")
    service.placement(
        "PUT", f"/resource_providers/{child}/traits", {"traits": list(traits), "resource_provider_generation": 1}
    )
    return child


def test_a_server_is_on_a_machine_and_being_deployed_when_it_is_first_seen(service: Service) -> None:
    node = service.add_node("n1", properties={"local_gb": 100})
    server = boot(service, name="web", metadata={"a": "b"})
    assert (server["status"], server["task_state"], server["node"]) == ("BUILD", "spawning", node)
    assert held(service, server["uuid"]) == {node: {"CUSTOM_GOLD": 1}}
    shown = service.node(node)
    assert (shown["provision_state"], shown["instance_uuid"], shown["instance_name"]) == (
        "deploying", server["uuid"], "web",
    )  # fmt: skip
    info = shown["instance_info"]
    assert info["image_source"] == "11111111-1111-4111-8111-111111111111"
    assert (info["display_name"], info["local_gb"], info["nova_host_id"]) == ("web", "100", "c1")
    assert "secret-1" not in str(shown)
    service.work()
    server = show(service, server["uuid"])
    assert (server["status"], server["actions"]) == ("ACTIVE", [("create", [("Success", None)])])
    assert service.database.read(audit) == []


def test_the_machine_is_switched_on_before_the_server_is_active(service: Service) -> None:
    node = service.add_node("n1")
    service.set_columns(node, power_state="power off")
    server = boot(service)
    service.work()
    assert (show(service, server["uuid"])["status"], service.node(node)["power_state"]) == ("ACTIVE", "power on")


def test_the_config_drive_has_what_the_instance_has_to_know(service: Service) -> None:
    data = {
        "links": [{"id": "l", "type": "phy", "ethernet_mac_address": "52:54:00:12:34:56"}],
        "networks": [{"id": "n", "link": "l", "network_id": "net", "type": "ipv4", "ip_address": "10.0.0.4"}],
        "services": [],
    }
    node = service.add_node("n1", network_data=data)
    key = {"name": "k", "type": "ssh", "public_key": "ssh-ed25519 AAAA"}
    server = boot(service, name="My web", metadata={"a": "b"}, keypair=key, user_data="I2Nsb3VkLWNvbmZpZwo=")
    info = service.database.read(lambda session: nodes.find(session, node).instance_info)
    assert info["fixed_ips"] == "['10.0.0.4']"
    assert info["configdrive"] == {
        "meta_data": {
            "uuid": server["uuid"], "name": "My web", "hostname": "my-web", "availability_zone": "nova",
            "project_id": "p1", "launch_index": 0, "public_keys": {"k": "ssh-ed25519 AAAA"},
            "keys": [{"name": "k", "type": "ssh", "data": "ssh-ed25519 AAAA"}], "meta": {"a": "b"},
            "admin_pass": "secret-1",
        },
        "user_data": "#cloud-config\n",
        "network_data": data,
    }  # fmt: skip


# -- which machine -----------------------------------------------------------------------------------------------------


def test_the_image_and_the_flavor_choose_by_traits(service: Service) -> None:
    by_trait = {trait: service.add_node(trait, traits=(trait,)) for trait in ("CUSTOM_A", "CUSTOM_B", "CUSTOM_C")}
    assert boot(service, image=image(trait__CUSTOM_B="required"))["node"] == by_trait["CUSTOM_B"]
    assert boot(service, flavor=flavor(trait__CUSTOM_A="forbidden"))["node"] == by_trait["CUSTOM_C"]
    assert service.node(by_trait["CUSTOM_B"])["instance_info"]["traits"] == ["CUSTOM_B"]


def test_a_machine_that_is_claimed_through_placement_or_allocated_is_not_taken(service: Service) -> None:
    claimed, allocated = service.add_node("n1"), service.add_node("n2", resource_class="silver")
    service.claim("aaaaaaaa-0000-4000-8000-000000000001", claimed)
    service.baremetal("POST", "/allocations", {"resource_class": "silver"}, status=201)
    silver = flavor()
    silver["extra_specs"] = {"resources:CUSTOM_SILVER": "1", **ZEROS}
    assert "1 is claimed through placement" in boot(service)["fault"]
    assert "1 is in use by an instance" in boot(service, flavor=silver)["fault"]
    assert service.node(allocated)["provision_state"] == "available"


def test_a_flavor_of_children_only_takes_the_machine_too(service: Service) -> None:
    node = service.add_node("n1")
    child = add_child(service, node, "fpga", "CUSTOM_FPGA_X")
    fpga = flavor()
    fpga["extra_specs"] = {"resources:CUSTOM_FPGA_X": "1", **ZEROS}
    server = boot(service, flavor=fpga)
    assert held(service, server["uuid"]) == {node: {"CUSTOM_GOLD": 1}, child: {"CUSTOM_FPGA_X": 1}}
    assert boot(service, flavor=fpga)["status"] == "ERROR"
    assert service.candidates("resources=CUSTOM_GOLD:1") == set()
    service.work()
    assert service.database.read(audit) == []


def test_a_root_that_is_no_node_is_no_host(service: Service) -> None:
    service.placement("PUT", "/resource_classes/CUSTOM_GOLD", status="2*")
    uuid = service.placement("POST", "/resource_providers", {"name": "plain"}).json["uuid"]
    service.placement(
        "PUT",
        f"/resource_providers/{uuid}/inventories",
        {"inventories": {"CUSTOM_GOLD": TOTALS}, "resource_provider_generation": 0},
    )
    assert service.candidates("resources=CUSTOM_GOLD:1") == {uuid}
    assert boot(service)["fault"] == "No valid host was found. There are no nodes that the project may use."


def test_capabilities_are_those_of_the_properties(service: Service) -> None:
    service.add_node("n1", properties={"capabilities": "boot_mode:bios"})
    uefi = service.add_node("n2", properties={"capabilities": "a:b,boot_mode:uefi"})
    server = boot(service, flavor=flavor(capabilities__boot_mode="uefi"))
    assert server["node"] == uefi
    assert service.node(uefi)["instance_info"]["capabilities"] == '{"boot_mode": "uefi"}'


def test_a_zone_is_a_conductor_group(service: Service) -> None:
    service.add_conductor("c2", group="rack2")
    service.add_node("n1")
    other = service.add_node("n2", conductor_group="rack2")
    assert boot(service, zone="rack2")["node"] == other
    assert "nodes that are in other availability zones" in boot(service, zone="rack2")["fault"]


def test_a_node_that_is_asked_for_by_name(service: Service) -> None:
    service.add_node("n1")
    other = service.add_node("n2")
    assert boot(service, node="n2")["node"] == other
    assert "in use by an instance" in boot(service, node="n2")["fault"]
    with pytest.raises(InvalidValue, match="nosuch"):
        boot(service, node="nosuch")


def test_no_machine_of_a_conductor_that_is_gone(service: Service) -> None:
    service.add_conductor("c2", group="rack2")
    service.add_node("n1", conductor_group="rack2")
    service.conductors["c2"].sign_off()
    assert "1 has no live conductor" in boot(service)["fault"]


def test_a_machine_that_a_conductor_works_on_is_not_taken(service: Service) -> None:
    busy, free = service.add_node("n1"), service.add_node("n2")
    service.set_columns(busy, reservation="c1")
    assert boot(service)["node"] == free
    assert "1 is being worked on by a conductor" in boot(service)["fault"]


def test_a_machine_that_goes_out_of_service_meanwhile(service: Service) -> None:
    service.add_node("n1")
    change = "UPDATE nodes SET maintenance = (1 = 1)"
    with just_before(service.database, "SELECT nodes.id, nodes.uuid", change) as seen:
        server = boot(service)
    assert seen
    assert server["status"] == "ERROR"
    assert "1 is in maintenance" in server["fault"]


def test_machines_that_others_are_about_to_take(service: Service) -> None:
    """A machine whose row is locked may be free in a moment: it is asked for again, not counted as taken."""
    if service.database.engine.dialect.name == "sqlite":
        pytest.skip("there are no locks of rows")
    service.add_node("n1")
    with service.database.engine.connect() as other, ThreadPoolExecutor(1) as pool:
        other.execute(select(Node.id).with_for_update()).all()
        booting = pool.submit(boot, service)
        time.sleep(0.3)
        other.rollback()
        assert booting.result()["status"] == "BUILD"


# -- none at all -------------------------------------------------------------------------------------------------------


def test_a_fault_says_how_many_nodes_each_condition_removed(service: Service) -> None:
    service.add_node("n1", resource_class="silver")
    service.set_columns(service.add_node("n2"), maintenance=True)
    service.set_columns(service.add_node("n3"), provision_state="manageable")
    service.add_node("n4", traits=("CUSTOM_BAD", "CUSTOM_A"))
    service.add_node("n5")
    wanted = flavor(trait__CUSTOM_BAD="forbidden", trait__CUSTOM_A="required")
    assert boot(service, flavor=wanted)["fault"] == (
        "No valid host was found. No node matches. Of 5 nodes that the project may use, 1 does not offer CUSTOM_GOLD, "
        "3 lack CUSTOM_A and 1 fails other conditions; 1 would match if nodes that have CUSTOM_BAD were accepted."
    )


def test_the_base_classes_are_not_switched_off_by_a_custom_class(service: Service) -> None:
    service.add_node("n1")
    wanted = flavor()
    wanted["extra_specs"] = {"resources:CUSTOM_GOLD": "1", "resources:DISK_GB": "0"}
    assert boot(service, flavor=wanted)["fault"] == (
        "No valid host was found. No node matches. Of 1 node that the project may use, 1 cannot give 4 of VCPU; 1 "
        "would match without asking for VCPU and MEMORY_MB. A custom resource class does "
        "not switch the base classes off: add resources:VCPU=0, resources:MEMORY_MB=0 to the flavor."
    )


def test_what_nobody_has_is_named(service: Service) -> None:
    service.add_node("n1")
    for extra in ({"trait__CUSTOM_NOBODY": "required"}, {"resources__CUSTOM_NOBODY": "1"}):
        server = boot(service, flavor=flavor(**extra))
        assert server["status"] == "ERROR"
        assert "CUSTOM_NOBODY" in server["fault"]
        assert server["actions"][0][1][0][0] == "Error"


def test_what_cannot_be_is_refused_and_nothing_is_made(service: Service, subtests: pytest.Subtests) -> None:
    service.add_node("n1")
    with unchanged(service):
        for flavor_, image_, error in [
            (flavor(trait__CUSTOM_A="maybe"), image(), InvalidExtraSpec),
            (flavor(trait__CUSTOM_A="forbidden"), image(trait__CUSTOM_A="required"), TraitConflict),
            (flavor(resources__CUSTOM_GOLD="0"), image(), NothingRequested),
            (flavor(), {**image(), "min_ram": 4096}, InvalidValue),
            (flavor(), {**image(), "min_disk": 21}, InvalidValue),
        ]:
            with subtests.test(flavor_=flavor_, image_=image_), pytest.raises(error):
                create(service, flavor=flavor_, image=image_)


# -- several at once ---------------------------------------------------------------------------------------------------


def test_all_of_several_servers_or_none(service: Service) -> None:
    nodes = {service.add_node(f"n{number}") for number in range(3)}
    uuids = create(service, name="s", count=4)
    faults = {show(service, uuid)["fault"] for uuid in uuids}
    assert len(uuids) == 4
    assert len(faults) == 1
    none = "None of the 4 servers was built, since they were requested together."
    assert faults.pop() == f"No valid host was found. Only 3 nodes can be had. {none}"
    assert service.candidates("resources=CUSTOM_GOLD:1") == nodes
    assert {service.node(node)["provision_state"] for node in nodes} == {"available"}
    uuids = create(service, name="t", count=3)
    assert {show(service, uuid)["node"] for uuid in uuids} == nodes
    assert [show(service, uuid)["name"] for uuid in uuids] == ["t-1", "t-2", "t-3"]
    service.work()
    assert {show(service, uuid)["status"] for uuid in uuids} == {"ACTIVE"}
    assert service.database.read(audit) == []


# -- deployments that fail ---------------------------------------------------------------------------------------------


def test_the_next_machine_is_tried(service: Service, broken: set[str]) -> None:
    first, second = service.add_node("n1"), service.add_node("n2")
    broken.add(first)
    server = boot(service, node="n1")
    assert server["node"] == first
    service.work()
    # It may be on no other node: it is in error, and the machine is free again once it is clean.
    server = show(service, server["uuid"])
    assert server["status"] == "ERROR"
    assert server["fault"].endswith(" The deployment failed on 1 node.")
    assert f"The last failure, on node {first}: " in server["details"]
    assert "The disk is broken." in server["details"]
    assert held(service, server["uuid"]) == {}
    service.work()
    assert service.candidates("resources=CUSTOM_GOLD:1") == {first, second}
    broken.add(second)
    broken.discard(first)
    service.set_columns(first, maintenance=True)
    server = boot(service)
    assert server["node"] == second
    service.set_columns(first, maintenance=False)
    service.work()
    server = show(service, server["uuid"])
    assert (server["status"], server["node"], server["tried"]) == ("ACTIVE", first, [second])
    ((action, events),) = server["actions"]
    assert (action, [result for result, _ in events]) == ("create", ["Error", "Success"])
    assert "The disk is broken." in events[0][1]
    assert held(service, server["uuid"]) == {first: {"CUSTOM_GOLD": 1}}
    assert service.node(second)["instance_uuid"] is None
    config = service.database.read(lambda session: nodes.find(session, first).instance_info["configdrive"])
    assert config["meta_data"]["admin_pass"] == "secret-1"
    assert service.database.read(audit) == []


def test_no_more_machines_are_tried_than_the_setting_says(service: Service, broken: set[str]) -> None:
    nodes = [service.add_node(f"n{number}") for number in range(4)]
    broken.update(nodes)
    server = boot(service)
    for _ in range(6):
        service.work()
    server = show(service, server["uuid"])
    assert (server["status"], len(set(server["tried"]))) == ("ERROR", 3)
    assert server["fault"] == ("No valid host was found. The deployment failed on 3 nodes; no more are tried.")
    assert "The disk is broken." in server["details"]
    assert service.candidates("resources=CUSTOM_GOLD:1") == set(nodes)
    assert service.database.read(audit) == []


def test_a_machine_that_is_not_fit_for_it_is_not_claimed(service: Service) -> None:
    node = service.add_node("n1")
    add_child(service, node, "nic", "CUSTOM_NIC", "CUSTOM_FAST")
    wanted = flavor(resources1__CUSTOM_NIC="1", trait1__CUSTOM_FAST="required")
    with just_before(service.database, "SELECT node_traits", "DELETE FROM provider_traits") as seen:
        server = boot(service, flavor=wanted)
    assert (server["status"], len(seen)) == ("ERROR", 1)
    assert "missing traits CUSTOM_FAST" in server["details"]
    assert service.candidates("resources=CUSTOM_GOLD:1") == {node}
    assert service.node(node)["instance_info"] == {}


def test_a_trait_that_only_a_device_of_the_machine_has(service: Service) -> None:
    node = service.add_node("n1")
    fpga = add_child(service, node, "fpga", "CUSTOM_FPGA", "CUSTOM_FAST", total=2)
    wanted = flavor(resources1__CUSTOM_FPGA="1", trait1__CUSTOM_FAST="required")
    server = boot(service, flavor=wanted)
    assert held(service, server["uuid"]) == {node: {"CUSTOM_GOLD": 1}, fpga: {"CUSTOM_FPGA": 1}}
    service.work()
    assert show(service, server["uuid"])["status"] == "ACTIVE"
    assert service.node(node)["instance_info"]["traits"] == ["CUSTOM_FAST"]
    assert service.database.read(audit) == []
