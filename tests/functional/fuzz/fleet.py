"""A little of everything, so that invented requests find something; and the names of it all."""

from typing import Any
from uuid import UUID

from baremetal_sched.baremetal.inspection.inspection import store
from baremetal_sched.baremetal.nodes.nodes import find_for_change
from tests.functional.fuzz.words import Words
from tests.service import Service

NOBODY = "00000000-0000-4000-8000-000000000000"
CONSUMER = "00000000-0000-4000-8000-00000000c0c0"
AGGREGATE = "00000000-0000-4000-8000-00000000a9a9"
ROOT, CHILD = str(UUID(int=1)), str(UUID(int=2))
MAC, AGENT_MAC = "52:54:00:00:00:01", "52:54:00:00:00:02"
TOKEN = "token"
PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE5vHVSmuTxJ5ivDGgnJgnwnFhR9v4GSuIRFFbBVKqm9"


def build(service: Service) -> Words:
    """Make it, and return its words."""
    nodes = _nodes(service)
    parts = {"nodes": [*nodes, "node0", "new"], **_around(service, nodes[2])}
    _providers(service)
    _compute(service)
    parts["images"] = _images(service)
    parts["servers"] = _servers(service, parts["images"][1])
    return Words({**parts, **_same_under_other_names(parts), "members": ["p"]})


def _nodes(service: Service) -> list[str]:
    nodes = [service.add_node(f"node{number}", traits=("CUSTOM_A", "HW_CPU_X86_VMX")) for number in range(4)]
    service.set_columns(nodes[1], provision_state="active", instance_uuid=NOBODY)
    service.set_columns(nodes[2], provision_state="manageable")
    service.baremetal("PUT", f"/nodes/{nodes[2]}/states/provision", {"target": "inspect"})
    service.work()
    for node in nodes:
        service.database.write(lambda session, node=node: store(session, find_for_change(session, node), {"a": 1}, {}))
    service.claim(CONSUMER, nodes[3])
    enrolled: str = service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "new"}).json["uuid"]
    waiting = service.add_node("waiting")
    service.set_columns(waiting, provision_state="clean wait", driver_internal_info={"agent_secret_token": TOKEN})
    service.baremetal("POST", "/ports", {"node_uuid": waiting, "address": AGENT_MAC})
    return [*nodes, enrolled, waiting]


def _around(service: Service, node: str) -> dict[str, list[str]]:
    """The resources of ``node``, and resources of no node."""

    def add(path: str, **body: object) -> str:
        uuid: str = service.baremetal("POST", path, body).json["uuid"]
        return uuid

    step = {"interface": "bios", "step": "factory_reset", "args": {}}
    group = add("/portgroups", node_uuid=node, name="group")
    return {
        "chassis": [add("/chassis", description="c")],
        "portgroups": [group, "group"],
        "ports": [add("/ports", node_uuid=node, address=MAC, portgroup_uuid=group)],
        "connectors": [add("/volume/connectors", node_uuid=node, type="iqn", connector_id="iqn:a")],
        "targets": [add("/volume/targets", node_uuid=node, volume_type="iscsi", boot_index=0, volume_id="v")],
        "allocations": [
            add("/allocations", resource_class="gold", name="claim", traits=["CUSTOM_A"]),
            "claim",
            CONSUMER,
        ],
        "deploy_templates": [add("/deploy_templates", name="CUSTOM_A", steps=[{**step, "priority": 1}]), "CUSTOM_A"],
        "runbooks": [add("/runbooks", name="CUSTOM_A", steps=[{**step, "order": 1}]), "CUSTOM_A"],
        "inspection_rules": [add("/inspection_rules", actions=[{"op": "log", "args": ["{node.name}"]}])],
    }


def _providers(service: Service) -> None:
    call = service.placement
    call("POST", "/resource_providers", {"name": "root", "uuid": ROOT})
    call("POST", "/resource_providers", {"name": "child", "uuid": CHILD, "parent_provider_uuid": ROOT})
    call("POST", f"/resource_providers/{CHILD}/inventories", {"resource_class": "VCPU", "total": 8})
    body = {"aggregates": [AGGREGATE], "resource_provider_generation": 0}
    call("PUT", f"/resource_providers/{ROOT}/aggregates", body)
    call("PUT", "/resource_classes/CUSTOM_B")


