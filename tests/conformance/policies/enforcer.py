"""Ironic's own enforcer: ``PYTHON enforcer.py`` with a Python that has Ironic. Standard library and Ironic only.

Reads one JSON document, ``{"questions": [{"rule", "caller", "target", "elevated"}, …]}``, and writes one: the version
of Ironic, its rules with the requests that they are documented for, and an answer to each question: ``allowed``,
``denied`` or ``scope``, the last for a request of a scope that the rule is not for.
"""

import json
import sys
from importlib.metadata import version
from typing import Any

from ironic.common import context, exception, policy
from ironic.conf import CONF
from oslo_policy import policy as oslo_policy


def main() -> None:
    questions = json.load(sys.stdin)["questions"]
    CONF([], project="ironic", default_config_files=[])
    CONF.set_override("auth_strategy", "keystone")
    policy.get_enforcer()  # registers the options
    CONF.set_override("policy_file", "/nonexistent/policy.yaml", group="oslo_policy")
    answer = {"version": version("ironic"), "rules": _rules(), "answers": [_answer(**each) for each in questions]}
    json.dump(answer, sys.stdout)


def _rules() -> dict[str, list[tuple[str, str]]]:
    return {
        rule.name: [(operation["method"], operation["path"]) for operation in getattr(rule, "operations", None) or ()]
        for rule in policy.list_policies()
    }


def _answer(rule: str, caller: dict[str, Any], target: dict[str, Any], elevated: bool) -> str:
    CONF.set_override("rbac_service_role_elevated_access", elevated)
    credentials = context.RequestContext(overwrite=False, **caller)
    # As Ironic's API does: what is known of the request, and of what it is about.
    known = {**credentials.to_policy_values(), **target}
    try:
        policy.authorize(rule, known, credentials)
    except exception.HTTPForbidden:
        return "denied"
    except oslo_policy.InvalidScope:
        return "scope"
    return "allowed"


if __name__ == "__main__":
    main()
