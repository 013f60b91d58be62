"""Bodies of requests about traits."""

from typing import Any

from marshmallow import ValidationError, fields

from baremetal_sched.baremetal.identifiers import is_trait
from baremetal_sched.baremetal.nodes import traits
from baremetal_sched.errors import InvalidValue
from baremetal_sched.placement.names import NAME_LENGTH

_USAGE = (
    "A single {of} trait may be added via PUT /v1/{of}s/<{of} identifier>/traits/<trait> with no body, or all {of} "
    "traits may be replaced via PUT /v1/{of}s/<{of} identifier>/traits with the list specified in the request body: "
    '{{"traits": ["CUSTOM_A", …]}}.'
)


def check_trait(name: Any, argument: str) -> str:
    """``name`` if it is a trait; else raises InvalidValue saying what is wrong with it."""
    complaint = complaint_about(name)
    if complaint is not None:
        raise _refused(argument, complaint)
    checked: str = name
    return checked


def complaint_about(name: Any) -> str | None:
    """What keeps ``name`` from being a trait; None if nothing does."""
    if not isinstance(name, str):
        return f"{name!r} is not of type 'string'"
    if not name:
        return "'' should be non-empty"
    if len(name) > NAME_LENGTH:
        return f"'{name}' is too long"
    if not is_trait(name):
        return traits.complaint(name)
    return None


class TraitName(fields.Field[str]):
    """A trait."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        complaint = complaint_about(value)
        if complaint is not None:
            raise ValidationError(complaint)
        name: str = value
        return name


def load_traits(body: Any, of: str) -> list[str]:
    """The traits of ``{"traits": […]}``, for a thing of the kind ``of``. Raises InvalidValue for anything else."""
    _require_object(body)
    if not body:
        raise InvalidValue(message=_USAGE.format(of=of))
    _refuse_others(body)
    traits = body["traits"]
    if not isinstance(traits, list):
        raise _refused("body", f"{traits!r} is not of type 'array'")
    return [check_trait(trait, "body") for trait in traits]


def refuse_traits(body: Any, of: str) -> None:
    """Adding one trait takes no body: raise InvalidValue unless it is missing, ``{}`` or null."""
    if body is None:
        return
    _require_object(body)
    if body:
        _refuse_others(body)
        raise InvalidValue(message=_USAGE.format(of=of))


def _require_object(body: Any) -> None:
    if not isinstance(body, dict):
        raise _refused("body", f"{body!r} is not of type 'object'")


def _refuse_others(body: dict[str, Any]) -> None:
    surplus = sorted(set(body) - {"traits"})
    if surplus:
        names = ", ".join(repr(name) for name in surplus)
        raise _refused("body", f"Additional properties are not allowed ({names} unexpected)")


def _refused(argument: str, reason: str) -> InvalidValue:
    return InvalidValue(message=f"Schema error for {argument}: {reason}")
