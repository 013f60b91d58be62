"""Our rules decide as Ironic's do: every rule, for every caller and kind of node."""

import pytest

from baremetal_sched.baremetal.api.policies import RULES
from baremetal_sched.settings import load
from baremetal_sched.web import caller as web
from baremetal_sched.web.policy import Policy
from tests.conformance.policies import facts
from tests.conformance.policies.callers import KINDS, NOTHING, SERVICE, Caller, target
from tests.conformance.policies.facts import ASKED, rules
from tests.originals import ironic_python


@pytest.fixture(scope="module")
def policy() -> Policy:
    """The rules of the bare metal API, as they are without the operator's file."""
    overrides = {"oslo_policy": {"policy_file": "/nonexistent/policy.yaml"}}
    return Policy(load(overrides=overrides), RULES)


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


@pytest.mark.parametrize("kind", [*KINDS, NOTHING])
def test_every_rule_decides_as_in_ironic(policy: Policy, kind: str) -> None:
    wrong = []
    for name, rule in rules().items():
        for caller in ASKED:
            config = {"config.service_project_name": SERVICE} if caller.elevated else {}
            known = {"project_id": caller.project, **config, **target(kind)}
            if policy.allows(_ours(caller), name, known) != rule.allows(caller, kind):
                wrong.append(f"{name} ({rule.decisions[kind]}) as {caller.name}")
    assert not wrong
