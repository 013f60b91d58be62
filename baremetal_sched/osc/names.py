"""Nodes and classes of machines in tables, as people write them: n1 for its UUID, gold for CUSTOM_GOLD."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from keystoneauth1.exceptions import ClientException as NoAnswer
from osc_lib.exceptions import CommandError

from baremetal_sched.osc.client import Client

#: Up to this many nodes are read one by one; for more, the list of nodes is read.
_ONE_BY_ONE = 10
_PAGE = 1000
_CLASS = re.compile(r"\bCUSTOM_[A-Z0-9_]+\b")


def placement_class(resource_class: str) -> str:
    """Return placement's name of a node's resource class, as Nova makes it: gold.v1 is CUSTOM_GOLD_V1."""
    return "CUSTOM_" + re.sub(r"[^0-9A-Za-z]+", "_", resource_class).upper()


def classes_of(client: Client) -> dict[str, str]:
    """Return the classes of the nodes that the caller may see, by placement's name; {} if that is not known. Classes
    that are one to placement are left out."""
    try:
        rows = client.get("scheduling", "/capacity", [("group_by", "resource_class")])["capacity"]
    except (CommandError, NoAnswer):
        return {}
    written = [row["resource_class"] for row in rows if row["resource_class"]]
    named = [placement_class(each) for each in written]
    return {name: each for name, each in zip(named, written, strict=True) if named.count(name) == 1}


def as_written(value: Any, classes: Mapping[str, str]) -> Any:
    """Return a value of an answer with the ``classes``, by placement's name, in its texts."""
    if isinstance(value, str):
        return _CLASS.sub(lambda found: classes.get(found[0], found[0]), value)
    if isinstance(value, dict):
        return {as_written(name, classes): as_written(each, classes) for name, each in value.items()}
    return [as_written(each, classes) for each in value] if isinstance(value, list) else value


def node_names(client: Client, uuids: Collection[str]) -> dict[str, str]:
    """Return the names of those of the nodes that have one and that the caller may see."""
    missing = set(uuids)
    names: dict[str, str] = {}
    if len(missing) <= _ONE_BY_ONE:
        found = [_node(client, uuid) for uuid in missing]
        return {node["uuid"]: node["name"] for node in found if node and node["name"]}
    marker: list[tuple[str, str]] = []
    while missing:
        try:
            page = client.get("baremetal", "/nodes", [("fields", "uuid,name"), ("limit", str(_PAGE)), *marker])["nodes"]
        except (CommandError, NoAnswer):
            break
        names |= {node["uuid"]: node["name"] for node in page if node["uuid"] in missing and node["name"]}
        missing -= {node["uuid"] for node in page}
        if len(page) < _PAGE:
            break
        marker = [("marker", page[-1]["uuid"])]
    return names


def _node(client: Client, uuid: str) -> dict[str, Any] | None:
    try:
        node: dict[str, Any] = client.get("baremetal", f"/nodes/{uuid}", [("fields", "uuid,name")])
    except (CommandError, NoAnswer):
        return None
    return node
