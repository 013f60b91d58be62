"""Values within values: ``{inventory[cpu][count]}`` in texts, and paths like ``/properties/cpus``."""

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from baremetal_sched.baremetal.inspection.rules.limits import Budget
from baremetal_sched.db.documents import MAX_DEPTH, DocumentTooDeep, depth
from baremetal_sched.errors import InvalidValue

log = structlog.get_logger(__name__)

#: Names whose values rules may not read.
_SECRETS = frozenset({"password", "auth_token", "bmc_password"})
_MASK = "***"

_FIELD = re.compile(r"(\w+)((?:\[[^\[\]]+\]|\.\w+)*)")
_PART = re.compile(r"\[([^\[\]]+)\]|\.(\w+)")
#: Allowed format specifications. The type ``c`` is not: the number may not be that of a valid character.
_SPEC = re.compile(r"[^{}\d]{0,3}\d{0,3}(\.\d{1,2})?[a-zA-Z%]?(?<!c)")


class _Missing(Exception):
    """A field refers to a missing value, or is not a field at all."""


class RuleContext:
    """The values that texts may refer to: ``node``, ``inventory``, ``plugin_data``, and ``item`` in a loop.

    ``mask``: passwords and tokens are read as stars. Filled-in values are charged to ``budget``.
    """

    def __init__(self, roots: Mapping[str, Any], *, mask: bool, budget: Budget) -> None:
        self._roots = roots
        self._mask = mask
        self._budget = budget

    def with_item(self, item: Any) -> "RuleContext":
        """Return the context for an item of a loop. Texts in the item have been filled in already."""
        return RuleContext({**self._roots, "item": item}, mask=self._mask, budget=self._budget)

    def fill(self, value: Any, *, missing: str | None = "keep") -> Any:
        """Return ``value`` with its texts filled in, at any depth.

        A text that is a single field becomes the field's value, with its type. A text that refers to a missing value
        stays as it is; with ``missing`` None it becomes None.
        """
        if isinstance(value, str):
            return self._fill_text(value, missing)
        if isinstance(value, dict):
            return {self._fill_key(key): self.fill(item, missing=missing) for key, item in value.items()}
        if isinstance(value, list):
            return [self.fill(item, missing=missing) for item in value]
        return value

    def _fill_key(self, key: str) -> str:
        return str(self._fill_text(key, "keep"))

    def _fill_text(self, text: str, missing: str | None) -> Any:
        try:
            fields = [*string.Formatter().parse(text)]
            if len(fields) == 1 and fields[0][0] == "" and fields[0][1] and not fields[0][2] and not fields[0][3]:
                return self._value(fields[0][1])
            return "".join(self._render(*part) for part in fields)
        except _Missing:
            if missing is None:
                return None
            log.warning("a rule refers to a missing value", text=text)
            return text
        except ValueError:
            # Braces that are no fields.
            return text

    def _render(self, literal: str, name: str | None, spec: str | None, conversion: str | None) -> str:
        if name is None:
            return literal
        value = self._value(name)
        if conversion:
            value = string.Formatter().convert_field(value, conversion)
        if not _SPEC.fullmatch(spec or ""):
            raise _Missing
        try:
            written = format(value, spec or "")
        except TypeError:
            raise _Missing from None
        self._budget.spend(len(literal) + len(written))
        return literal + written

    def _value(self, name: str) -> Any:
        match = _FIELD.fullmatch(name)
        if match is None or match[1] not in self._roots:
            raise _Missing
        value = self._roots[match[1]]
        for key, attribute in _PART.findall(match[2]):
            value = self._member(value, key or attribute)
        return self._copy(value)

    def _member(self, value: Any, key: str) -> Any:
        if isinstance(value, Mapping) and key in value:
            return _MASK if self._mask and key in _SECRETS else value[key]
        if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            return value[int(key)]
        raise _Missing

    def _copy(self, value: Any) -> Any:
        """Return a copy, which the receiver may change, with secrets masked if necessary."""
        self._budget.spend(len(value) if isinstance(value, str) else 0)
        if isinstance(value, Mapping):
            hidden = _SECRETS if self._mask else ()
            return {key: _MASK if key in hidden else self._copy(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._copy(item) for item in value]
        return value


def split(path: str) -> list[str]:
    """Return the parts of a path: ``/a/b`` or ``a.b``."""
    return path.strip("/").split("/") if "/" in path else path.split(".")


def put(document: dict[str, Any], segments: list[str], value: Any) -> None:
    """Set the member at the end of the path; objects on the way come into being.

    Raises TypeError if one of them is not an object, DocumentTooDeep if the document would be too deep to store.
    """
    if len(segments) + depth(value) > MAX_DEPTH:
        raise DocumentTooDeep(limit=MAX_DEPTH)
    holder = _holder(document, segments, create=True)
    holder[segments[-1]] = value


def get(document: dict[str, Any], segments: list[str]) -> Any:
    """Return the member at the end of the path, or None."""
    value: Any = document
    for segment in segments:
        if not isinstance(value, dict) or segment not in value:
            return None
        value = value[segment]
    return value


def remove(document: dict[str, Any], segments: list[str]) -> bool:
    """Remove the member at the end of the path. Returns False if it, or an object on the way to it, does not exist."""
    try:
        holder = _holder(document, segments, create=False)
    except (KeyError, TypeError):
        return False
    if segments[-1] not in holder:
        return False
    del holder[segments[-1]]
    return True


def _holder(document: dict[str, Any], segments: list[str], *, create: bool) -> dict[str, Any]:
    holder: Any = document
    for segment in segments[:-1]:
        if create and holder.get(segment) is None:
            holder[segment] = {}
        holder = holder[segment]
        if not isinstance(holder, dict):
            raise TypeError(f"{segment!r} is not an object")
    result: dict[str, Any] = holder
    return result


@dataclass(frozen=True)
class Signature:
    """``required`` and ``optional`` arguments by name; ``filled`` are those in which fields are filled in."""

    required: tuple[str, ...]
    optional: tuple[str, ...]
    filled: tuple[str, ...]

    def named(self, args: Any) -> dict[str, Any]:
        """Return the arguments by name. They may be given as a list, in order.

        Raises InvalidValue if they do not match.
        """
        names = (*self.required, *self.optional)
        if isinstance(args, list):
            if len(args) > len(names):
                raise InvalidValue(message=f"too many arguments: {len(args)}, at most {len(names)} are taken")
            args = dict(zip(names, args, strict=False))
        missing = [name for name in self.required if name not in args]
        surplus = sorted(set(args) - set(names))
        complaints = [f"missing required argument(s): {', '.join(missing)}"] if missing else []
        complaints += [f"unexpected argument(s): {', '.join(surplus)}"] if surplus else []
        if complaints:
            raise InvalidValue(message="; ".join(complaints))
        return dict(args)

    def prepare(self, args: Any, context: RuleContext, *, looped: bool, missing: str | None = "keep") -> dict[str, Any]:
        """Return the arguments by name, with fields filled in; within a loop this applies to all arguments."""
        return {
            name: context.fill(value, missing=missing) if looped or name in self.filled else value
            for name, value in self.named(args).items()
        }


def items_of(clause: Mapping[str, Any], context: RuleContext) -> list[tuple[RuleContext, bool]]:
    """Return the contexts of a condition or an action: one, or one for each item of its loop.

    Each comes with whether it is in a loop.
    """
    loop = clause.get("loop")
    if not loop:
        return [(context, False)]
    items = loop if isinstance(loop, list) else [loop]
    return [(context.with_item(context.fill(item)), True) for item in items]
