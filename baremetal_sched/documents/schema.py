"""Checks of documents: the base of all marshmallow schemas (strict types, no unknown input, and messages that name the
first error), and JSON Schema with the messages of jsonschema.

That library is imported with the first document that it checks: few requests need it, and it takes as long to import as
Flask.
"""

import base64
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from marshmallow import RAISE, Schema, ValidationError, fields
from oslo_utils import strutils

from baremetal_sched.errors import InvalidValue

if TYPE_CHECKING:
    import jsonschema

_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.IGNORECASE)


def canonical_uuid(text: str) -> str | None:
    """Return ``text`` as a UUID in lower case with dashes; None if it is not one. Dashes may be missing, and letters
    may be of any case."""
    try:
        canonical = str(uuid.UUID(text))
    except (ValueError, AttributeError):
        return None
    return canonical if text.lower().replace("-", "") == canonical.replace("-", "") else None


#: Maximum number of characters of a UUID in any notation.
_LONGEST_UUID = 64


def is_tolerant_uuid(value: object) -> bool:
    """Return whether the value is a UUID, ignoring dashes, braces and letter case, that the database can store as it
    is."""
    if not isinstance(value, str):
        return True
    if len(value) > _LONGEST_UUID:
        return False
    text = value.replace("urn:", "").replace("uuid:", "").strip("{}").replace("-", "").lower()
    try:
        return uuid.UUID(value).hex == text
    except ValueError:
        return False


def uuid_of(text: str, otherwise: Exception) -> str:
    """Return ``text`` as ``canonical_uuid`` does. Raises ``otherwise`` if it is not a UUID."""
    canonical = canonical_uuid(text)
    if canonical is None:
        raise otherwise
    return canonical


def canonical_mac(text: str) -> str | None:
    """Return ``text`` as a MAC address in lower case, or None if it is not a MAC address."""
    return text.lower() if _MAC.fullmatch(text) else None


#: Maximum number of characters of a value in messages.
_MOST_SHOWN = 200
_ACCEPTABLE = ", ".join(repr(word) for word in sorted(strutils.TRUE_STRINGS + strutils.FALSE_STRINGS))


class StrictSchema(Schema):
    """A schema that refuses unknown members."""

    class Meta:
        unknown = RAISE

    error_messages = {
        "unknown": "Additional properties are not allowed",
        "type": "is not of type 'object'",
    }


def load(schema: Schema, body: Any, argument: str) -> dict[str, Any]:
    """Return ``body`` validated and converted. Raises InvalidValue ("Schema error for <argument>: …")."""
    try:
        loaded: dict[str, Any] = schema.load(body)
    except ValidationError as error:
        raise InvalidValue(message=f"Schema error for {argument}: {describe(error.messages)}") from None
    return loaded


def excerpt(value: object) -> str:
    """Return ``value`` for a message: shortened, and without the contents of objects and arrays, which may be
    secret."""
    if value and isinstance(value, dict | list):
        return "{...}" if isinstance(value, dict) else "[...]"
    text = value if isinstance(value, str) and len(value) <= _MOST_SHOWN else str(value)[:_MOST_SHOWN]
    return repr(text if isinstance(value, str) else value)


def describe(messages: object, path: str = "") -> str:
    """Return marshmallow's errors as one sentence: the first field, with its path."""
    if isinstance(messages, Mapping):
        key, value = next(iter(messages.items()))
        return describe(value, path if key == "_schema" else f"{path}.{key}" if path else str(key))
    text = messages[0] if isinstance(messages, list) else messages
    return f"'{path}': {text}" if path else str(text)


def decode_base64(text: str) -> bytes:
    """Return the bytes that ``text`` encodes. Line breaks and blanks are left out, as programs wrap long texts.

    Raises ValueError at any other character that is not base64.
    """
    return base64.b64decode("".join(text.split()), validate=True)


def parse_flag(name: str, value: object) -> bool:
    """Return a boolean from a boolean or a word for one. Raises InvalidValue with the accepted words."""
    flag: bool | None = strutils.bool_from_string(value, default=None)
    if flag is None:
        text = str(value)[:_MOST_SHOWN]
        raise InvalidValue(message=f"Invalid {name}: Unrecognized value '{text}', acceptable values are: {_ACCEPTABLE}")
    return flag


