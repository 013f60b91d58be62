"""A world that is large, deep and full: what the requests of ``attacks`` are about.

Everything in it has the same UUID each time, so what was deleted or changed by requests can be made again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from tests.functional.fuzz.words import Words

#: ``call(api, method, path, body)`` returns status and document. Paths of bare metal begin with /v1.
Call = Callable[..., tuple[int, Any]]


@dataclass(frozen=True)
class Size:
    """How much of everything: things, bytes, levels."""

    nodes: int
    document: int
    levels: int
    names: int


SMALL = Size(nodes=6, document=20_000, levels=12, names=55)
LARGE = Size(nodes=250, document=30_000, levels=60, names=400)

TRAITS_OF_A_NODE = 50


def _uuids(kind: str, count: int) -> list[str]:
    return [str(uuid5(NAMESPACE_URL, f"{kind}-{number}")) for number in range(count)]


class World:
    """Names and UUIDs of all that there is; ``restore`` makes what is missing."""

    def __init__(self, size: Size) -> None:
        self.size = size
        self.nodes = _uuids("node", size.nodes)
        self.names = [f"node-{number}-{'n' * 200}"[:255] for number in range(size.nodes)]
        self.children = _uuids("child", size.nodes)
        self.chain = _uuids("chain", size.levels)
        self.aggregates = _uuids("aggregate", size.names)
        self.consumers = _uuids("consumer", size.nodes * 2)
        self.classes = [f"CUSTOM_C{number}_{'C' * 235}"[:255] for number in range(size.names)]
        self.traits = [f"CUSTOM_T{number}_{'T' * 235}"[:255] for number in range(size.names)]

    def restore(self, call: Call) -> None:
        """Make all that is missing; whatever is refused stays as it is."""
        there = {row["name"] for row in call("placement", "GET", "/resource_classes")[1]["resource_classes"]}
        for name in set(self.classes) - there:
            call("placement", "PUT", f"/resource_classes/{name}")
        for name in set(self.traits).difference(call("placement", "GET", "/traits")[1]["traits"]):
            call("placement", "PUT", f"/traits/{name}")
        nodes = {*_uuids_in(call, "/nodes", "nodes")}
        for number, node in enumerate(self.nodes):
            if node not in nodes:
                self._make_node(call, number, node)
        there = {row["uuid"] for row in call("placement", "GET", "/resource_providers")[1]["resource_providers"]}
        for number, child in enumerate(self.children):
            if number % 2 and child not in there:
                self._make_child(call, number, self.nodes[number])
        if not there.issuperset(self.chain):
            self._restore_chain(call)
        self._restore_around(call)

    def _make_node(self, call: Call, number: int, node: str) -> None:
        body = {"uuid": node, "name": self.names[number], "driver": "fake-hardware", "resource_class": "gold"}
        large = {f"key{key}": "v" * 100 for key in range(self.size.document // 200)}
        body |= {"extra": large, "properties": {"big": "p" * (self.size.document // 4)}, "driver_info": dict(large)}
        body |= {"parent_node": self.nodes[number - 1]} if number % 3 == 1 else {}
        body |= {"inspect_interface": "agent"} if number % 5 == 4 else {}
        call("baremetal", "POST", "/v1/nodes", body)
        start = number % max(1, self.size.names - TRAITS_OF_A_NODE)
        names = self.traits[start : start + TRAITS_OF_A_NODE]
        call("baremetal", "PUT", f"/v1/nodes/{node}/traits", {"traits": names})
        call("baremetal", "PUT", f"/v1/nodes/{node}/states/power", {"target": "power on"})
        call("baremetal", "PUT", f"/v1/nodes/{node}/states/provision", {"target": "manage"})
        call(
            "baremetal",
            "POST",
            "/v1/ports",
            {"node_uuid": node, "address": f"52:54:00:00:{number >> 8:02x}:{number & 255:02x}"},
        )

    def provision(self, call: Call) -> None:
        """Bring nodes on: most become available, some wait for an agent. Call when the conductor has done the rest."""
        numbers = {node: number for number, node in enumerate(self.nodes)}
        for row in call("baremetal", "GET", "/v1/nodes?fields=uuid,provision_state&limit=1000")[1]["nodes"]:
            if row["uuid"] in numbers and row["provision_state"] in ("enroll", "manageable", "inspect failed"):
                target = "inspect" if numbers[row["uuid"]] % 5 == 4 else "provide"
                target = "manage" if row["provision_state"] == "enroll" else target
                call("baremetal", "PUT", f"/v1/nodes/{row['uuid']}/states/provision", {"target": target})

    def claim(self, call: Call) -> None:
        """Give some of the nodes, and children of others, to consumers. Call when they are available."""
        for number, node in enumerate(self.nodes[:100]):
            if number % 4 == 0:
                self._claim(call, self.consumers[2 * number], node, "CUSTOM_GOLD")
            elif number % 4 == 1:
                self._claim(call, self.consumers[2 * number + 1], self.children[number], "VCPU")

    @staticmethod
    def _claim(call: Call, consumer: str, provider: str, name: str) -> None:
        body = {
            "allocations": {provider: {"resources": {name: 1}}},
            "project_id": "p",
            "user_id": "u",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        call("placement", "PUT", f"/allocations/{consumer}", body)

    def _make_child(self, call: Call, number: int, node: str) -> None:
        child = self.children[number]
        self._make_provider(call, child, f"child-{number}", node)
        body = {"resource_class": "VCPU", "total": 8}
        call("placement", "POST", f"/resource_providers/{child}/inventories", body)
        body = {"aggregates": self.aggregates[:50], "resource_provider_generation": 1}
        call("placement", "PUT", f"/resource_providers/{child}/aggregates", body)

    def _restore_chain(self, call: Call) -> None:
        above = None
        for number, uuid in enumerate(self.chain):
            self._make_provider(call, uuid, f"level-{number}-{'p' * 180}", above)
            inventories = {name: {"total": 10} for name in (*self.classes[: 1 + number % 30], "VCPU")}
            body = {"resource_provider_generation": 0, "inventories": inventories}
            call("placement", "PUT", f"/resource_providers/{uuid}/inventories", body)
            body = {"resource_provider_generation": 1, "traits": self.traits[: 50 if number % 2 else 400]}
            call("placement", "PUT", f"/resource_providers/{uuid}/traits", body)
            above = uuid

    @staticmethod
    def _make_provider(call: Call, uuid: str, name: str, parent: str | None) -> None:
        call("placement", "POST", "/resource_providers", {"uuid": uuid, "name": name, "parent_provider_uuid": parent})

    def _restore_around(self, call: Call) -> None:
        """The resources of the first node, and of none."""
        step = {"interface": "bios", "step": "factory_reset", "args": {"a": "x" * 5000}}
        node = self.nodes[0]
        for path, body in (
            ("/chassis", {"description": "d" * 255}),
            ("/portgroups", {"node_uuid": node, "name": "group"}),
            ("/volume/connectors", {"node_uuid": node, "type": "iqn", "connector_id": "iqn:a"}),
            ("/volume/targets", {"node_uuid": node, "volume_type": "iscsi", "boot_index": 0, "volume_id": "v"}),
            ("/allocations", {"resource_class": "gold", "name": "claim"}),
            ("/deploy_templates", {"name": "CUSTOM_A", "steps": [{**step, "priority": 1}] * 1}),
            ("/runbooks", {"name": "CUSTOM_A", "steps": [{**step, "order": 1}]}),
        ):
            call("baremetal", "POST", f"/v1{path}", body)

    def trim(self, call: Call) -> None:
        """Delete what requests have made, so that lists do not become longer and longer."""
        ours = set(self.nodes)
        for node in _uuids_in(call, "/nodes", "nodes"):
            if node not in ours:
                call("baremetal", "PUT", f"/v1/nodes/{node}/maintenance", {})
                call("baremetal", "DELETE", f"/v1/nodes/{node}")
        for key, path in _LISTS.items():
            for uuid in [*_uuids_in(call, path, key)][_KEPT.get(key, 200) :]:
                call("baremetal", "DELETE", f"/v1{path}/{uuid}")
        ours |= {*self.chain, *self.children}
        for provider in call("placement", "GET", "/resource_providers")[1]["resource_providers"][::-1]:
            if provider["uuid"] not in ours:
                call("placement", "DELETE", f"/resource_providers/{provider['uuid']}")

    @staticmethod
    def generations(call: Call) -> dict[str, int]:
        """The generation of each provider."""
        rows = call("placement", "GET", "/resource_providers")[1]["resource_providers"]
        return {row["uuid"]: row["generation"] for row in rows}

    def words(self, call: Call) -> Words:
        """The names for requests: all of the world, and everything else that exists now."""
        found = {key: [*_uuids_in(call, path, key)] for key, path in _LISTS.items()}
        nodes = [*self.nodes, *self.names[:5]]
        providers = [*self.chain, *self.nodes, *self.children[1::2]]
        traits, classes = [*self.traits, "HW_CPU_X86_VMX"], [*self.classes, "VCPU", "gold"]
        return Words(
            {
                **{key: uuids or self.nodes for key, uuids in found.items()},
                **dict.fromkeys(("nodes", "node", "node_uuid", "parent_node", "heartbeat"), nodes),
                **dict.fromkeys(("resource_providers", "in_tree", "parent_provider_uuid", "marker"), providers),
                **dict.fromkeys(("traits", "required", "trait", "root_required"), traits),
                **dict.fromkeys(("resource_classes", "resource_class", "inventories"), classes),
                **dict.fromkeys(("member_of", "aggregates"), self.aggregates),
                "conductors": ["c1"],
                "drivers": ["fake-hardware"],
                "project_id": ["p"],
                "resources": ["CUSTOM_GOLD:1", "VCPU:1"],
            }
        )


_LISTS = {
    "chassis": "/chassis",
    "portgroups": "/portgroups",
    "ports": "/ports",
    "connectors": "/volume/connectors",
    "targets": "/volume/targets",
    "allocations": "/allocations",
    "deploy_templates": "/deploy_templates",
    "runbooks": "/runbooks",
    "inspection_rules": "/inspection_rules",
}
#: How many are kept, if not 200: all rules are applied at each inspection.
_KEPT = {"inspection_rules": 10}


def _uuids_in(call: Call, path: str, key: str) -> Iterator[str]:
    status, document = call("baremetal", "GET", f"/v1{path}?limit=1000")
    assert status == 200, (path, status)
    yield from (row["uuid"] for row in document[key])
