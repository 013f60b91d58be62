"""The rules are Placement's, and so is what they decide, asked of the original's own enforcer."""

import itertools
import re
from typing import Any

import pytest
from oslo_config import cfg
from oslo_policy import opts, policy
from placement import policies as original
from placement.context import RequestContext

from baremetal_sched.placement.api.policies import RULES
from baremetal_sched.placement.api.routes import ROUTES
from tests.service import Service

#: Callers by name: user, project, roles, scope of the system.
CALLERS: dict[str, tuple[str, str | None, tuple[str, ...], str | None]] = {
    "system admin": ("u", None, ("admin", "member", "reader"), "all"),
    "system member": ("u", None, ("member", "reader"), "all"),
    "system reader": ("u", None, ("reader",), "all"),
    "project admin": ("u", "p", ("admin", "manager", "member", "reader"), None),
    "project manager": ("u", "p", ("manager", "member", "reader"), None),
    "project member": ("u", "p", ("member", "reader"), None),
    "project reader": ("u", "p", ("reader",), None),
    "service": ("nova", "service", ("service",), None),
    "without a role": ("u", "p", (), None),
}
#: How operators may set this up: enforce_new_defaults.
MODES = (False, True)


def facts(rule: policy.RuleDefault) -> tuple[Any, ...]:
    """All of a rule that decides anything."""
    before = rule.deprecated_rule
    return (rule.name, rule.check_str, tuple(rule.scope_types or ()), before and (before.name, before.check_str))


def test_there_are_the_same_rules() -> None:
    assert len(RULES) == 38
    assert sorted(map(facts, RULES)) == sorted(map(facts, original.list_rules()))


def test_every_route_asks_a_rule_or_is_public() -> None:
    names = {rule.name for rule in RULES}
    assert [route.path for route in ROUTES if route.public] == ["/"]
    assert [route for route in ROUTES if not route.public and route.policy not in names] == []


def test_every_rule_is_asked() -> None:
    asked = {route.policy for route in ROUTES}
    assert {rule.name for rule in RULES if rule.name.startswith("placement:")} == asked - {None}


def original_enforcer(new_defaults: bool) -> policy.Enforcer:
    """The original's rules, with the settings of an operator."""
    conf = cfg.ConfigOpts()
    opts.set_defaults(conf)
    conf(args=[], default_config_files=[], default_config_dirs=[])
    conf.set_override("enforce_new_defaults", new_defaults, "oslo_policy")
    conf.set_override("policy_file", "nosuch.yaml", "oslo_policy")
    enforcer = policy.Enforcer(conf)
    enforcer.suppress_default_change_warnings = enforcer.suppress_deprecation_warnings = True
    enforcer.register_defaults(original.list_rules())
    return enforcer


def expected(enforcer: policy.Enforcer, rule: str, name: str, asked_about: str | None) -> bool:
    """The original's decision."""
    user, project, roles, scope = CALLERS[name]
    context = RequestContext(user_id=user, project_id=project, roles=list(roles), system_scope=scope, overwrite=False)
    about_usages = {"project_id": asked_about}
    target = about_usages if rule == "placement:usages" else {"project_id": project, "user_id": user}
    try:
        return bool(enforcer.authorize(rule, target, context, do_raise=False))
    except policy.InvalidScope:
        return False


def headers(name: str) -> dict[str, str]:
    user, project, roles, scope = CALLERS[name]
    found = {"X-Auth-Token": f"{user}:{project or ''}", "X-Roles": ",".join(roles)}
    return {**found, **({"OpenStack-System-Scope": scope} if scope else {})}


def test_every_caller_may_do_what_they_may_do_there(database_url: str, subtests: pytest.Subtests) -> None:
    """Every route, asked by everyone; that of usages about the caller's own project and about another's."""
    for new_defaults in MODES:
        with subtests.test(new_defaults=new_defaults):
            enforcer = original_enforcer(new_defaults)
            different, allowed = [], 0
            settings = {"enforce_new_defaults": new_defaults}
            with Service(database_url, api={"auth_strategy": "noauth2"}, oslo_policy=settings) as service:
                for route, name, project in itertools.product(ROUTES, CALLERS, ("p", "q")):
                    if route.policy is None:
                        continue
                    path = re.sub("<[^>]*>", "x", route.path)
                    sent = {
                        **headers(name),
                        "Content-Type": "application/json",
                        "OpenStack-API-Version": "placement 1.39",
                    }
                    url = f"/placement{path}" + (f"?project_id={project}" if path == "/usages" else "")
                    answer = service.http.request(url, method=route.method, headers=sent, status="*")
                    may = expected(enforcer, route.policy, name, project)
                    allowed += may
                    if (answer.status_code == 403) is may:
                        different.append((route.method, path, name, project, answer.status_code, may))
            assert different == []
            assert allowed