#: The document that the value of a field is in.
Parent = Mapping[str, object] | None


class Text(fields.Field[str]):
    """A string of ``shortest`` to ``longest`` characters, and at most ``most_bytes`` in UTF-8."""

    def __init__(
        self,
        *,
        longest: int | None = None,
        shortest: int | None = None,
        most_bytes: int | None = None,
        **options: Any,
    ) -> None:
        def check(text: str) -> None:
            if shortest is not None and len(text) < shortest:
                raise ValidationError(f"{excerpt(text)} is too short: {shortest} characters are needed")
            if longest is not None and len(text) > longest:
                raise ValidationError(f"{excerpt(text)} is too long: {longest} characters are allowed")
            if most_bytes is not None and len(text.encode(errors="surrogatepass")) > most_bytes:
                raise ValidationError(f"{excerpt(text)} is too long: {most_bytes} bytes in UTF-8 are allowed")

        super().__init__(validate=check, **options)

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> str:
        if not isinstance(value, str):
            raise ValidationError(f"{excerpt(value)} is not of type 'string'")
        return value


class Choice(Text):
    """One of several words."""

    def __init__(self, words: Sequence[str], **options: Any) -> None:
        super().__init__(**options)
        self._words = list(words)

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> str:
        word = super()._deserialize(value, attr, data, **kwargs)
        if word not in self._words:
            raise ValidationError(f"{word!r} is not one of {self._words}")
        return word


class JsonObject(fields.Field[dict[str, object]]):
    """Any JSON object. null means an empty one."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_none=True, **options)

    def deserialize(
        self, value: object, attr: str | None = None, data: Parent = None, **kwargs: object
    ) -> dict[str, object]:
        return super().deserialize({} if value is None else value, attr, data, **kwargs)

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> dict[str, object]:
        if not isinstance(value, dict):
            raise ValidationError(f"{excerpt(value)} is not of type 'object', 'null'")
        return value


class Flag(fields.Field[bool]):
    """A boolean, or a word for one."""

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> bool:
        if not isinstance(value, bool | str):
            raise ValidationError(f"{excerpt(value)} is not of type 'boolean'")
        try:
            return parse_flag(attr or "value", value)
        except InvalidValue as error:
            raise ValidationError(str(error)) from None


class Uuid(fields.Field[str]):
    """A UUID; becomes lower case with dashes."""

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> str:
        if not isinstance(value, str):
            raise ValidationError(f"{excerpt(value)} is not of type 'string', 'null'")
        canonical = canonical_uuid(value)
        if canonical is None:
            raise ValidationError(f"Expected UUID for {attr}: {value}")
        return canonical


class Whole(fields.Field[int]):
    """An integer within the range of the databases' columns; booleans are rejected."""

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValidationError(f"{excerpt(value)} is not of type 'integer'")
        if not -(2**31) <= value < 2**31:
            raise ValidationError(f"{value} is out of range")
        return value


# -- JSON Schema -------------------------------------------------------------------------------------------------------

#: A JSON schema as it is written.
SchemaDict = Mapping[str, object]


class JsonSchema:
    """A JSON schema, draft 2020-12.

    ``formats``: the checks of the formats that it names. A check returns whether a value fits, or raises ValueError.
    """

    def __init__(self, schema: SchemaDict, formats: Mapping[str, Callable[[object], bool]] | None = None) -> None:
        self._schema = schema
        self._formats = formats or {}

    def error(self, document: object) -> "jsonschema.ValidationError | None":
        """Return the error that explains best why the document does not fit; None if it fits."""
        from jsonschema.exceptions import best_match  # see above

        found: jsonschema.ValidationError | None = best_match(self._validator.iter_errors(document))
        return found

    @cached_property
    def _validator(self) -> "jsonschema.Draft202012Validator":
        from jsonschema import Draft202012Validator, FormatChecker  # see above

        checker = FormatChecker(formats=())
        for name, check in self._formats.items():
            checker.checks(name, raises=ValueError)(check)
        return Draft202012Validator(self._schema, format_checker=checker)
