"""Names of traits, messages about names that are not traits, and bodies of requests about traits."""

import re
from difflib import get_close_matches
from typing import Any

from marshmallow import ValidationError, fields

from baremetal_sched.errors import InvalidValue
from baremetal_sched.placement.names import NAME_LENGTH, is_custom, standard_traits

_CUSTOM = "CUSTOM_"
_NOT_ALLOWED = re.compile(r"[^A-Z0-9_]+")
#: Most names to propose, and longest name to propose something for: comparing longer ones is slow.
_MOST = 3
_LONGEST = 100
_ALIKE = 0.8

_USAGE = (
    "A single {of} trait may be added via PUT /v1/{of}s/<{of} identifier>/traits/<trait> with no body, or all {of} "
    "traits may be replaced via PUT /v1/{of}s/<{of} identifier>/traits with the list specified in the request body: "
    '{{"traits": ["CUSTOM_A", …]}}.'
)


def is_trait(name: str) -> bool:
    """Return whether ``name`` is a trait: one of os-traits, or ``CUSTOM_`` and then ``A-Z 0-9 _``; at most 255
    characters."""
    return name in standard_traits() or is_custom(name)


def complaint(name: str) -> str:
    """Return a complaint about ``name``, which is not a trait; it proposes traits that may have been meant.

    Test suites of released clients look for "does not match".
    """
    found = proposals(name)
    meant = f" Did you mean {' or '.join(found)}?" if found else ""
    return (
        f"'{name}' is not a valid trait.{meant} It is not one of os-traits, and does not match '^CUSTOM_[A-Z0-9_]+$'."
    )


def proposals(name: str) -> list[str]:
    """Return the traits that ``name`` may be meant for, the best first: standard ones that are alike, a custom one."""
    if len(name) > _LONGEST:
        return []
    plain = _NOT_ALLOWED.sub("_", name.strip().upper()).strip("_")
    if plain in ("", _CUSTOM.rstrip("_")):
        return []
    if plain in standard_traits():
        return [plain]
    custom = plain if plain.startswith(_CUSTOM) else _CUSTOM + plain
    alike = get_close_matches(plain, sorted(standard_traits()), _MOST - 1, _ALIKE)
    ending = sorted(trait for trait in standard_traits() if trait.endswith(f"_{plain}") and trait not in alike)
    found = [*alike, *([custom] if is_custom(custom) and len(custom) <= NAME_LENGTH else []), *ending]
    return found[:_MOST]


def check_trait(name: Any, argument: str) -> str:
    """``name`` if it is a trait; else raises InvalidValue with the reason."""
    wrong = complaint_about(name)
    if wrong is not None:
        raise _refused(argument, wrong)
    checked: str = name
    return checked


def complaint_about(name: Any) -> str | None:
    """The reason why ``name`` is not a trait; None if it is one."""
    if not isinstance(name, str):
        return f"{name!r} is not of type 'string'"
    if not name:
        return "'' should be non-empty"
    if len(name) > NAME_LENGTH:
        return f"'{name}' is too long"
    if not is_trait(name):
        return complaint(name)
    return None


class TraitName(fields.Field[str]):
    """A trait."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        wrong = complaint_about(value)
        if wrong is not None:
            raise ValidationError(wrong)
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
