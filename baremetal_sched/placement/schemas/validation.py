"""Checking documents against JSON schemas, with the texts that clients of Placement know.

The texts are those of jsonschema, which takes a hundred times as long to find nothing as jsonschema_rs. So that one is
asked first. It takes nothing that jsonschema would not; of what it does not take, jsonschema says what is wrong.
"""

import re
import uuid
from functools import lru_cache
from typing import Any

import jsonschema
import jsonschema_rs
import orjson
from jsonschema.exceptions import best_match

_STRICT_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)

#: Most characters that a UUID may have, however it is written.
_LONGEST = 64

#: In bodies a UUID may lack dashes or have braces; in query strings it may not.
BODY_FORMATS = jsonschema.FormatChecker(formats=())
QUERY_FORMATS = jsonschema.FormatChecker(formats=())


@BODY_FORMATS.checks("uuid")
def is_tolerant_uuid(value: object) -> bool:
    """Is it a UUID, dashes, braces and letter case aside, that the database can keep as it is?"""
    if not isinstance(value, str):
        return True
    if len(value) > _LONGEST:
        return False
    text = value.replace("urn:", "").replace("uuid:", "").strip("{}").replace("-", "").lower()
    try:
        return uuid.UUID(value).hex == text
    except ValueError:
        return False


@QUERY_FORMATS.checks("uuid")
def is_strict_uuid(value: object) -> bool:
    """Is it a UUID in the usual form?"""
    return not isinstance(value, str) or _STRICT_UUID.fullmatch(value) is not None


#: The end of a text. In patterns a dollar also stands before a newline that comes last.
_END = r"\Z"


def complaint(document: Any, schema: dict[str, Any], *, query: bool = False) -> str | None:
    """What is wrong with ``document``, in the words of the jsonschema library; None if nothing is."""
    written = orjson.dumps(schema)
    if _is_fine(document, written, query):
        return None
    error = best_match(_validator(written.replace(b"$", orjson.dumps(_END)[1:-1]), query).iter_errors(document))
    if error is None:
        return None
    # The words are to show the patterns as they are known; where only a newline is wrong, the dollars are put back.
    known = best_match(_validator(written, query).iter_errors(document))
    return str(known) if known is not None else str(error).replace(repr(_END)[1:-1], "$")


def _is_fine(document: Any, schema: bytes, query: bool) -> bool:
    """Is it certain that ``document`` fits? A dollar in a pattern stands for nothing but the end here."""
    try:
        return _quick_validator(schema, query).is_valid(document)
    except ValueError:  # a text that is no Unicode, or too deep
        return False


@lru_cache(maxsize=512)
def _quick_validator(schema: bytes, query: bool) -> jsonschema_rs.Draft202012Validator:
    formats = {"uuid": is_strict_uuid if query else is_tolerant_uuid}
    return jsonschema_rs.Draft202012Validator(orjson.loads(schema), formats=formats, validate_formats=True)


@lru_cache(maxsize=512)
def _validator(schema: bytes, query: bool) -> Any:
    formats = QUERY_FORMATS if query else BODY_FORMATS
    return jsonschema.Draft202012Validator(orjson.loads(schema), format_checker=formats)
