"""Bodies of requests about allocations."""

from collections.abc import Sequence
from dataclasses import dataclass

from marshmallow import ValidationError, fields

from baremetal_sched.baremetal.identifiers import is_logical_name
from baremetal_sched.baremetal.schemas.traits import complaint_about
from baremetal_sched.documents.schema import JsonObject, Parent, StrictSchema, Text, Uuid, canonical_uuid, excerpt

#: No node has as many traits; each is looked for in every node that might do.
MOST_TRAITS = 500


_FORBIDDEN = "!"
_ANY_OF = "in:"


@dataclass(frozen=True)
class TraitEntry:
    """An entry of an allocation's traits: ``A`` (required), ``!A`` (forbidden) or ``in:A,B`` (at least one is
    required)."""

    text: str

    @property
    def forbidden(self) -> bool:
        """Return whether the trait is forbidden."""
        return self.text.startswith(_FORBIDDEN)

    @property
    def names(self) -> list[str]:
        """Return the traits that the entry names, whatever its kind."""
        if self.text.startswith(_ANY_OF):
            return [name.strip() for name in self.text.removeprefix(_ANY_OF).split(",")]
        return [self.text.removeprefix(_FORBIDDEN)]

    def granted(self, traits: Sequence[str]) -> list[str]:
        """Return the node's ``traits`` that satisfy the entry: none if it forbids, one if any of several is enough."""
        return [] if self.forbidden else [name for name in self.names if name in traits][:1]

    def fits(self, traits: Sequence[str]) -> bool:
        """Return whether a node with ``traits`` satisfies the entry."""
        return any(name in traits for name in self.names) is not self.forbidden


class _TextList(fields.Field[list[str]]):
    """A list of strings."""

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> list[str]:
        if not isinstance(value, list):
            raise ValidationError(f"{excerpt(value)} is not of type 'array', 'null'")
        for item in value:
            if not isinstance(item, str):
                raise ValidationError(f"{excerpt(item)} is not of type 'string'")
            self.check(item)
        return list(dict.fromkeys(value))

    def check(self, item: str) -> None:
        """Raise ValidationError unless ``item`` may be in the list."""


class _TraitEntries(_TextList):
    """Traits, ``!`` and a trait, or ``in:`` and several traits."""

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> list[str]:
        entries = super()._deserialize(value, attr, data, **kwargs)
        if len(entries) > MOST_TRAITS:
            raise ValidationError(f"{len(entries)} traits are too many: {MOST_TRAITS} are allowed")
        return entries

    def check(self, item: str) -> None:
        for name in TraitEntry(item).names:
            complaint = complaint_about(name)
            if complaint is not None:
                raise ValidationError(complaint)


class _NodeIdents(_TextList):
    """UUIDs and names of nodes."""

    def check(self, item: str) -> None:
        if canonical_uuid(item) is None and not is_logical_name(item):
            raise ValidationError(
                f"'{item}' is not valid under any of the given schemas. Possible root cause: '{item}' is not a 'uuid'"
            )


class _AllocationUpdate(StrictSchema):
    """The fields of an allocation that a PATCH may change."""

    name = Text(allow_none=True)
    extra = JsonObject()


class _AllocationCreate(_AllocationUpdate):
    """A new allocation; with ``node``, of a node that is active already."""

    uuid = Uuid(allow_none=True)
    resource_class = Text(longest=80, allow_none=True)
    traits = _TraitEntries(allow_none=True)
    candidate_nodes = _NodeIdents(allow_none=True)
    owner = Text(longest=255, allow_none=True)
    node = Text(allow_none=True)


ALLOCATION_CREATE = _AllocationCreate()
ALLOCATION_UPDATE = _AllocationUpdate()
