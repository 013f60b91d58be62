"""Requests to the bare metal API that go to its edges: as deep, as large and as many as they can be."""

from typing import Any
from urllib.parse import urlencode

from hypothesis import strategies as st

from tests.functional.fuzz import extremes
from tests.functional.fuzz.attacks import Attack, Attacks, baremetal, slices, small, words
from tests.functional.fuzz.extremes import nested, numbers, objects, texts
from tests.functional.fuzz.words import mostly

_DOCUMENTS = {
    "nodes": ("extra", "driver_info", "properties", "instance_info", "network_data"),
    "ports": ("extra", "local_link_connection"),
    "portgroups": ("extra", "properties"),
    "chassis": ("extra",),
    "allocations": ("extra",),
    "volume/connectors": ("extra",),
    "volume/targets": ("extra", "properties"),
    "deploy_templates": ("extra", "steps/0/args"),
    "runbooks": ("extra", "steps/0/args"),
    "inspection_rules": ("actions/0/args", "conditions"),
}
_VERBS = ("manage", "provide", "inspect", "active", "deleted", "clean", "service", "rescue", "adopt", "abort", "unhold")
_NAMES = ("a", "b", "-", "0", "", "é", "~0", "~1", "x" * 300, "password")


class BaremetalAttacks(Attacks):
    """Documents, paths, rules, inspections, steps, parameters."""

    def deep_creation(self, draw: st.DrawFn) -> Attack:
        kind = draw(st.sampled_from(sorted(set(_DOCUMENTS) - {"inspection_rules"})))
        step = {"interface": "bios", "step": "factory_reset", "args": draw(objects)}
        body: dict[str, Any] = {
            "nodes": lambda: {"driver": "fake-hardware", "name": f"made-{draw(st.integers(0, 200))}"},
            "ports": lambda: {"node_uuid": draw(self.node), "address": f"52:54:01:00:00:{draw(st.integers(0, 99)):02}"},
            "portgroups": lambda: {"node_uuid": draw(self.node)},
            "chassis": lambda: {"description": draw(texts)},
            "allocations": lambda: {"resource_class": "gold", "traits": self.traits[: draw(st.integers(0, 9))]},
            "volume/connectors": lambda: {"node_uuid": draw(self.node), "type": "iqn", "connector_id": draw(texts)},
            "volume/targets": lambda: {
                "node_uuid": draw(self.node),
                "volume_type": "iscsi",
                "volume_id": draw(words),
                "boot_index": draw(numbers),
            },
            "deploy_templates": lambda: {
                "name": draw(st.sampled_from(self.traits)),
                "steps": [{**step, "priority": 1}],
            },
            "runbooks": lambda: {"name": draw(st.sampled_from(self.traits)), "steps": [{**step, "order": 1}]},
        }[kind]()
        fields = [field for field in _DOCUMENTS[kind] if "/" not in field]
        body |= {draw(st.sampled_from(fields)): draw(objects)}
        return baremetal("POST", f"/{kind}", body)

    def deep_patch(self, draw: st.DrawFn) -> Attack:
        """By a path through what the operations before make, or by a value that is deep itself."""
        kind = draw(st.sampled_from(sorted(_DOCUMENTS)))
        field = draw(st.sampled_from(_DOCUMENTS[kind]))
        levels = draw(st.sampled_from([1, 3, *extremes.DEPTHS]))
        name = draw(mostly(st.just("a"), st.sampled_from(_NAMES)))
        paths = [f"/{field}" + f"/{name}" * level for level in range(1, levels + 1)]
        operations: list[Any] = [{"op": "add", "path": path, "value": {}} for path in paths[:-1]]
        if draw(st.booleans()):
            step = draw(st.integers(2, 50))
            operations = [
                {"op": "add", "path": f"/{field}" + f"/{name}" * level, "value": nested(step, "object", {})}
                for level in range(1, levels, step)
            ]
        value = draw(extremes.documents)
        operations.append(
            {"op": draw(st.sampled_from(["add", "add", "replace", "test"])), "path": paths[-1], "value": value}
        )
        for kind_of in draw(mostly(st.just([]), st.lists(st.sampled_from(["copy", "move"]), max_size=3))):
            operations.append(
                {"op": kind_of, "from": f"/{field}", "path": f"/{field}/{name}/{draw(st.integers(0, 9))}"}
            )
        return baremetal("PATCH", f"/{kind}/{self._one(draw, kind.rpartition('/')[2])}", operations)

    def _one(self, draw: st.DrawFn, kind: str) -> str:
        known = self.known.known.get(kind)
        return draw(st.sampled_from(known)) if known and kind != "nodes" else draw(self.node)

    def deep_rule(self, draw: st.DrawFn) -> Attack:
        path = "/".join(["extra", *["a"] * draw(st.sampled_from(extremes.DEPTHS))])
        value = draw(
            extremes.documents | st.sampled_from(["{inventory}", "{node.extra}", "{plugin_data}", "{node.extra.a.a}"])
        )
        op = draw(
            st.sampled_from(
                ["set-attribute", "extend-attribute", "set-plugin-data", "set-capability", "add-trait", "log"]
            )
        )
        args = {
            "set-capability": {"name": draw(texts), "value": value},
            "add-trait": {"name": draw(texts | st.sampled_from(self.traits))},
            "log": {"msg": draw(texts)},
        }.get(op, {"path": path.replace("/", ".") if op == "set-plugin-data" else path, "value": value})
        action: dict[str, Any] = {"op": op, "args": args}
        if draw(st.integers(0, 3)) == 0:
            action["loop"] = draw(st.lists(extremes.documents, max_size=5) | st.just("{inventory.disks}"))
        conditions = [{"op": "contains", "args": {"value": draw(texts), "regex": draw(words)}}] * draw(
            st.integers(0, 2)
        )
        body = {
            "description": draw(words),
            "priority": draw(small),
            "actions": [action] * draw(mostly(st.just(1), st.sampled_from([2, 100]))),
        }
        return baremetal("POST", "/inspection_rules", {**body, "conditions": conditions})

    def deep_inspection(self, draw: st.DrawFn) -> Attack:
        waiting = st.sampled_from(self.world.nodes[4::5] or self.world.nodes)
        disks = [{"name": draw(words), "size": draw(small)} for _ in range(draw(st.sampled_from([1, 5, 50])))]
        interfaces = [
            {"name": draw(words), "mac_address": f"52:54:02:00:00:{number:02}"}
            for number in range(draw(st.integers(1, 30)))
        ]
        inventory = {"disks": disks, "interfaces": interfaces, "memory": draw(objects), "cpu": {"count": draw(small)}}
        inventory |= {"bmc_address": draw(words), "system_vendor": draw(extremes.documents)}
        body = {"inventory": inventory, "boot_interface": draw(words), "plugin": draw(extremes.documents)}
        return baremetal("POST", "/continue_inspection", body, f"node_uuid={draw(waiting)}")

    def deep_agent(self, draw: st.DrawFn) -> Attack:
        url = draw(mostly(st.just("http://192.0.2.1:9999"), texts))
        body = {"callback_url": url, "agent_token": draw(words), "agent_version": draw(words)}
        body |= {
            "agent_status": draw(st.sampled_from(["start", "end", "error", "x"])),
            "agent_status_message": draw(words),
        }
        return baremetal("POST", f"/heartbeat/{draw(self.node)}", body)

    def deep_states(self, draw: st.DrawFn) -> Attack:
        node, document = draw(self.node), draw(objects)
        count = draw(mostly(st.just(1), st.sampled_from([20, 1001])))
        arguments = document if count == 1 else {"a": draw(numbers)}
        steps = [{"interface": "deploy", "step": "erase_devices", "args": arguments, "priority": 1}] * count
        target = {"target": draw(st.sampled_from(_VERBS))}
        path, body = draw(
            st.sampled_from(
                [
                    ("states/provision", {**target, "clean_steps": steps}),
                    ("states/provision", {**target, "deploy_steps": steps, "configdrive": document}),
                    ("states/provision", {**target, "service_steps": steps}),
                    ("states/provision", target),
                    ("states/provision", {"target": "manage"}),
                    ("states/provision", {"target": "inspect"}),
                    ("states/raid", document),
                    ("states/raid", {"logical_disks": [document]}),
                    ("vifs", {"id": draw(words), **document}),
                    ("vmedia", {"device_type": "cdrom", "image_url": "http://192.0.2.1/" + draw(words)}),
                    ("vendor_passthru/second_method", {"bar": draw(extremes.documents)}),
                    ("maintenance", {"reason": draw(words)}),
                ]
            )
        )
        return baremetal("POST" if path.startswith(("vifs", "vm", "vend")) else "PUT", f"/nodes/{node}/{path}", body)

    def deep_parents(self, draw: st.DrawFn) -> Attack:
        value = draw(self.node | st.none())
        return baremetal("PATCH", f"/nodes/{draw(self.node)}", [{"op": "add", "path": "/parent_node", "value": value}])

    def many_parameters(self, draw: st.DrawFn) -> Attack:
        path = draw(st.sampled_from(["/nodes", "/nodes/detail", "/ports", "/allocations", "/portgroups", "/chassis"]))
        names = ("limit", "marker", "sort_key", "sort_dir", "fields", "instance_uuid", "maintenance", "owner", "driver")
        names += (
            "resource_class",
            "conductor_group",
            "associated",
            "description_contains",
            "shard",
            "parent_node",
            "node",
        )
        values = mostly(
            st.sampled_from(["uuid", "name", "true", "asc", "desc", "extra,uuid", "1"]), texts | st.just("9" * 5000)
        )
        pairs = draw(
            st.lists(
                st.tuples(mostly(st.sampled_from(names[:5]), st.sampled_from(names)), values), min_size=1, max_size=6
            )
        )
        pairs *= draw(st.sampled_from([1, 1, 1, 100]))
        return baremetal("GET", path, query=urlencode(pairs, errors="surrogatepass"))

    def many_operations(self, draw: st.DrawFn) -> Attack:
        count = draw(st.sampled_from([10, 300, 999, 1001]))
        kind = draw(st.sampled_from(["add", "replace", "remove", "test"]))
        path = draw(
            st.sampled_from(["/extra/k{}", "/extra/list/-", "/properties/k{}/a", "/driver_info/k{}", "/extra/k1"])
        )
        value = draw(st.sampled_from(["v", "v" * 500, {"a": [1] * 50}]) | numbers)
        operations: list[Any] = [{"op": "add", "path": "/extra/list", "value": []}]
        operations += [{"op": kind, "path": path.format(number), "value": value} for number in range(count)]
        return baremetal("PATCH", f"/nodes/{draw(self.node)}", operations)

    def odd_field(self, draw: st.DrawFn) -> Attack:
        fields = (
            "name",
            "description",
            "owner",
            "lessee",
            "shard",
            "resource_class",
            "conductor_group",
            "instance_uuid",
        )
        fields += (
            "protected_reason",
            "automated_clean",
            "maintenance_reason",
            "boot_interface",
            "chassis_uuid",
            "uuid",
        )
        names = draw(st.lists(st.sampled_from(fields), min_size=1, max_size=3))
        operations = [{"op": "add", "path": f"/{name}", "value": draw(words | texts | numbers)} for name in names]
        return baremetal("PATCH", f"/nodes/{draw(self.node)}", operations)

    def many_traits(self, draw: st.DrawFn) -> Attack:
        traits = draw(slices(self.traits, draw(st.sampled_from([0, 50, 400]))))
        more = draw(mostly(st.just([]), st.lists(texts)))
        return baremetal("PUT", f"/nodes/{draw(self.node)}/traits", {"traits": traits + more})
