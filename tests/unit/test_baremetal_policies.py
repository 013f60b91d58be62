"""The bare metal API's rules are Ironic's: names, checks, scopes, and what the checks were before there were scopes.

``IRONIC_PYTHON`` names a Python that has Ironic 39; without it, that of the benchmarks is asked if it is there, and
otherwise the facts that it gave once.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from oslo_policy import policy

from baremetal_sched.baremetal.api.policies import RULES
from baremetal_sched.settings import load
from tests.originals import ironic_python

_FACTS = Path(__file__).parent.parent / "data" / "baremetal_rules.json"

_ASK = """
import json
from ironic.common import policy
print(json.dumps([
    [rule.name, rule.check_str, rule.scope_types, former and [former.name, former.check_str]]
    for rule in policy.list_policies() for former in [rule.deprecated_rule]
]))
"""


@pytest.fixture(scope="module")
def facts() -> list[list[Any]]:
    python = ironic_python()
    if python is None:
        found: list[list[Any]] = json.loads(_FACTS.read_text())
    else:
        found = json.loads(subprocess.run([python, "-c", _ASK], check=True, capture_output=True, text=True).stdout)
    return sorted(found)


def _ours() -> list[list[Any]]:
    return sorted(
        [rule.name, rule.check_str, rule.scope_types, former and [former.name, former.check_str]]
        for rule in RULES
        for former in [rule.deprecated_rule]
    )


def test_rules_are_those_of_the_original(facts: list[list[Any]]) -> None:
    assert _ours() == facts


def test_facts_that_were_noted_are_those_of_the_original(facts: list[list[Any]]) -> None:
    assert json.loads(_FACTS.read_text()) == facts


def test_every_rule_is_described_once() -> None:
    descriptions = [rule.description for rule in RULES]
    assert all(descriptions)
    assert len(set(descriptions)) == len(descriptions)


def test_rules_name_no_rule_that_is_not_there() -> None:
    settings = load(overrides={"oslo_policy": {"enforce_new_defaults": False}})
    enforcer = policy.Enforcer(settings)
    enforcer.suppress_deprecation_warnings = enforcer.suppress_default_change_warnings = True
    enforcer.register_defaults(list(RULES))
    assert enforcer.check_rules(raise_on_violation=True)
