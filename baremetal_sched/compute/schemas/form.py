"""Checking documents against JSON schemas, with messages in the form that Nova's have."""

import unicodedata
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from baremetal_sched.documents.schema import JsonSchema, SchemaDict, canonical_uuid, excerpt
from baremetal_sched.errors import InvalidValue
from baremetal_sched.masking import mask
from baremetal_sched.options.kinds import LEVEL

if TYPE_CHECKING:
    from jsonschema import ValidationError

#: The largest integer that a column holds.
LARGEST_INTEGER = 2**31 - 1

_TRUE = (True, "True", "TRUE", "true", "1", "ON", "On", "on", "YES", "Yes", "yes", "y", "t")
_FALSE = (False, "False", "FALSE", "false", "0", "OFF", "Off", "off", "NO", "No", "no", "n", "f")


def is_name(value: object) -> bool:
    """Return whether the text can be a name: printable characters, without a blank at either end."""
    return not isinstance(value, str) or (value == value.strip() and all(map(_is_printable, value)))


def is_description(value: object) -> bool:
    """Return whether the text can be a description: printable characters and white space."""
    return not isinstance(value, str) or all(each.isspace() or _is_printable(each) for each in value)


def _is_printable(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] not in "CZ" or category == "Zs"


def _is_address(version: int, value: object) -> bool:
    """Return whether the text is an address of this version of IP, without a zone, which may be of any length."""
    if not isinstance(value, str):
        return True
    try:
        return ip_address(value).version == version and "%" not in value
    except ValueError:
        return False


def is_uuid(value: object) -> bool:
    """Return whether the text is a UUID."""
    return not isinstance(value, str) or canonical_uuid(value) is not None


FORMATS: Mapping[str, Callable[[object], bool]] = {
    "name": is_name,
    "description": is_description,
    "ipv4": partial(_is_address, 4),
    "ipv6": partial(_is_address, 6),
    "uuid": is_uuid,
    # Times are read by those who need them, whose messages say what a time is.
    "date-time": lambda value: True,
}

# -- parts of schemas --------------------------------------------------------------------------------------------------

NAME: SchemaDict = {"type": "string", "minLength": 1, "maxLength": 255, "format": "name"}
PROJECT_ID: SchemaDict = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[a-zA-Z0-9-]*$"}
#: A boolean, or a word for one: see ``to_boolean``.
BOOLEAN: SchemaDict = {"type": ["boolean", "string"], "enum": [*_TRUE, *_FALSE]}


def whole_number(minimum: int) -> dict[str, object]:
    """Return the schema of an integer, or of the digits of one: see ``to_integer``."""
    return {
        "type": ["integer", "string"],
        "pattern": "^[0-9]+$",
        "maxLength": 20,
        "minimum": minimum,
        "maximum": LARGEST_INTEGER,
    }


def closed(properties: SchemaDict, *required: str) -> dict[str, object]:
    """Return the schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


# -- values ------------------------------------------------------------------------------------------------------------


def to_boolean(value: bool | str) -> bool:
    """Return the boolean that a value of ``BOOLEAN`` means."""
    return value in _TRUE


def to_integer(name: str, value: int | str, minimum: int = 0) -> int:
    """Return a value of ``whole_number`` as an integer. Raises InvalidValue for digits of a number out of range."""
    number = int(value)
    if not minimum <= number <= LARGEST_INTEGER:
        raise InvalidValue(
            message=f"Invalid input for field/attribute {name}. Value: {value}. "
            f"It must be an integer from {minimum} to {LARGEST_INTEGER}."
        )
    return number


class Form:
    """A JSON schema that documents are checked against."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = dict(schema)
        self._explaining = JsonSchema(schema, FORMATS)

    def check(self, document: object) -> None:
        """Raise InvalidValue if the document does not fit the schema; the message names the member."""
        if self._quick.is_valid(document):
            return
        raise InvalidValue(message=_message(self._explaining.error(document)))

    @cached_property
    def _quick(self) -> Any:
        return jsonschema_rs.Draft202012Validator(self.schema, formats=dict(FORMATS), validate_formats=True)


#: What the message says of a pattern that is our own.
_WORDS = {LEVEL: "It must be a word in lower case, such as rack: a letter, then letters, digits, _ and -."}


def _message(error: "ValidationError | None") -> str:
    if error is None:
        # To Python a dollar in a pattern matches before a newline at the end as well.
        return "Invalid input: a text ends in a newline, which it must not."
    path = [str(part) for part in error.absolute_path]
    name = path[-1] if path else ""
    value = mask({name: error.instance})[name]
    text = _WORDS.get(str(error.validator_value)) or error.message.replace(repr(error.instance), excerpt(value))
    if not path:
        return f"Invalid input received: {text}"
    suffix = f" Value: {value}." if isinstance(value, str | int | float | bool) and len(str(value)) <= 200 else ""
    return f"Invalid input for field/attribute {'.'.join(path)}.{suffix} {text}"
