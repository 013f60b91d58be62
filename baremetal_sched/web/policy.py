"""Access control: oslo.policy, with the rules of an API and the operator's ``policy.yaml``."""

import re
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from oslo_policy import _checks, policy

from baremetal_sched.errors import NotAllowed, SchedulerError, WrongScope
from baremetal_sched.settings import Settings
from baremetal_sched.web.caller import Caller

#: What rules compare the caller with: ``project_id``, ``node.owner`` and so on.
Target = Mapping[str, Any]

T = TypeVar("T")

#: Rules that also apply to callers who may do everything: whether secrets are shown.
ALWAYS_EVALUATED = frozenset({"show_password", "show_instance_secrets"})

#: How many seconds a decision is remembered, and how many decisions. The files of the operator, whose changes count
#: from then on, are looked at that often; oslo.policy takes longer over one rule than the database over one row.
_SECONDS = 1.0
_MOST = 10_000


#: What stands before the colon in the checks of our rules; oslo.policy knows these itself.
_KNOWN = frozenset(
    (
        *("role", "rule", "system_scope", "project_id", "project_name", "project_domain_id", "user_id"),
        *("is_admin", "is_admin_project", "is_public_api"),
    )
)


class _OtherChecks(dict[str, Callable[..., Any]]):
    """Checks of other packages by what stands before the colon, which are looked for only if a rule needs one.

    oslo.policy would look for them in all installed packages before it reads its first rule, and import them: among
    them its own ``http:``, and with it Requests.
    """

    def __contains__(self, kind: object) -> bool:
        if kind in _KNOWN or str(kind).startswith("'"):
            return False
        _checks.extension_checks = None
        self.update(_checks.get_extensions())
        return super().__contains__(kind)


if _checks.extension_checks is None:
    _checks.extension_checks = _OtherChecks()


@dataclass(frozen=True)
class OptionalRules:
    """Rules without defaults, which exist only if the operator's file has them.

    ``pattern``: the form of their names; ``form``: the same for readers. ``description``: what they allow.
    """

    pattern: re.Pattern[str]
    form: str
    description: str


class Policy:
    """The rules in force: ``defaults``, overridden by ``[oslo_policy] policy_file``."""

    def __init__(self, settings: Settings, defaults: Iterable[policy.RuleDefault]) -> None:
        self._enforcer = policy.Enforcer(settings)
        # Operators still on the old defaults know it; a warning for each rule would be too much.
        self._enforcer.suppress_deprecation_warnings = True
        self._enforcer.suppress_default_change_warnings = True
        self._register(defaults)
        self._decisions: dict[Hashable, Any] = {}
        self._remembered_until = 0.0

    def _register(self, defaults: Iterable[policy.RuleDefault]) -> None:
        """Do what ``register_defaults`` does, without its deep copies, which took most of the start-up time.

        oslo.policy replaces the parts of a rule that it changes.
        """
        for rule in defaults:
            if rule.name in self._enforcer.registered_rules:
                raise policy.DuplicatePolicyError(rule.name)
            own = self._enforcer.registered_rules[rule.name] = object.__new__(type(rule))
            vars(own).update(vars(rule))  # what copy() does, several times as fast

    def require(self, caller: Caller, rule: str, target: Target) -> None:
        """Raise NotAllowed unless ``rule`` allows the caller to access ``target`` (WrongScope: in another scope)."""
        refusal = self._refusal(caller, rule, target)
        if refusal is not None:
            raise refusal(policy=rule)

    def allows(self, caller: Caller, rule: str, target: Target) -> bool:
        """Return whether ``rule`` allows the caller to access ``target``."""
        return self._refusal(caller, rule, target) is None

    def allows_optional(self, caller: Caller, rule: str, target: Target) -> bool:
        """Return whether ``rule`` allows the caller to access ``target``; True if the rule is undefined."""
        if caller.unrestricted:
            return True
        self._enforcer.load_rules()
        if rule not in self._enforcer.rules:
            return True
        return bool(self._enforcer.enforce(rule, dict(target), caller.credentials()))

    def _refusal(self, caller: Caller, rule: str, target: Target) -> type[SchedulerError] | None:
        """Return the error for a refusal by ``rule``; None if it allows the caller to access ``target``."""
        if caller.unrestricted and rule not in ALWAYS_EVALUATED:
            return None
        asked = (rule, caller, frozenset(target.items()))
        return self.remembered(asked, lambda: self._evaluate(caller, rule, target))

    def remembered(self, key: Hashable, decide: Callable[[], T]) -> T:
        """Return what ``decide`` returns; for a second, at most, what it returned for this key before."""
        now = time.monotonic()
        if now >= self._remembered_until or len(self._decisions) >= _MOST:
            # Another thread may be reading the old one, so it is replaced, not changed.
            self._decisions = {}
            self._remembered_until = now + _SECONDS
        decisions = self._decisions
        if key not in decisions:
            decisions[key] = decide()
        found: T = decisions[key]
        return found

    def _evaluate(self, caller: Caller, rule: str, target: Target) -> type[SchedulerError] | None:
        try:
            allowed = self._enforcer.authorize(rule, dict(target), caller.credentials(), do_raise=False)
        except policy.InvalidScope:
            return WrongScope
        return None if allowed else NotAllowed
