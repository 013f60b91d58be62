"""Bodies of requests about runbooks and deploy templates, and their steps."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from marshmallow import Schema, ValidationError, fields

from baremetal_sched.baremetal.identifiers import is_logical_name
from baremetal_sched.baremetal.schemas.traits import TraitName
from baremetal_sched.documents.schema import Choice, Flag, JsonObject, Parent, StrictSchema, Text, Uuid, excerpt
from baremetal_sched.machines.interface_types import STEP_INTERFACES

#: Most steps in one list. A conductor does them one after the other, with the node reserved.
MOST_STEPS = 1000
#: Maximum digits of a number that the databases' integers can hold.
_MOST_DIGITS = 9
_INTEGER = {"type": "integer", "minimum": 0}


class Count(fields.Field[int]):
    """A non-negative integer, or one in digits."""

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValidationError(f"{excerpt(value)} is not of type 'integer', 'string'")
        if isinstance(value, int) and value < 0:
            raise ValidationError(f"{value} is less than the minimum of 0")
        if isinstance(value, str) and not (value.isascii() and value.isdecimal() and len(value) <= _MOST_DIGITS):
            raise ValidationError(f"{value!r} does not match '^[0-9]+$', or has more than {_MOST_DIGITS} digits")
        return int(value)


class Args(JsonObject):
    """The arguments of a step: an object, not null."""

    def deserialize(self, value: object, attr: str | None = None, data: Parent = None, **kwargs: object) -> Any:
        if value is None:
            raise ValidationError("None is not of type 'object'")
        return super().deserialize(value, attr, data, **kwargs)


class _Part(NamedTuple):
    """A member of a step: as a field of our schemas, and as JSON Schema, whose messages other requests have."""

    field: Callable[..., fields.Field[Any]]
    json_schema: Mapping[str, Any]


_PARTS = {
    "interface": _Part(partial(Choice, STEP_INTERFACES), {"enum": list(STEP_INTERFACES)}),
    "step": _Part(partial(Text, shortest=1), {"type": "string", "minLength": 1}),
    "args": _Part(Args, {"type": "object"}),
    "order": _Part(Count, _INTEGER),
    "priority": _Part(
        Count,
        {"anyOf": [_INTEGER, {"type": "string", "minLength": 1, "maxLength": _MOST_DIGITS, "pattern": r"^[0-9]+\Z"}]},
    ),
}


@dataclass(frozen=True)
class StepShape:
    """The members of a step: the ``required`` ones, and the ``optional`` ones with their defaults."""

    required: Sequence[str]
    optional: Mapping[str, Any] = field(default_factory=dict)

    def schema(self) -> type[Schema]:
        """Return the schema of one step."""
        members = {name: part.field(**self._presence(name)) for name, part in self._parts().items()}
        return StrictSchema.from_dict(members)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a list of steps."""
        return {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {name: part.json_schema for name, part in self._parts().items()},
                "required": list(self.required),
                "additionalProperties": False,
            },
        }

    def _parts(self) -> dict[str, _Part]:
        """Return the members in the order of the table, which decides the mistake that is reported first."""
        return {name: part for name, part in _PARTS.items() if name in self.required or name in self.optional}

    def _presence(self, name: str) -> dict[str, Any]:
        return {"required": True} if name in self.required else {"load_default": self.optional[name]}


#: Steps in requests for cleaning and servicing, in requests for deploying and in deploy templates, and in runbooks.
CLEAN_STEP = StepShape(("interface", "step"), {"args": dict, "order": None})
DEPLOY_STEP = StepShape(("interface", "step", "args", "priority"))
RUNBOOK_STEP = StepShape(("interface", "step", "order"), {"args": dict})


class Steps(fields.Field[list[Any]]):
    """A list of at least one step, without duplicates. ``of`` is what they belong to, for messages."""

    def __init__(self, step: StepShape, of: str, kind: str, **options: Any) -> None:
        super().__init__(**options)
        self._steps = fields.List(fields.Nested(step.schema()))
        self._of, self._kind = of, kind

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> list[Any]:
        if not isinstance(value, list):
            raise ValidationError(f"{excerpt(value)} is not of type 'array'")
        if not value:
            raise ValidationError("[] should be non-empty")
        if len(value) > MOST_STEPS:
            raise ValidationError(f"{len(value)} steps are too many: {MOST_STEPS} are allowed")
        steps: list[Any] = self._steps.deserialize(value, attr, data, **kwargs)
        self._refuse_repeats(steps)
        return steps

    def _refuse_repeats(self, steps: Sequence[Mapping[str, Any]]) -> None:
        counts = Counter((step["interface"], step["step"]) for step in steps)
        repeated = [f"interface: {interface}, step: {step}" for (interface, step), count in counts.items() if count > 1]
        if repeated:
            raise ValidationError(
                f"Duplicate {self._kind} steps. A {self._of} cannot have multiple {self._kind} steps with the same "
                f"interface and step. Duplicates: {'; '.join(repeated)}."
            )


class _Name(Text):
    """A name that can stand in a path."""

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> str:
        name = super()._deserialize(value, attr, data, **kwargs)
        if not is_logical_name(name):
            raise ValidationError(
                f"{name!r} does not match '^[A-Za-z0-9\\-._~]+$', has more than 255 characters or is a UUID"
            )
        return name


class _Runbook1x92(StrictSchema):
    """Before 1.112: the name is a trait, and there is no description."""

    name: fields.Field[str] = TraitName(required=True)
    steps = Steps(RUNBOOK_STEP, "runbook", "runbook", required=True)
    disable_ramdisk = Flag(allow_none=True)
    extra = JsonObject()
    public = Flag(allow_none=True)
    owner = Text(longest=255, allow_none=True)


class _RunbookUpdate(_Runbook1x92):
    """A runbook since 1.112: its name is free."""

    name = _Name(required=True)
    description = Text(longest=255, allow_none=True)


class _RunbookCreate1x92(_Runbook1x92):
    uuid = Uuid(allow_none=True)


class _RunbookCreate(_RunbookUpdate):
    uuid = Uuid(allow_none=True)


RUNBOOK_CREATE = _RunbookCreate()
RUNBOOK_CREATE_1_92 = _RunbookCreate1x92()
RUNBOOK_UPDATE = _RunbookUpdate()


class _TemplateUpdate(StrictSchema):
    """A deploy template as a PATCH leaves it."""

    name = TraitName(required=True)
    steps = Steps(DEPLOY_STEP, "template", "deploy", required=True)
    description = Text(longest=255, allow_none=True)
    extra = JsonObject()


class _TemplateCreate(_TemplateUpdate):
    """A new deploy template."""

    uuid = Uuid(allow_none=True)


TEMPLATE_CREATE = _TemplateCreate()
TEMPLATE_UPDATE = _TemplateUpdate()
