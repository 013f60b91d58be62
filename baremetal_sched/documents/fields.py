"""Tables of fields: the first microversion of each field of a resource, and who may set it.

Each resource has one table, from which its schema, its views, the rules of PATCH and the API reference are derived.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from enum import Enum
from typing import Any

from marshmallow import Schema

from baremetal_sched.db.sealing import Unreadable
from baremetal_sched.db.types import dump_json
from baremetal_sched.documents import patch
from baremetal_sched.documents.schema import load


class FieldKind(Enum):
    """How a field is stored and shown."""

    TEXT = "a column, shown as it is"
    JSON = "a column with a JSON object, passed through"
    ARRAY = "a column with a JSON array, passed through"
    MASKED = "a column with a JSON object that has masked values"
    STEPS = "a column with a JSON array of steps that have masked arguments"
    TIME = "a column with a time stamp"
    LINKS = "links to a sub-resource, or to the thing itself"
    NESTED_LINKS = "links to a sub-resource, within a list of their own"
    COMPUTED = "worked out by the view"
    HIDDEN = "a column that is never shown"


@dataclass(frozen=True)
class Field:
    """A field. ``since`` is the minor part of the first microversion that shows it.

    ``post`` and ``patch``: whether a client may set it on creation, and change it. ``default`` is its value after
    removal. ``selectable``: whether ``?fields=`` may name it.
    """

    name: str
    since: int = 1
    kind: FieldKind = FieldKind.TEXT
    post: bool = False
    patch: bool = False
    default: object = None
    selectable: bool = True


class Fields(dict[str, Field]):
    """The fields of a resource by name, in the order in which they are shown."""

    def __init__(self, *fields: Field) -> None:
        super().__init__((field.name, field) for field in fields)
        #: Names of the fields that a PATCH may change.
        self.patchable = tuple(sorted(field.name for field in fields if field.patch))
        #: Values of these fields after their removal.
        self.defaults = {name: self[name].default for name in self.patchable}
        self._visible: dict[int, tuple[str, ...]] = {}

    def visible(self, version: int) -> tuple[str, ...]:
        """Return the names of the fields that microversion 1.``version`` shows."""
        known = self._visible.get(version)
        if known is None:
            fields = (field for field in self.values() if field.since <= version and field.kind is not FieldKind.HIDDEN)
            known = self._visible[version] = tuple(field.name for field in fields)
        return known

    def values_of(self, entity: Any, **computed: Any) -> dict[str, Any]:
        """Return the patchable fields of ``entity`` as a document to patch; ``computed`` has those without a column."""
        return self.defaulted(
            {name: computed[name] if name in computed else getattr(entity, name) for name in self.patchable}
        )

    def defaulted(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values of patchable fields, with the default for null."""
        return {name: deepcopy(self.defaults[name]) if value is None else value for name, value in values.items()}

    def patched(self, before: Mapping[str, Any], operations: patch.Patch, schema: Schema) -> dict[str, Any]:
        """Return the document ``before`` with the patch applied, as ``schema`` loads it; null means the default.

        Raises InvalidValue; EvaluatedAhead if only the result was wanted, which is then cached; SecretsUnreadable,
        unless the patch replaces the document that cannot be decrypted.
        """
        replaced = {operation["path"] for operation in operations if operation["op"] != "test"}
        known = {
            name: {} if isinstance(value, Unreadable) and f"/{name}" in replaced else value
            for name, value in before.items()
        }
        _require_readable(known)
        return operations.result_of(
            known, lambda: self.loaded(patch.apply(known, operations, self.defaults), schema, "patch")
        )

    def loaded(self, document: Mapping[str, Any], schema: Schema, argument: str) -> dict[str, Any]:
        """Return the document as ``schema`` loads it; null means the default.

        Raises InvalidValue, naming ``argument``; SecretsUnreadable.
        """
        _require_readable(document)
        return self.defaulted(load(schema, document, argument))

    def changes(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields whose values differ. Unlike in Python, 1 and True are different values, as in JSON."""
        return {
            name: after[name]
            for name in self.patchable
            # Parts that a patch does not change are shared, and need no comparison.
            if name in after and after[name] is not before[name] and _differs(before[name], after[name])
        }


def _differs(before: Any, after: Any) -> bool:
    return isinstance(before, Unreadable) or dump_json(after) != dump_json(before)


def _require_readable(document: Mapping[str, Any]) -> None:
    for value in document.values():
        if isinstance(value, Unreadable):
            value.refuse()


#: Fields of every resource.
COMMON = (
    Field("created_at", kind=FieldKind.TIME),
    Field("updated_at", kind=FieldKind.TIME),
    Field("links", kind=FieldKind.LINKS),
)
