"""Rules that come out of a file: always there, and not to be changed through the API."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from baremetal_sched.baremetal.inspection.rules import engine
from baremetal_sched.baremetal.inspection.rules.engine import Rule
from baremetal_sched.baremetal.schemas.inspection.inspection_rules import BUILT_IN_RULE, PHASES
from baremetal_sched.documents.schema import load
from baremetal_sched.errors import InvalidValue

#: Rules with their priorities, by phase.
ByPhase = dict[str, list[tuple[int, Rule]]]


@lru_cache(maxsize=8)
def load_file(path: str | None) -> ByPhase:
    """The rules in a file of YAML, ``[inspection_rules] built_in_rules``: a list of them, as the API takes them.

    Read once: a change of the file counts from the next start on. Raises InvalidValue, naming file and rule.
    """
    if path is None:
        return {}
    try:
        documents = yaml.safe_load(Path(path).read_text(encoding="utf-8")) or []
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InvalidValue(message=f"[inspection_rules] built_in_rules: {path} cannot be read: {error}") from None
    if not isinstance(documents, list):
        raise InvalidValue(message=f"[inspection_rules] built_in_rules: {path} has to be a list of rules.")
    found: ByPhase = {}
    names: set[str] = set()
    for number, document in enumerate(documents, start=1):
        rule = _load(document, f"rule {number} of {path}")
        if rule["uuid"] in names:
            raise InvalidValue(message=f"[inspection_rules] built_in_rules: {path} has two rules {rule['uuid']}.")
        names.add(rule["uuid"])
        conditions = rule.get("conditions") or []
        kept = Rule(rule["uuid"], conditions, rule["actions"], bool(rule.get("sensitive")))
        found.setdefault(rule.get("phase", PHASES[0]), []).append((rule.get("priority", 0), kept))
    return found


def _load(document: Any, name: str) -> dict[str, Any]:
    try:
        rule = load(BUILT_IN_RULE, document, name)
        engine.check(rule.get("conditions") or [], rule["actions"])
    except InvalidValue as error:
        raise InvalidValue(message=f"[inspection_rules] built_in_rules: {name}: {error}") from None
    return rule
