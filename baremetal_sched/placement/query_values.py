"""Query strings: their schemas by microversion, and values that several lists share (resources, traits, aggregates).

Only the last value of a repeated parameter is checked against a schema. The error messages are Placement's; clients and
its test suite depend on them.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from uuid import UUID

from baremetal_sched.documents.schema import SchemaDict, is_tolerant_uuid
from baremetal_sched.errors.placement import BadQuery
from baremetal_sched.placement.schemas.common import IDENTIFIER, closed

FORBIDDEN_TRAITS_SINCE = 22
MEMBER_OF_REPEATED_SINCE = 24
FORBIDDEN_AGGREGATES_SINCE = 32
ANY_TRAITS_SINCE = 39

PREFIX = "Invalid query string parameters: "


@dataclass
class TraitConditions:
    """``required``: a provider needs one trait of each set; ``forbidden``: traits it must not have."""

    required: list[frozenset[str]] = field(default_factory=list)
    forbidden: set[str] = field(default_factory=set)

    def names(self) -> set[str]:
        """Return all mentioned traits."""
        return self.forbidden.union(*self.required)

    def among(self, known: Container[str]) -> "TraitConditions":
        """Return the same conditions if only ``known`` traits exist. Where all that are accepted are unknown, they
        stay."""
        required = [frozenset(filter(known.__contains__, names)) or names for names in self.required]
        return TraitConditions(required, {name for name in self.forbidden if name in known})

    def contradictions(self) -> set[str]:
        """Return the traits that are both required and forbidden, so that no provider matches."""
        return {trait for wanted in self.required if wanted <= self.forbidden for trait in wanted}


@dataclass
class AggregateConditions:
    """``member_of``: a provider must be in one aggregate of each set; ``forbidden``: aggregates it must not be in."""

    member_of: list[frozenset[str]] = field(default_factory=list)
    forbidden: set[str] = field(default_factory=set)


def parse_resources(text: str) -> dict[str, int]:
    """Return the amounts by class of ``RC:n,RC:n``. Raises BadQuery."""
    form = (
        "Badly formed resources parameter. Expected resources query string parameter in form: "
        "?resources=VCPU:2,MEMORY_MB:1024. Got: "
    )
    if not text.strip():
        raise BadQuery(message=f"{form}empty string.")
    amounts = {}
    for item in text.split(","):
        if item.count(":") != 1:
            raise BadQuery(message=f"{form}{item}.")
        name, number = item.split(":")
        try:
            amount = int(number)
        except ValueError:
            raise BadQuery(
                message=f"Requested resource {name} expected positive integer amount. Got: {number}."
            ) from None
        if amount < 1:
            raise BadQuery(message=f"Requested resource {name} requires amount >= 1. Got: {amount}.")
        amounts[name] = amount
    return amounts


def parse_required(values: Sequence[str], version: int) -> TraitConditions:
    """Return all values of a ``required`` parameter. Below 1.39 only the last counts. Raises BadQuery."""
    conditions = TraitConditions()
    for text in values if version >= ANY_TRAITS_SINCE else values[-1:]:
        parse_traits(
            text,
            conditions,
            forbidden_allowed=version >= FORBIDDEN_TRAITS_SINCE,
            any_allowed=version >= ANY_TRAITS_SINCE,
        )
    return conditions


def parse_traits(text: str, conditions: TraitConditions, *, forbidden_allowed: bool, any_allowed: bool) -> None:
    """Add one value (``A,!B`` or ``in:A,B``) to ``conditions``. Raises BadQuery."""
    form = "HW_CPU_X86_VMX,!CUSTOM_MAGIC" if forbidden_allowed else "HW_CPU_X86_VMX,CUSTOM_MAGIC"
    expected = f"{PREFIX}Expected 'required' parameter value of the form: "
    if text.startswith("in:"):
        if not any_allowed:
            raise BadQuery(
                message=f"{PREFIX}The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' only supported since microversion 1.39. "
                f"Got: {text}"
            )
        wanted = [name.strip() for name in text.removeprefix("in:").split(",")]
        if not all(wanted):
            raise BadQuery(message=f"{expected}in:HW_CPU_X86_VMX,CUSTOM_MAGIC. Got an empty trait in: {text}")
        if any(name.startswith("!") for name in wanted):
            raise BadQuery(
                message=f"{PREFIX}The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' does not support forbidden traits. "
                f"Got: {text}"
            )
        conditions.required.append(frozenset(wanted))
        return
    for name in (item.strip() for item in text.split(",")):
        if not name.strip("!"):
            raise BadQuery(message=f"{expected}{form}. Got an empty trait in: {text}")
        if not name.startswith("!"):
            conditions.required.append(frozenset([name]))
        elif forbidden_allowed:
            conditions.forbidden.add(name.lstrip("!"))
        else:
            raise BadQuery(message=f"{expected}{form}. Got: {text}")


def parse_member_of(parameter: str, values: Sequence[str], version: int) -> AggregateConditions:
    """Return all values of a ``member_of`` parameter, which may have a suffix. Raises BadQuery."""
    if len(values) > 1 and version < MEMBER_OF_REPEATED_SINCE:
        raise BadQuery(message=f"Multiple {parameter} parameters are not supported")
    conditions = AggregateConditions()
    for text in values:
        forbidden = text.startswith("!")
        aggregates = _aggregates(text.removeprefix("!"), text)
        if forbidden and version < FORBIDDEN_AGGREGATES_SINCE:
            raise BadQuery(message=f"Forbidden {parameter} parameters are not supported in the specified microversion")
        if forbidden:
            conditions.forbidden.update(aggregates)
        else:
            conditions.member_of.append(frozenset(aggregates))
    return conditions


def _aggregates(text: str, given: str) -> list[str]:
    if text.startswith("in:"):
        aggregates = text.removeprefix("in:").split(",")
    elif "," in text:
        raise BadQuery(
            message="Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword using the valid "
            f"microversion. Got: {given}"
        )
    else:
        aggregates = [text]
    for aggregate in aggregates:
        if not is_tolerant_uuid(aggregate):
            raise BadQuery(message=f"{PREFIX}Expected 'member_of' parameter to contain valid UUID(s). Got: {aggregate}")
    # An aggregate has the spelling of the client that made it, or, after a move, the usual one.
    return [*dict.fromkeys((*aggregates, *(str(UUID(each)) for each in aggregates)))]


def all_values(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return all values of each parameter, in order."""
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return values


