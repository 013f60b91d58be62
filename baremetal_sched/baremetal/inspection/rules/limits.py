"""Limits of rules: of the clauses of a rule, and of the size and the time of all rules of an inspection."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from baremetal_sched.errors import InvalidValue, SchedulerError

#: Of one rule.
MOST_CONDITIONS = 100
MOST_ACTIONS = 100
#: Regular expressions of one rule. Each may take a second to look at, which is done when the rule is made.
MOST_REGEXES = 20
#: Of one loop.
MOST_ITEMS = 1000

#: Size of a value besides its characters: that of the object, and of its place in a list or an object.
_VALUE_SIZE = 16


DEFAULT_SIZE = 16 * 2**20
DEFAULT_SECONDS = 30.0


class RuleFailed(SchedulerError):
    """A rule cannot be applied, or says that the inspection has failed."""


class Budget:
    """The limits of the rules of one inspection: they may produce ``size`` bytes, and take ``seconds`` from now."""

    def __init__(self, size: int = DEFAULT_SIZE, seconds: float = DEFAULT_SECONDS) -> None:
        self._size = self._left = size
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds

    def spend(self, characters: int) -> None:
        """Use up the size of a value of this many characters. Raises RuleFailed if too little is left."""
        self._left -= _VALUE_SIZE + characters
        if self._left < 0:
            raise RuleFailed(
                message=f"the rules of an inspection may produce {self._size} bytes ([inspection_rules] max_size)"
            )

    def spend_on(self, document: Any) -> None:
        """Use up the size of a document. Raises like ``spend``."""
        pending = [document]
        while pending:
            value = pending.pop()
            if isinstance(value, Mapping):
                self.spend(sum(map(len, value)))
                pending.extend(value.values())
            elif isinstance(value, list):
                self.spend(0)
                pending.extend(value)
            else:
                self.spend(len(value) if isinstance(value, str) else 0)

    def require_time(self) -> None:
        """Raise RuleFailed if the time is over."""
        if time.monotonic() > self._deadline:
            raise RuleFailed(
                message=f"the rules of an inspection may take {self._seconds:g} s ([inspection_rules] time_limit)"
            )


def require_size(conditions: Sequence[Mapping[str, Any]], actions: Sequence[Mapping[str, Any]]) -> None:
    """Raise InvalidValue if a rule has more clauses, or one of them a longer loop, than is allowed."""
    regexes = sum(1 for clause in conditions if clause["op"].lstrip("!") in ("matches", "contains"))
    if regexes > MOST_REGEXES:
        raise InvalidValue(message=f"{regexes} regular expressions are too many: a rule may have {MOST_REGEXES}.")
    for name, clauses, most in (("conditions", conditions, MOST_CONDITIONS), ("actions", actions, MOST_ACTIONS)):
        if len(clauses) > most:
            raise InvalidValue(message=f"{len(clauses)} {name} are too many: a rule may have {most}.")
        for clause in clauses:
            loop = clause.get("loop")
            if isinstance(loop, list) and len(loop) > MOST_ITEMS:
                raise InvalidValue(message=f"A loop of {len(loop)} items is too long: it may have {MOST_ITEMS}.")
