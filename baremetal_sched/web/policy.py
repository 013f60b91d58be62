"""Who may do what: oslo.policy, with the rules of an API and the operator's ``policy.yaml``."""

import re
import time
from collections.abc import Hashable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

from oslo_policy import policy

from baremetal_sched.errors import NotAllowed, SchedulerError, WrongScope
from baremetal_sched.settings import Settings
from baremetal_sched.web.caller import Caller

#: What rules compare the caller with: ``project_id``, ``node.owner`` and so on.
Target = Mapping[str, Any]

#: Rules that count for callers who may do everything, too: whether secrets are shown.
ALWAYS_EVALUATED = frozenset({"show_password", "show_instance_secrets"})

#: How many seconds a decision is remembered, and how many decisions. The files of the operator, whose changes count
#: from then on, are looked at that often; oslo.policy takes longer over one rule than the database over one row.
_SECONDS = 1.0
_MOST = 10_000


@dataclass(frozen=True)
class OptionalRules:
    """Rules without defaults: there are those that the operator's file has.

    ``pattern``: what their names are like; ``form``: the same for readers. ``description``: what they allow.
    """

    pattern: re.Pattern[str]
    form: str
    description: str


class Policy:
    """The rules in force: ``defaults``, overridden by ``[oslo_policy] policy_file``."""

    def __init__(self, settings: Settings, defaults: Iterable[policy.RuleDefault]) -> None:
        self._enforcer = policy.Enforcer(settings)
        # An operator who has not moved to the new defaults yet knows; once a rule would be too often.
        self._enforcer.suppress_deprecation_warnings = True
        self._enforcer.suppress_default_change_warnings = True
        self._register(defaults)
        self._decisions: dict[Hashable, type[SchedulerError] | None] = {}
        self._remembered_until = 0.0

    def _register(self, defaults: Iterable[policy.RuleDefault]) -> None:
        """Do what ``register_defaults`` does, without its deep copies: they took most of the time of a start.

        What oslo.policy changes of a rule, it replaces.
        """
        for rule in defaults:
            if rule.name in self._enforcer.registered_rules:
                raise policy.DuplicatePolicyError(rule.name)
            self._enforcer.registered_rules[rule.name] = copy(rule)

    def require(self, caller: Caller, rule: str, target: Target) -> None:
        """Raise NotAllowed (WrongScope: request of another scope) unless ``rule`` lets the caller at ``target``."""
        refusal = self._refusal(caller, rule, target)
        if refusal is not None:
            raise refusal(policy=rule)

    def allows(self, caller: Caller, rule: str, target: Target) -> bool:
        """Return whether ``rule`` lets the caller at ``target``."""
        return self._refusal(caller, rule, target) is None

    def allows_optional(self, caller: Caller, rule: str, target: Target) -> bool:
        """Return whether ``rule`` lets the caller at ``target``. Without a rule of this name, everyone is let."""
        if caller.unrestricted:
            return True
        self._enforcer.load_rules()
        if rule not in self._enforcer.rules:
            return True
        return bool(self._enforcer.enforce(rule, dict(target), caller.credentials()))

    def _refusal(self, caller: Caller, rule: str, target: Target) -> type[SchedulerError] | None:
        """Return the error that ``rule`` answers with; None if it lets the caller at ``target``."""
        if caller.unrestricted and rule not in ALWAYS_EVALUATED:
            return None
        asked = (rule, caller, frozenset(target.items()))
        now = time.monotonic()
        if now >= self._remembered_until or len(self._decisions) >= _MOST:
            # Another thread may be reading: it keeps the one that it has.
            self._decisions = {}
            self._remembered_until = now + _SECONDS
        decisions = self._decisions
        if asked not in decisions:
            decisions[asked] = self._evaluate(caller, rule, target)
        return decisions[asked]

    def _evaluate(self, caller: Caller, rule: str, target: Target) -> type[SchedulerError] | None:
        try:
            allowed = self._enforcer.authorize(rule, dict(target), caller.credentials(), do_raise=False)
        except policy.InvalidScope:
            return WrongScope
        return None if allowed else NotAllowed
