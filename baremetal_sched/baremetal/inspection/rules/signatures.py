"""What operators and actions have in common: which arguments each takes, and which of them are texts to fill in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from baremetal_sched.baremetal.inspection.rules.values import Context
from baremetal_sched.errors import InvalidValue


@dataclass(frozen=True)
class Signature:
    """``required`` and ``optional`` arguments by name; ``filled`` are those in which fields are filled in."""

    required: tuple[str, ...]
    optional: tuple[str, ...]
    filled: tuple[str, ...]

    def named(self, args: Any) -> dict[str, Any]:
        """The arguments by name: they may be given as a list, in order. Raises InvalidValue for what does not fit."""
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

    def prepare(self, args: Any, context: Context, *, looped: bool, missing: str | None = "keep") -> dict[str, Any]:
        """The arguments by name, filled in; within a loop all of them are."""
        return {
            name: context.fill(value, missing=missing) if looped or name in self.filled else value
            for name, value in self.named(args).items()
        }


def items_of(clause: Mapping[str, Any], context: Context) -> list[tuple[Context, bool]]:
    """The contexts in which a condition or an action is to be looked at: one, or one for each item of its loop."""
    loop = clause.get("loop")
    if not loop:
        return [(context, False)]
    items = loop if isinstance(loop, list) else [loop]
    return [(context.with_item(context.fill(item)), True) for item in items]
