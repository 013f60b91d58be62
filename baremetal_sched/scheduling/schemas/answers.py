"""Pieces of the schemas of answers, which describe and check nothing at run time: the OpenAPI document has them."""

from collections.abc import Collection, Mapping
from typing import Any

TEXT: dict[str, Any] = {"type": "string"}
TEXT_OR_NULL: dict[str, Any] = {"type": ["string", "null"]}
FLAG: dict[str, Any] = {"type": "boolean"}
COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
FRACTION: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": 1}
UUID: dict[str, Any] = {"type": "string", "format": "uuid"}
UUID_OR_NULL: dict[str, Any] = {"type": ["string", "null"], "format": "uuid"}
#: How many for each reason.
COUNTS: dict[str, Any] = {"type": "object", "additionalProperties": COUNT}


def fields(properties: Mapping[str, Any], optional: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema of an object with these properties, all of them always there but for those in ``optional``.

    It is open, as a later release may add fields.
    """
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required}


def array(items: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "items": dict(items)}


def said(description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with a description."""
    return {**schema, "description": description}


def component(name: str) -> dict[str, Any]:
    """Return a reference to a schema of the OpenAPI document."""
    return {"$ref": f"#/components/schemas/{name}"}


#: What an error is answered with.
ERROR = fields({"error": fields({"status": said("The HTTP status.", {"type": "integer"}), "message": TEXT})})