def _compute(service: Service) -> None:
    service.add_flavor("gold", id="gold", specs={"resources:CUSTOM_GOLD": "1", "plain": "x"})
    service.add_flavor("private", id="private", **{"os-flavor-access:is_public": False})
    service.compute("POST", "/os-keypairs", {"keypair": {"name": "mine", "public_key": PUBLIC_KEY}})


def _servers(service: Service, image: str) -> list[str]:
    """A server that is active, with all that a server can have, and one in error."""
    service.add_node("machine", resource_class="machine")
    zeros = dict.fromkeys(("resources:VCPU", "resources:MEMORY_MB", "resources:DISK_GB"), "0")
    service.add_flavor("machine", id="machine", specs={"resources:CUSTOM_MACHINE": "1", **zeros})
    common = {"imageRef": image, "networks": "none", "tags": ["t"], "metadata": {"k": "v"}}
    found = []
    for flavor in ("machine", "gold"):
        body = {"server": {"name": flavor, "flavorRef": flavor, **common}}
        found.append(service.compute("POST", "/servers", body, status=202).json["server"]["id"])
    service.work()
    return found


def _images(service: Service) -> list[str]:
    """An image that has all that an image can have, and a queued one."""
    formats = {"disk_format": "raw", "container_format": "bare"}

    def create(**fields: Any) -> str:
        uuid: str = service.http.post_json("/image/v2/images", {**formats, **fields}).json["id"]
        return uuid

    full = create(name="full", tags=["t"], **{"trait:CUSTOM_A": "required", "image_source": "http://192.0.2.1/full"})
    service.http.post_json(f"/image/v2/images/{full}/members", {"member": "p"})
    service.http.post_json(
        f"/image/v2/images/{full}/import", {"method": {"name": "web-download", "uri": "http://192.0.2.1/i"}}
    )
    return [full, create(name="queued")]


def _same_under_other_names(parts: dict[str, list[str]]) -> dict[str, list[str]]:
    nodes = parts["nodes"]
    providers = [ROOT, CHILD, *nodes[:4]]
    traits = ["CUSTOM_A", "HW_CPU_X86_VMX", "!CUSTOM_A", "in:CUSTOM_A,CUSTOM_B", "CUSTOM_NEW"]
    classes = ["gold", "CUSTOM_GOLD", "VCPU", "CUSTOM_B"]
    aggregates = [AGGREGATE, f"in:{AGGREGATE}", f"!{AGGREGATE}"]
    fields = ["uuid", "name", "created_at", "extra", "traits", "links", "uuid,name"]
    numbers = ["1", "0", "2"]
    drivers = ["fake-hardware", "manual-management"]
    return {
        **dict.fromkeys(("node", "node_uuid", "candidate_nodes", "parent_node"), nodes),
        **dict.fromkeys(("resource_providers", "in_tree", "parent_provider_uuid", "uuid"), providers),
        **dict.fromkeys(("traits", "not-traits", "traits-any", "required", "trait", "root_required"), traits),
        **dict.fromkeys(("resource_class", "resource_classes", "inventories"), classes),
        **dict.fromkeys(("member_of", "aggregates"), aggregates),
        **dict.fromkeys(("sort_key", "fields"), fields),
        **dict.fromkeys(("limit", "resource_provider_generation", "consumer_generation"), numbers),
        **dict.fromkeys(("drivers", "driver"), drivers),
        "owner": ["p"],
        "project_id": ["p"],
        "chassis_uuid": parts["chassis"],
        "portgroup_uuid": parts["portgroups"],
        "marker": [*nodes, *parts["ports"]],
        "address": [MAC],
        "addresses": [AGENT_MAC],
        "heartbeat": ["waiting"],
        "callback_url": ["http://192.0.2.1"],
        "agent_token": [TOKEN],
        "agent_version": ["11.0"],
        "conductors": ["c1"],
        "resources": ["CUSTOM_GOLD:1", "VCPU:1,CUSTOM_GOLD:1", "VCPU:0"],
        "indicators": ["alarm@chassis", "led@system"],
        "group_policy": ["none", "isolate"],
        "flavors": ["gold", "private"],
        "os-extra_specs": ["resources:CUSTOM_GOLD", "plain", "trait:CUSTOM_A"],
        "os-keypairs": ["mine"],
        **dict.fromkeys(("servers", "server_id"), parts["servers"]),
        "flavorRef": ["gold", "machine"],
        "imageRef": parts["images"],
        "tags": ["t"],
        "metadata": ["k"],
        "availability_zone": ["nova"],
        "public_key": [PUBLIC_KEY],
        "extensions": ["os-keypairs"],
    }
