"""Parts that schemas share, and validation with the messages that clients of Placement know.

The messages are jsonschema's, which takes a hundred times as long as jsonschema_rs to accept a document. So
jsonschema_rs runs first. It accepts nothing that jsonschema refuses; for what it refuses, jsonschema supplies the
message.
"""

import re
from functools import lru_cache
from typing import Any

import jsonschema_rs
import orjson

from baremetal_sched.documents.schema import JsonSchema, SchemaDict, is_tolerant_uuid

CLASS_NAME = "^[A-Z0-9_]+$"
UUID_KEY = "^[0-9a-fA-F-]{36}$"
INT32 = 2147483647

UUID: SchemaDict = {"type": "string", "format": "uuid"}
IDENTIFIER: SchemaDict = {"type": "string", "minLength": 1, "maxLength": 255}
CONSUMER_TYPE: SchemaDict = {"type": "string", "pattern": CLASS_NAME, "minLength": 1, "maxLength": 255}

#: Amounts by class; never empty.
RESOURCES: SchemaDict = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {CLASS_NAME: {"type": "integer", "minimum": 1}},
    "additionalProperties": False,
}


def closed(properties: SchemaDict, required: tuple[str, ...] = ()) -> dict[str, object]:
    """Return the schema of an object with only these properties."""
    # Of two equally relevant errors the validator reports the first, so the order of keywords is visible.
    schema: dict[str, object] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema | {"additionalProperties": False}


_STRICT_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


def is_strict_uuid(value: object) -> bool:
    """Return whether the value is a UUID in the usual form."""
    return not isinstance(value, str) or _STRICT_UUID.fullmatch(value) is not None


#: In bodies a UUID may lack dashes or have braces; in query strings it may not.
_BODY_FORMATS = {"uuid": is_tolerant_uuid}
_QUERY_FORMATS = {"uuid": is_strict_uuid}

#: The end of a text. In patterns a dollar also matches before a trailing newline.
_END = r"\Z"


def validation_error(document: Any, schema: SchemaDict, *, query: bool = False) -> str | None:
    """Return the first error of ``document``, in jsonschema's words; None if it is valid."""
    written = orjson.dumps(schema)
    if _is_fine(document, written, query):
        return None
    error = _schema(written.replace(b"$", orjson.dumps(_END)[1:-1]), query).error(document)
    if error is None:
        return None
    # Messages show the patterns as clients know them; if only a newline is wrong, the dollars are put back.
    known = _schema(written, query).error(document)
    return str(known) if known is not None else str(error).replace(repr(_END)[1:-1], "$")


def _is_fine(document: Any, schema: bytes, query: bool) -> bool:
    """Return whether ``document`` certainly fits. A dollar in a pattern only matches the end here."""
    try:
        return _quick_validator(schema, query).is_valid(document)
    except ValueError:  # a string that is not Unicode, or too deep a document
        return False


@lru_cache(maxsize=512)
def _quick_validator(schema: bytes, query: bool) -> jsonschema_rs.Draft202012Validator:
    formats = _QUERY_FORMATS if query else _BODY_FORMATS
    return jsonschema_rs.Draft202012Validator(orjson.loads(schema), formats=formats, validate_formats=True)


@lru_cache(maxsize=512)
def _schema(schema: bytes, query: bool) -> JsonSchema:
    return JsonSchema(orjson.loads(schema), _QUERY_FORMATS if query else _BODY_FORMATS)
