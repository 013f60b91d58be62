"""Bodies that write allocations, by microversion."""

from functools import cache

from baremetal_sched.documents.schema import SchemaDict
from baremetal_sched.placement.schemas.common import CONSUMER_TYPE, IDENTIFIER, RESOURCES, UUID, UUID_KEY, closed
from baremetal_sched.placement.schemas.inventories import REPLACE

PROJECT_AND_USER_SINCE = 8
KEYED_SINCE = 12
CONSUMER_GENERATION_SINCE = 28
MAPPINGS_SINCE = 34
CONSUMER_TYPE_SINCE = 38

_LISTED: SchemaDict = {
    "type": "array",
    "minItems": 1,
    "items": closed(
        {
            # Unlike the others, this schema reports unknown members before missing ones, as the original does.
            "resource_provider": {**closed({"uuid": UUID}), "required": ["uuid"]},
            "resources": RESOURCES,
        },
        ("resource_provider", "resources"),
    ),
}

_MAPPINGS: SchemaDict = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {"[a-zA-Z0-9_-]{1,64}": {"type": "array", "minItems": 1, "items": UUID}},
}


def _keyed(*, may_be_empty: bool) -> dict[str, object]:
    schema: dict[str, object] = {
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
def put_schema(version: int) -> dict[str, object]:
    """PUT /allocations/{consumer}"""
    return _one(version, may_be_empty=version >= CONSUMER_GENERATION_SINCE)


@cache
def post_schema(version: int) -> dict[str, object]:
    """POST /allocations"""
    return {**_many(version), "minProperties": 1}


@cache
def reshape_schema(version: int) -> dict[str, object]:
    """POST /reshaper"""
    inventories = {
        "type": "object",
        "minProperties": 1,
        "patternProperties": {UUID_KEY: REPLACE},
        "additionalProperties": False,
    }
    return closed({"inventories": inventories, "allocations": _many(version)}, ("inventories", "allocations"))


def _many(version: int) -> dict[str, object]:
    return {
        "type": "object",
        "patternProperties": {UUID_KEY: _one(version, may_be_empty=True)},
        "additionalProperties": False,
    }


def _one(version: int, *, may_be_empty: bool) -> dict[str, object]:
    """Return the schema of the writes to one consumer."""
    properties: dict[str, object] = {"allocations": _LISTED}
    required = ["allocations"]
    if version >= KEYED_SINCE:
        properties["allocations"] = _keyed(may_be_empty=may_be_empty)
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
    schema = closed(properties, tuple(required))
    if version >= KEYED_SINCE:
        # Like the original, from then on this reports unknown members before missing ones.
        schema["required"] = schema.pop("required")
    return schema
