"""The rules of the compute and image APIs are Nova's and Glance's, for what is served: names, checks, scopes, and what
the checks were before there were roles.

``NOVA_PYTHON`` and ``GLANCE_PYTHON`` name Pythons that have Nova 34 and Glance 33. Without them, what other tests
installed in pytest's cache is asked if it is there, and otherwise the facts that were noted once.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from oslo_policy import policy

from baremetal_sched.compute.api import policies as compute_policies
from baremetal_sched.image.api import policies as image_policies
from baremetal_sched.scheduling.api import policies as scheduling_policies
from baremetal_sched.settings import load
from tests.reference import ROUTES

_DATA = Path(__file__).parent.parent / "data"

_ASK = """
import json
from {package} import policies
print(json.dumps([
    [rule.name, rule.check_str, rule.scope_types, former and [former.name, former.check_str]]
    for rule in policies.list_rules() for former in [rule.deprecated_rule]
]))
"""


@dataclass(frozen=True)
class Original:
    """The original of an API: its package, our rules, and the names of rules that it lacks."""

    package: str
    api: str
    rules: Sequence[policy.RuleDefault]
    own: frozenset[str] = frozenset()

    def noted(self) -> list[list[Any]]:
        """Its rules of the same names, as they were noted."""
        found: list[list[Any]] = json.loads((_DATA / f"{self.api}_rules.json").read_text())
        return found

    def python(self, config: pytest.Config) -> str | None:
        """A Python that has it."""
        given = os.environ.get(f"{self.package.upper()}_PYTHON")
        assert config.cache
        folder = config.cache.mkdir(self.package)
        return given or (str(folder / "bin/python") if (folder / "complete").exists() else None)

    def asked(self, python: str) -> list[list[Any]]:
        """Its rules of the same names, as it has them now."""
        script = _ASK.format(package=self.package)
        answer = subprocess.run([python, "-c", script], check=True, capture_output=True, text=True).stdout
        names = {rule.name for rule in self.rules}
        return sorted(fact for fact in json.loads(answer) if fact[0] in names)


ORIGINALS = (
    Original(
        "nova",
        "compute",
        compute_policies.RULES,
        frozenset({compute_policies.ROUTES_OF_ALL, compute_policies.IMAGES, compute_policies.ANY_ACTION}),
    ),
    Original("glance", "image", image_policies.RULES),
)

ALL_RULES = (*compute_policies.RULES, *image_policies.RULES, *scheduling_policies.RULES)


@pytest.fixture(params=ORIGINALS, ids=lambda original: original.package)
def original(request: pytest.FixtureRequest) -> Original:
    found: Original = request.param
    return found


def test_rules_are_those_that_were_noted(original: Original) -> None:
    ours = [
        [rule.name, rule.check_str, rule.scope_types, former and [former.name, former.check_str]]
        for rule in original.rules
        for former in [rule.deprecated_rule]
        if rule.name not in original.own
    ]
    assert sorted(ours) == original.noted()


@pytest.mark.ci
def test_facts_that_were_noted_are_those_of_the_original(original: Original, pytestconfig: pytest.Config) -> None:
    python = original.python(pytestconfig)
    if python is None:
        pytest.skip(f"there is no {original.package} here")
    assert original.asked(python) == original.noted()


def test_every_rule_is_described_once() -> None:
    descriptions = [rule.description for rule in ALL_RULES]
    assert all(descriptions)
    assert len(set(descriptions)) == len(descriptions)


def test_rules_name_no_rule_that_is_not_there(subtests: pytest.Subtests) -> None:
    for rules in [original.rules for original in ORIGINALS]:
        with subtests.test(rules=rules):
            enforcer = policy.Enforcer(load(overrides={"oslo_policy": {"enforce_new_defaults": False}}))
            enforcer.suppress_deprecation_warnings = enforcer.suppress_default_change_warnings = True
            enforcer.register_defaults(list(rules))
            assert enforcer.check_rules(raise_on_violation=True)


def test_every_route_names_a_rule_that_there_is_or_is_public(subtests: pytest.Subtests) -> None:
    for api in ["compute", "image", "scheduling"]:
        with subtests.test(api=api):
            names = {rule.name for rule in ALL_RULES}
            routes = [route for found, route in ROUTES if found == api]
            assert routes
            for route in routes:
                assert (route.policy in names) != route.public, route.path
