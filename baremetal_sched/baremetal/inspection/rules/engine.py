"""Rules applied to the subject of an inspection, one after the other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import structlog
import yaml

from baremetal_sched.baremetal import node_masking
from baremetal_sched.baremetal.inspection.rules import patterns
from baremetal_sched.baremetal.inspection.rules.actions import ACTIONS, require_trait
from baremetal_sched.baremetal.inspection.rules.limits import Budget, RuleFailed, require_size
from baremetal_sched.baremetal.inspection.rules.operators import OPERATORS
from baremetal_sched.baremetal.inspection.rules.subject import Subject
from baremetal_sched.baremetal.inspection.rules.values import RuleContext, Signature, items_of
from baremetal_sched.baremetal.inspection.schemas import BUILT_IN_RULE, PHASES
from baremetal_sched.documents.schema import load
from baremetal_sched.errors import InvalidValue

log = structlog.get_logger(__name__)

_NOT = "!"


@dataclass(frozen=True)
class Rule:
    """A rule, as the engine needs it. A ``sensitive`` one may read secrets, if the operator allows that."""

    uuid: str
    conditions: Sequence[Mapping[str, Any]]
    actions: Sequence[Mapping[str, Any]]
    sensitive: bool = False


def parse_operator(op: str) -> tuple[str, bool]:
    """Return the name of an operator, and whether it is negated, as ``!eq`` is."""
    return op.removeprefix(_NOT), op.startswith(_NOT)


def check(
    conditions: Sequence[Mapping[str, Any]], actions: Sequence[Mapping[str, Any]], *, shows_values: bool = True
) -> None:
    """Raise InvalidValue if a rule has unknown, missing or invalid arguments, or too many clauses.

    ``shows_values``: the message may contain the invalid value. It must not if the caller may not read the value.
    """
    require_size(conditions, actions)
    for clause in conditions:
        op, _ = parse_operator(clause["op"])
        _check_args("condition", op, OPERATORS[op], clause, shows_values)
    for clause in actions:
        _check_args("action", clause["op"], ACTIONS[clause["op"]], clause, shows_values)


def _check_args(kind: str, op: str, signature: Signature, clause: Mapping[str, Any], shows_values: bool) -> None:
    try:
        args = signature.named(clause["args"])
        if not clause.get("loop"):
            # In a loop these may have fields that are filled in later.
            if "regex" in args:
                patterns.require(args["regex"])
            if op == "add-trait":
                require_trait(args["name"])
    except (InvalidValue, RuleFailed) as error:
        reason = str(error)
        if isinstance(error, RuleFailed) and not shows_values:
            reason = "the name is not that of a trait" if op == "add-trait" else "the regular expression is invalid"
        raise InvalidValue(message=f"Invalid parameters for {kind} operator {op}: {reason}") from None


def run(rules: Iterable[Rule], subject: Subject, *, mask_secrets: str) -> None:
    """Apply the rules, in this order, to the subject. ``mask_secrets``: "always", "never", or for rules that are not
    "sensitive".

    Raises RuleFailed, naming the rule, also if the subject's budget is used up; then the subject is to be forgotten.
    """
    for rule in rules:
        mask = mask_secrets == "always" or (mask_secrets == "sensitive" and not rule.sensitive)
        try:
            context = _context(subject, mask)
            if all(_holds(condition, context, subject.budget) for condition in rule.conditions):
                log.info("applying an inspection rule", rule=rule.uuid, node=subject.read_only.get("uuid"))
                for action in rule.actions:
                    _do(action, subject, _context(subject, mask))
        except (RuleFailed, InvalidValue) as error:
            raise RuleFailed(message=f"{error} (inspection rule {rule.uuid})") from error


def _context(subject: Subject, mask: bool) -> RuleContext:
    node = {**subject.read_only, **subject.node, "traits": subject.traits}
    if mask:
        # All users can read what a rule writes, so a rule must not see values that no answer shows.
        instance_info = node_masking.mask(node.get("instance_info") or {}, instance=True)
        node = node_masking.mask({**node, "instance_info": instance_info})
    roots = {"node": node, "inventory": subject.inventory, "plugin_data": subject.plugin_data}
    return RuleContext(roots, mask=mask, budget=subject.budget)


def _holds(condition: Mapping[str, Any], context: RuleContext, budget: Budget) -> bool:
    results = []
    multiple = condition.get("multiple", "any")
    for each, looped in items_of(condition, context):
        budget.require_time()
        results.append(_holds_once(condition, each, looped))
        if multiple == "first" and results[-1]:
            return True
    if multiple == "last":
        return results[-1]
    return all(results) if multiple == "all" else any(results)


def _holds_once(condition: Mapping[str, Any], context: RuleContext, looped: bool) -> bool:
    op, negated = parse_operator(condition["op"])
    operator = OPERATORS[op]
    # A missing value is empty, and does not count as a value.
    missing = None if op in ("is-empty", "is-none") else "keep"
    args = operator.prepare(condition["args"], context, looped=looped, missing=missing)
    return operator.holds(**args) is not negated


def _do(action: Mapping[str, Any], subject: Subject, context: RuleContext) -> None:
    for each, looped in items_of(action, context):
        subject.budget.require_time()
        args = ACTIONS[action["op"]].prepare(action["args"], each, looped=looped)
        # Text that is not filled in is written too, once for each item of a loop.
        subject.budget.spend_on(args)
        ACTIONS[action["op"]].do(subject, **args)


#: Rules with their priorities, by phase.
ByPhase = dict[str, list[tuple[int, Rule]]]


@lru_cache(maxsize=8)
def load_file(path: str | None) -> ByPhase:
    """Return the rules in the YAML file ``[inspection_rules] built_in_rules``, a list in the form of the API.

    The file is read once: a change takes effect at the next start. Raises InvalidValue, naming file and rule.
    """
    if path is None:
        return {}
    try:
        documents = yaml.safe_load(Path(path).read_text(encoding="utf-8")) or []
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InvalidValue(message=f"[inspection_rules] built_in_rules: {path} cannot be read: {error}") from None
    if not isinstance(documents, list):
        raise InvalidValue(message=f"[inspection_rules] built_in_rules: {path} must be a list of rules.")
    by_phase: ByPhase = {}
    names: set[str] = set()
    for number, document in enumerate(documents, start=1):
        rule = _load(document, f"rule {number} of {path}")
        if rule["uuid"] in names:
            raise InvalidValue(message=f"[inspection_rules] built_in_rules: {path} has two rules {rule['uuid']}.")
        names.add(rule["uuid"])
        conditions = rule.get("conditions") or []
        kept = Rule(rule["uuid"], conditions, rule["actions"], bool(rule.get("sensitive")))
        by_phase.setdefault(rule.get("phase", PHASES[0]), []).append((rule.get("priority", 0), kept))
    return by_phase


def _load(document: Any, name: str) -> dict[str, Any]:
    try:
        rule = load(BUILT_IN_RULE, document, name)
        check(rule.get("conditions") or [], rule["actions"])
    except InvalidValue as error:
        raise InvalidValue(message=f"[inspection_rules] built_in_rules: {name}: {error}") from None
    return rule
