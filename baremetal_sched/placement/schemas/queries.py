"""Query strings, by microversion. A check sees the last value of a repeated parameter."""

from functools import cache
from typing import Any

from baremetal_sched.placement.schemas.common import closed

_TEXT: dict[str, Any] = {"type": "string"}
_LIMIT: dict[str, Any] = {"type": "string", "pattern": "^[1-9][0-9]*$", "minLength": 1, "maxLength": 128}
_GROUP_POLICY: dict[str, Any] = {"type": "string", "enum": ["none", "isolate"]}

#: Suffixes of request groups: numbers first, names from 1.33.
SUFFIX = {25: "[1-9][0-9]*", 33: "[a-zA-Z0-9_-]{1,64}"}

TRAITS = closed({"name": {"type": "string", "minLength": 1}, "associated": _TEXT})


@cache
def providers(version: int) -> dict[str, Any]:
    """Parameters of ``GET /resource_providers``."""
    properties: dict[str, Any] = {"name": _TEXT, "uuid": {"type": "string", "format": "uuid"}}
    for name, since in (("member_of", 3), ("resources", 4), ("in_tree", 14), ("required", 18)):
        if version >= since:
            properties[name] = {"type": "string", "format": "uuid"} if name == "in_tree" else _TEXT
    return closed(properties)


@cache
def candidates(version: int) -> dict[str, Any]:
    """Parameters of ``GET /allocation_candidates``."""
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
    if version >= 35:
        schema["patternProperties"]["^root_required$"] = _TEXT
    if version >= 36:
        schema["patternProperties"]["^same_subtree$"] = _TEXT
    return schema
