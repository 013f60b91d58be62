"""Rules: who may do what, and that a decision is not worked out twice in a row."""

from pathlib import Path

import pytest
from oslo_policy import policy as oslo
from oslo_policy._external import HttpCheck

from baremetal_sched.errors import NotAllowed, WrongScope
from baremetal_sched.settings import load
from baremetal_sched.web import policy
from baremetal_sched.web.caller import Caller
from baremetal_sched.web.policy import Policy

RULES = (
    oslo.RuleDefault("get", "role:reader and project_id:%(owner)s"),
    oslo.DocumentedRuleDefault(
        "system", "role:reader", "For the system", [{"path": "/", "method": "GET"}], scope_types=["system"]
    ),
    oslo.RuleDefault("show_password", "!"),
)
READER = Caller("u", "p1", ("reader",))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(policy.time, "monotonic", lambda: now[0])
    return now


def make(policy_file: Path | None = None) -> Policy:
    options = {} if policy_file is None else {"oslo_policy": {"policy_file": str(policy_file)}}
    return Policy(load(overrides=options), RULES)


def test_a_rule_looks_at_the_target() -> None:
    rules = make()
    assert rules.allows(READER, "get", {"owner": "p1"})
    assert not rules.allows(READER, "get", {"owner": "p2"})
    assert not rules.allows(READER, "get", {})
    with pytest.raises(NotAllowed):
        rules.require(READER, "get", {"owner": "p2"})
    with pytest.raises((NotAllowed, WrongScope)):
        rules.require(READER, "system", {})


def test_unrestricted_callers_see_no_passwords() -> None:
    rules = make()
    assert rules.allows(Caller(unrestricted=True), "get", {})
    assert not rules.allows(Caller(unrestricted=True), "show_password", {})


def test_a_decision_is_remembered_for_who_asks_and_what_about(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = make()
    evaluated = []
    authorize = rules._enforcer.authorize

    def counted(rule: str, target: dict[str, str], *rest: object, **options: object) -> object:
        evaluated.append((rule, *target.items()))
        return authorize(rule, target, *rest, **options)

    monkeypatch.setattr(rules._enforcer, "authorize", counted)
    monkeypatch.setattr(policy.time, "monotonic", lambda: 100.0)
    for _ in range(3):
        assert rules.allows(READER, "get", {"owner": "p1"})
        assert not rules.allows(READER, "get", {"owner": "p2"})
        assert not rules.allows(Caller("u", "p1", ()), "get", {"owner": "p1"})
    assert len(evaluated) == 3


def test_a_changed_file_counts_within_a_second(clock: list[float], tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text('"get": "@"\n')
    rules = make(file)
    assert rules.allows(READER, "get", {"owner": "p2"})
    file.write_text('"get": "!"  # no longer\n')
    clock[0] += 1
    assert not rules.allows(READER, "get", {"owner": "p1"})


def test_an_operators_rule_may_ask_a_server(tmp_path: Path) -> None:
    """Checks of other packages are found when a rule names one."""
    file = tmp_path / "policy.yaml"
    file.write_text('"get": "http://127.0.0.1:1/%(owner)s"')
    rules = make(file)
    rules._enforcer.load_rules()
    assert isinstance(rules._enforcer.rules["get"], HttpCheck)
