"""Parts of schemas shared by several resources."""

from typing import Any

CLASS_NAME = "^[A-Z0-9_]+$"
UUID_KEY = "^[0-9a-fA-F-]{36}$"
INT32 = 2147483647

UUID: dict[str, Any] = {"type": "string", "format": "uuid"}
IDENTIFIER: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 255}
CONSUMER_TYPE: dict[str, Any] = {"type": "string", "pattern": CLASS_NAME, "minLength": 1, "maxLength": 255}

#: Amounts by class; never empty.
RESOURCES: dict[str, Any] = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {CLASS_NAME: {"type": "integer", "minimum": 1}},
    "additionalProperties": False,
}


def closed(properties: dict[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the schema of an object with only these properties."""
    # Of two equally relevant errors the validator reports the first, so the order of keywords is visible.
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema | {"additionalProperties": False}
