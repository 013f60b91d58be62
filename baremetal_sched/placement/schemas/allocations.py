"""Body of ``PUT /allocations/{consumer}``, by microversion."""

from functools import cache
from typing import Any

from baremetal_sched.placement.schemas.common import CONSUMER_TYPE, IDENTIFIER, RESOURCES, UUID, UUID_KEY, closed

PROJECT_AND_USER_SINCE = 8
KEYED_SINCE = 12
CONSUMER_GENERATION_SINCE = 28
MAPPINGS_SINCE = 34
CONSUMER_TYPE_SINCE = 38

_LISTED: dict[str, Any] = {
    "type": "array",
    "minItems": 1,
    "items": closed(
        {
            "resource_provider": closed({"uuid": UUID}, ("uuid",)),
            "resources": RESOURCES,
        },
        ("resource_provider", "resources"),
    ),
}

_MAPPINGS: dict[str, Any] = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {"^[a-zA-Z0-9_-]{0,64}": {"type": "array", "minItems": 1, "items": UUID}},
}


def _keyed(*, may_be_empty: bool) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "patternProperties": {
            UUID_KEY: closed({"generation": {"type": "integer"}, "resources": RESOURCES}, ("resources",))
        },
        "additionalProperties": False,
    }
    if not may_be_empty:
        schema["minProperties"] = 1
    return schema


@cache
def put_schema(version: int) -> dict[str, Any]:
    """The schema at microversion 1.``version``."""
    properties: dict[str, Any] = {"allocations": _LISTED}
    required = ["allocations"]
    if version >= KEYED_SINCE:
        properties["allocations"] = _keyed(may_be_empty=version >= CONSUMER_GENERATION_SINCE)
    if version >= PROJECT_AND_USER_SINCE:
        properties |= {"project_id": IDENTIFIER, "user_id": IDENTIFIER}
        required += ["project_id", "user_id"]
    if version >= CONSUMER_GENERATION_SINCE:
        properties["consumer_generation"] = {"type": ["integer", "null"]}
        required.append("consumer_generation")
    if version >= MAPPINGS_SINCE:
        properties["mappings"] = _MAPPINGS
    if version >= CONSUMER_TYPE_SINCE:
        properties["consumer_type"] = CONSUMER_TYPE
        required.append("consumer_type")
    return closed(properties, tuple(required))
