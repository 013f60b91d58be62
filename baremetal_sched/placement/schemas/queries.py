"""Schemas of query strings, by microversion. Only the last value of a repeated parameter is checked."""

from functools import cache
from typing import Any

from baremetal_sched.placement.schemas.common import IDENTIFIER, closed

_TEXT: dict[str, Any] = {"type": "string"}
LIMIT = "^[1-9][0-9]*$"
GROUP_POLICIES = ("none", "isolate")
_LIMIT: dict[str, Any] = {"type": ["integer", "string"], "pattern": LIMIT, "minimum": 1, "minLength": 1}
_GROUP_POLICY: dict[str, Any] = {"type": "string", "enum": list(GROUP_POLICIES)}

#: Suffixes of request groups: numbers first, names from 1.33.
SUFFIX = {25: "[1-9][0-9]*", 33: "[a-zA-Z0-9_-]{1,64}"}

TRAITS = closed({"name": _TEXT, "associated": _TEXT})


#: A consumer type, or a word for a group of types.
_CONSUMER_TYPE: dict[str, Any] = {
    "type": "string",
    "pattern": "^[A-Z0-9_]+$|^all|^unknown$",
    "minLength": 1,
    "maxLength": 255,
}
CONSUMER_TYPE_SINCE = 38


@cache
def usages(version: int) -> dict[str, Any]:
    """Return the schema of ``GET /usages``."""
    properties = {"project_id": IDENTIFIER, "user_id": IDENTIFIER}
    if version >= CONSUMER_TYPE_SINCE:
        properties["consumer_type"] = _CONSUMER_TYPE
    return closed(properties, ("project_id",))


@cache
def providers(version: int) -> dict[str, Any]:
    """Return the schema of ``GET /resource_providers``."""
    properties: dict[str, Any] = {"name": _TEXT, "uuid": {"type": "string", "format": "uuid"}}
    for name, since in (("member_of", 3), ("resources", 4), ("in_tree", 14), ("required", 18)):
        if version >= since:
            properties[name] = {"type": "string", "format": "uuid"} if name == "in_tree" else _TEXT
    return closed(properties)


@cache
def candidates(version: int) -> dict[str, Any]:
    """Return the schema of ``GET /allocation_candidates``."""
    if version < 25:
        properties: dict[str, Any] = {"resources": _TEXT}
        for name, since, kind in (("limit", 16, _LIMIT), ("required", 17, _TEXT), ("member_of", 21, _TEXT)):
            if version >= since:
                properties[name] = kind
        return closed(properties, ("resources",))
    suffix = SUFFIX[33] if version >= 33 else SUFFIX[25]
    grouped = ["resources", "required", "member_of"] + (["in_tree"] if version >= 31 else [])
    schema = closed({"group_policy": _GROUP_POLICY, "limit": _LIMIT})
    schema["patternProperties"] = {f"^{name}({suffix})?$": _TEXT for name in grouped}
    for name, since in (("root_required", 35), ("same_subtree", 36)):
        if version >= since:
            schema["properties"][name] = _TEXT
    return schema
