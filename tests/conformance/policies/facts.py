"""The decisions of Ironic's enforcer, from ``facts.json``."""

import json
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.conformance.policies.callers import CALLERS, KINDS, NOTHING, Caller, target

FILE = Path(__file__).with_name("facts.json")
_ENFORCER = Path(__file__).with_name("enforcer.py")
#: Callers that the enforcer is asked about, in the order of the letters in the file.
ASKED = tuple(caller for caller in CALLERS if not caller.is_anonymous)
_KINDS = (*KINDS, NOTHING)
_LETTERS = {"allowed": "y", "denied": "n", "scope": "s"}
_QUERY = re.compile(r"\?.*$")


@dataclass(frozen=True)
class Rule:
    """One rule of Ironic: its documented requests, and a letter for each caller by kind of node."""

    operations: frozenset[tuple[str, str]]
    decisions: dict[str, str]

    def allows(self, caller: Caller, kind: str) -> bool:
        """Return whether Ironic's enforcer lets the caller at what is of that kind."""
        return self.decisions[kind][ASKED.index(caller)] == "y"


@cache
def rules() -> dict[str, Rule]:
    """Return the rules of Ironic by name."""
    return {
        name: Rule(frozenset((method, path) for method, path in rule["operations"]), rule["decisions"])
        for name, rule in json.loads(FILE.read_text())["rules"].items()
    }


def record(python: str) -> None:
    """Ask the enforcer that ``python`` has, and write the file."""
    FILE.write_text(text(ask(python)))


def ask(python: str) -> dict[str, Any]:
    """Return what the enforcer that ``python`` has says now, in the form of the file."""
    first = _run(python, [])
    names = list(first["rules"])
    keys = [(name, kind, caller) for name in names for kind in _KINDS for caller in ASKED]
    questions = [
        {"rule": name, "caller": caller.context(), "target": target(kind), "elevated": caller.elevated}
        for name, kind, caller in keys
    ]
    letters = map(_LETTERS.__getitem__, _run(python, questions)["answers"])
    decided = {(name, kind, caller.name): letter for (name, kind, caller), letter in zip(keys, letters, strict=True)}
    return {
        "ironic": first["version"],
        "callers": [caller.name for caller in ASKED],
        "rules": {
            name: {
                "operations": sorted(map(_normalized, operations)),
                "decisions": {kind: "".join(decided[name, kind, caller.name] for caller in ASKED) for kind in _KINDS},
            }
            for name, operations in sorted(first["rules"].items())
        },
    }


def _run(python: str, questions: list[dict[str, Any]]) -> dict[str, Any]:
    asked = json.dumps({"questions": questions})
    done = subprocess.run([python, _ENFORCER], input=asked, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{python} cannot ask Ironic's enforcer:\n{done.stderr[-3000:]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _normalized(operation: tuple[str, str]) -> list[str]:
    """Return a documented request with ``{}`` for each parameter and without a query string."""
    method, path = operation
    path = "/" + _QUERY.sub("", path).strip("/")
    return [method, re.sub(r"\{\w+\}", "{}", path)]


def text(facts: dict[str, Any]) -> str:
    """Return facts as the file has them."""
    lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(rule)}" for name, rule in facts["rules"].items())
    return (
        f'{{\n  "ironic": {json.dumps(facts["ironic"])},\n  "callers": {json.dumps(facts["callers"])},\n'
        f'  "rules": {{\n{lines}\n  }}\n}}\n'
    )
