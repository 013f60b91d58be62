"""JSON Schema with the messages of jsonschema. The library is imported with the first document that is checked: few
requests need it, and it takes as long to import as Flask."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

#: A JSON schema as it is written.
SchemaDict = Mapping[str, object]


class JsonSchema:
    """A JSON schema, draft 2020-12.

    ``formats``: the checks of the formats that it names. A check returns whether a value fits, or raises ValueError.
    """

    def __init__(self, schema: SchemaDict, formats: Mapping[str, Callable[[object], bool]] | None = None) -> None:
        self._schema = schema
        self._formats = formats or {}

    def error(self, document: object) -> "ValidationError | None":
        """Return the error that explains best why the document does not fit; None if it fits."""
        from jsonschema.exceptions import best_match  # see above

        found: ValidationError | None = best_match(self._validator.iter_errors(document))
        return found

    @cached_property
    def _validator(self) -> "Draft202012Validator":
        from jsonschema import Draft202012Validator, FormatChecker  # see above

        checker = FormatChecker(formats=())
        for name, check in self._formats.items():
            checker.checks(name, raises=ValueError)(check)
        return Draft202012Validator(self._schema, format_checker=checker)
