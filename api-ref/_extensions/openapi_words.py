"""Schemas of JSON in words (needs no Sphinx)."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

_TYPES = {str: "string", bool: "boolean", int: "integer", type(None): "null"}
#: The formats of texts that other programs know.
_FORMATS = {"uuid", "date-time", "uri"}


def type_of(schema: dict[str, Any]) -> str:
    """Return the type of the values that a schema allows, such as ``string or null``."""
    kinds = [kind.removesuffix(" or null") for kind in _types(schema)]
    return " or ".join(dict.fromkeys([*kinds, *(["null"] if _may_be_null(schema) else [])]))


def _types(schema: dict[str, Any]) -> list[str]:
    if "oneOf" in schema:
        return [type_of(each) for each in schema["oneOf"] if each.get("type") != "null"]
    if "type" not in schema:
        values = schema.get("enum", [schema["const"]] if "const" in schema else [])
        return [_TYPES[type(each)] for each in values] or ["any"]
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    items = schema.get("items", {}).get("type")
    return [_one(kind, schema.get("format"), items) for kind in kinds if kind != "null"]


def _one(kind: str, form: str | None, items: Any) -> str:
    if kind == "array" and isinstance(items, str):
        return f"array of {items}s"
    return f"{kind} ({form})" if kind == "string" and form in _FORMATS else kind


def _may_be_null(schema: dict[str, Any]) -> bool:
    return "null" in schema.get("type", ()) or any(each.get("type") == "null" for each in schema.get("oneOf", ()))


def words_of(schema: dict[str, Any]) -> str:
    """Return the description of a schema, with what it says of values in sentences; code is in backticks."""
    said = schema.get("description", "")
    values = [*_values(schema), *_values(schema.get("items", {}))]
    return " ".join(filter(None, (said, *_choice(values, said), *_limits(schema))))


def _choice(values: list[str], said: str) -> Iterator[str]:
    # The description may explain each of them.
    if not all(re.search(rf"(?<![\w-]){re.escape(each.strip('`'))}(?![\w-])", said) for each in values):
        yield f"One of {listed(values, 'or', quoted=True)}." if len(values) > 1 else f"Only {values[0]}."


def _limits(schema: dict[str, Any]) -> Iterator[str]:
    least, most = schema.get("minimum"), schema.get("maximum")
    if most is not None:
        yield f"From {least} to {most}." if least is not None else f"At most {most}."
    elif least:
        yield f"At least {least}."
    if "maxLength" in schema and schema.get("format") not in _FORMATS:
        yield f"At most {schema['maxLength']} characters."
    if "maxItems" in schema and "prefixItems" not in schema:
        yield f"At most {schema['maxItems']} entries."
    if "default" in schema:
        yield f"Default: `{json.dumps(schema['default'])}`."


def _values(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the only values that a schema allows, as code."""
    for value in schema.get("enum", [schema["const"]] if "const" in schema else []):
        yield f"`{value if isinstance(value, str) else json.dumps(value)}`"
    if "pattern" in schema:
        yield f"text like `{schema['pattern']}`"
    for each in schema.get("anyOf", ()):
        yield from _values(each)


def listed(names: Iterable[str], word: str = "and", *, quoted: bool = False) -> str:
    """Return the names as a list in words, each of them as code."""
    *most, last = (name if quoted else f"`{name}`" for name in names)
    return f"{', '.join(most)} {word} {last}" if most else last


def beginning(pattern: str) -> str:
    """Return the text with which all names that fit a pattern begin."""
    return re.sub(r"^\^?([\w:-]*).*", r"\1", pattern)
