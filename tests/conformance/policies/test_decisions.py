"""Our rules decide as Ironic's do: every rule, for every caller and kind of node."""

from itertools import product

import pytest

from baremetal_sched.baremetal.api.policies import RULES
from baremetal_sched.settings import load
from baremetal_sched.web import caller as web
from baremetal_sched.web.policy import Policy
from tests.conformance.policies import facts
from tests.conformance.policies.callers import KINDS, NOTHING, SERVICE, Caller, target
from tests.conformance.policies.facts import ASKED, rules
from tests.originals import ironic_python


def _ours(caller: Caller) -> web.Caller:
    scope = "all" if caller.system else None
    return web.Caller(caller.name, caller.project, caller.roles, scope, project_name=caller.project)


@pytest.mark.ci
def test_facts_are_what_ironic_says() -> None:
    python = ironic_python()
    if python is None:
        pytest.skip("no Ironic here")
    assert facts.text(facts.ask(python)) == facts.FILE.read_text()


def test_names_are_those_of_ironic() -> None:
    assert {rule.name for rule in RULES} == set(rules())


def test_every_rule_decides_as_in_ironic() -> None:
    """As they are without the operator's file."""
    policy = Policy(load(overrides={"oslo_policy": {"policy_file": "/nonexistent/policy.yaml"}}), RULES)
    wrong = []
    for kind, caller in product([*KINDS, NOTHING], ASKED):
        config = {"config.service_project_name": SERVICE} if caller.elevated else {}
        known, ours = {"project_id": caller.project, **config, **target(kind)}, _ours(caller)
        wrong += [
            f"{name} ({rule.decisions[kind]}) as {caller.name} at {kind}"
            for name, rule in rules().items()
            if policy.allows(ours, name, known) != rule.allows(caller, kind)
        ]
    assert not wrong