_TEXT: SchemaDict = {"type": "string"}
LIMIT = "^[1-9][0-9]*$"
GROUP_POLICIES = ("none", "isolate")
_LIMIT: SchemaDict = {"type": ["integer", "string"], "pattern": LIMIT, "minimum": 1, "minLength": 1}
_GROUP_POLICY: SchemaDict = {"type": "string", "enum": list(GROUP_POLICIES)}

#: Suffixes of request groups: numbers first, names from 1.33.
SUFFIX = {25: "[1-9][0-9]*", 33: "[a-zA-Z0-9_-]{1,64}"}

TRAITS_SCHEMA = closed({"name": _TEXT, "associated": _TEXT})


#: A consumer type, or a word for a group of types.
_CONSUMER_TYPE: SchemaDict = {
    "type": "string",
    "pattern": "^[A-Z0-9_]+$|^all|^unknown$",
    "minLength": 1,
    "maxLength": 255,
}
CONSUMER_TYPE_SINCE = 38


@cache
def usages_schema(version: int) -> dict[str, object]:
    """Return the schema of ``GET /usages``."""
    properties = {"project_id": IDENTIFIER, "user_id": IDENTIFIER}
    if version >= CONSUMER_TYPE_SINCE:
        properties["consumer_type"] = _CONSUMER_TYPE
    return closed(properties, ("project_id",))


@cache
def providers_schema(version: int) -> dict[str, object]:
    """Return the schema of ``GET /resource_providers``."""
    properties: dict[str, SchemaDict] = {"name": _TEXT, "uuid": {"type": "string", "format": "uuid"}}
    for name, since in (("member_of", 3), ("resources", 4), ("in_tree", 14), ("required", 18)):
        if version >= since:
            properties[name] = {"type": "string", "format": "uuid"} if name == "in_tree" else _TEXT
    return closed(properties)


@cache
def candidates_schema(version: int) -> dict[str, Any]:
    """Return the schema of ``GET /allocation_candidates``."""
    properties: dict[str, SchemaDict] = {"resources": _TEXT}
    if version < 25:
        for name, since, kind in (("limit", 16, _LIMIT), ("required", 17, _TEXT), ("member_of", 21, _TEXT)):
            if version >= since:
                properties[name] = kind
        return closed(properties, ("resources",))
    suffix = SUFFIX[33] if version >= 33 else SUFFIX[25]
    grouped = ["resources", "required", "member_of"] + (["in_tree"] if version >= 31 else [])
    properties = {"group_policy": _GROUP_POLICY, "limit": _LIMIT}
    for name, since in (("root_required", 35), ("same_subtree", 36)):
        if version >= since:
            properties[name] = _TEXT
    return {**closed(properties), "patternProperties": {f"^{name}({suffix})?$": _TEXT for name in grouped}}
