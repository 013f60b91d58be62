"""The world of the matrix: a node of each kind with all that a node can have, and resources that belong to no node."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from tests.conformance.policies.callers import KINDS, NOTHING

#: ``send(method, path, body, minor part of the microversion)`` as an administrator of the system; returns the document.
Send = Callable[..., Any]
#: Names of what the world has, by kind, as ``Case.filled`` wants them.
Known = Mapping[str, Mapping[str, str]]

CONDUCTOR = "conductor-1"
RESOURCE_CLASS = "gold"
_STEP = {"interface": "bios", "step": "factory_reset", "args": {}}


def uuid_of(kind: str, thing: str) -> str:
    """Return the UUID of a thing."""
    return str(uuid5(NAMESPACE_OID, f"{kind} {thing}"))


def word(kind: str) -> str:
    """Return the word that is planted in all that belongs to a node of that kind."""
    return f"planted-{kind}"


def known() -> Known:
    """Return the names of everything."""
    common = {
        "chassis": uuid_of("any", "chassis"),
        "deploy_template": uuid_of("any", "deploy template"),
        "inspection_rule": uuid_of("any", "inspection rule"),
        "conductor": CONDUCTOR,
    }
    things = ("node", "port", "portgroup", "connector", "allocation", "runbook", "event")
    found = {
        kind: {
            **common,
            **{thing: uuid_of(kind, thing) for thing in things},
            "volume_target": uuid_of(kind, "target"),
            "bios": "virtualization",
        }
        for kind in KINDS
    }
    # What is about nothing that has an owner may name any node.
    return {**found, NOTHING: found["ownerless"]}


def build(send: Send, settle: Callable[[], None], projects: Mapping[str, str] | None = None) -> None:
    """Make everything that the API can make; ``settle`` waits until what was asked for is done.

    ``projects``: the ids of projects by name, where they have others than their names.
    """
    ids = projects or {}
    owners = {kind: tuple(whose and ids.get(whose, whose) for whose in KINDS[kind]) for kind in KINDS}
    send("POST", "/v1/chassis", {"uuid": uuid_of("any", "chassis"), "description": "chassis"})
    template = {"uuid": uuid_of("any", "deploy template"), "name": "CUSTOM_TEMPLATE"}
    send("POST", "/v1/deploy_templates", {**template, "steps": [{**_STEP, "priority": 1}]})
    rule = {
        "uuid": uuid_of("any", "inspection rule"),
        "conditions": [],
        "actions": [{"op": "log", "args": {"msg": "m"}}],
    }
    send("POST", "/v1/inspection_rules", rule)
    for number, kind in enumerate(KINDS):
        _node(send, kind, *owners[kind])
        _parts(send, kind, number)
    settle()
    for kind in KINDS:
        _claims(send, kind, owners[kind][0])
        settle()


def _node(send: Send, kind: str, owner: str | None, lessee: str | None) -> None:
    uuid = uuid_of(kind, "node")
    # To clients of old microversions a new node is available at once.
    send("POST", "/v1/nodes", {"driver": "fake-hardware", "uuid": uuid, "name": f"{kind}-node"}, 10)
    fields = {
        "resource_class": RESOURCE_CLASS,
        "owner": owner,
        "lessee": lessee,
        "description": word(kind),
        "extra": {"word": word(kind)},
        "driver_info": {"address": word(kind)},
        "properties": {"place": word(kind)},
    }
    send("PATCH", f"/v1/nodes/{uuid}", [{"op": "add", "path": f"/{name}", "value": fields[name]} for name in fields])
    send("PUT", f"/v1/nodes/{uuid}/traits", {"traits": [f"CUSTOM_{kind.upper()}", "CUSTOM_MATRIX"]})
    send("PUT", f"/v1/nodes/{uuid}/states/power", {"target": "power on"})


def _parts(send: Send, kind: str, number: int) -> None:
    whose = {"node_uuid": uuid_of(kind, "node"), "extra": {"word": word(kind)}}
    send("POST", "/v1/ports", {**whose, "uuid": uuid_of(kind, "port"), "address": f"52:54:00:00:00:0{number}"})
    send("POST", "/v1/portgroups", {**whose, "uuid": uuid_of(kind, "portgroup"), "name": f"{kind}-portgroup"})
    connector = {"uuid": uuid_of(kind, "connector"), "type": "iqn", "connector_id": f"iqn:{word(kind)}"}
    send("POST", "/v1/volume/connectors", {**whose, **connector})
    target = {"uuid": uuid_of(kind, "target"), "volume_type": "iscsi", "boot_index": 0, "volume_id": word(kind)}
    send("POST", "/v1/volume/targets", {**whose, **target, "properties": {"secret": f"{word(kind)}-secret"}})


def _claims(send: Send, kind: str, owner: str | None) -> None:
    claim = {"uuid": uuid_of(kind, "allocation"), "name": f"{kind}-allocation", "resource_class": RESOURCE_CLASS}
    whose = {} if owner is None else {"owner": owner}
    candidates = [uuid_of(kind, "node")]
    send("POST", "/v1/allocations", {**claim, **whose, "candidate_nodes": candidates, "extra": {"word": word(kind)}})
    steps = [{**_STEP, "order": 1}]
    runbook = {"uuid": uuid_of(kind, "runbook"), "name": f"CUSTOM_{kind.upper()}", "steps": steps}
    send("POST", "/v1/runbooks", {**runbook, "extra": {"word": word(kind)}})
    if owner is not None:
        patch = [{"op": "add", "path": "/owner", "value": owner}]
        send("PATCH", f"/v1/runbooks/{uuid_of(kind, 'runbook')}", patch)


#: What no request makes, only the work of a conductor: rows of tables that both sides have, without the node.
ROWS: Mapping[str, Mapping[str, Any]] = {
    "bios_settings": {"name": "virtualization", "value": "on"},
    "firmware_components": {"component": "bios", "initial_version": "1", "current_version": "1"},
}
