"""Steps in bodies: of deploy templates, runbooks and requests for provision states."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from marshmallow import ValidationError, fields

from baremetal_sched.baremetal.steps import STEP_INTERFACES
from baremetal_sched.documents.schema import Choice, JsonObject, StrictSchema, Text, shown

#: Most steps in one list. A conductor does them one after the other, with the node reserved.
MOST_STEPS = 1000
#: As many as fit into an integer of the databases.
_MOST_DIGITS = 9


class Count(fields.Field[int]):
    """A non-negative integer, or one in digits."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValidationError(f"{shown(value)} is not of type 'integer', 'string'")
        if isinstance(value, int) and value < 0:
            raise ValidationError(f"{value} is less than the minimum of 0")
        if isinstance(value, str) and not (value.isascii() and value.isdecimal() and len(value) <= _MOST_DIGITS):
            raise ValidationError(f"{value!r} does not match '^[0-9]+$', or has more than {_MOST_DIGITS} digits")
        return int(value)


class Args(JsonObject):
    """The arguments of a step: an object, not null."""

    def deserialize(self, value: Any, attr: str | None = None, data: Any = None, **kwargs: Any) -> Any:
        if value is None:
            raise ValidationError("None is not of type 'object'")
        return super().deserialize(value, attr, data, **kwargs)


class _Step(StrictSchema):
    interface = Choice(STEP_INTERFACES, required=True)
    step = Text(shortest=1, required=True)


class DeployStep(_Step):
    """A step of a deploy template."""

    args = Args(required=True)
    priority = Count(required=True)


class RunbookStep(_Step):
    """A step of a runbook."""

    args = Args(load_default=dict)
    order = Count(required=True)


class Steps(fields.Field[list[Any]]):
    """Some steps, at least one, each interface and step once. ``of`` is what they belong to, for complaints."""

    def __init__(self, step: type[StrictSchema], of: str, kind: str, **options: Any) -> None:
        super().__init__(**options)
        self._steps = fields.List(fields.Nested(step))
        self._of, self._kind = of, kind

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValidationError(f"{shown(value)} is not of type 'array'")
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
