"""The rules of the scheduling API: the role ``admin`` of a project reads, and changes nothing that others have."""

import re

from oslo_policy.policy import RuleDefault

from baremetal_sched.scheduling.api import policies
from baremetal_sched.scheduling.api.policies import RULES

_READS = "it reads: tenants.rst lets the role admin of any project see everything but holds"
#: The defaults that allow something to the role admin without a scope, with the reason of each.
BARE = {
    policies.DRY_RUN: _READS,
    policies.SHOW_NODES: _READS,
    policies.CAPACITY: _READS,
    policies.ALL_CAPACITY: _READS,
    policies.DOMAINS: _READS,
    policies.EXPLAIN: _READS,
    policies.EXPLAIN_ALL: _READS,
    policies.EXPLAIN_NODE: _READS,
    policies.NODE_AVAILABILITY: _READS,
    policies.SHOW_WORKERS: _READS,
    policies.GROUPS: _READS,
    policies.ALL_GROUPS: _READS,
    policies.GET_CLAIM: "as get_all, which it names",
    policies.GET_BOOKING: "as get_all, which it names",
    policies.ALL_CLAIMS: _READS,
    policies.ALL_BOOKINGS: _READS,
    policies.EVENTS: _READS,
    policies.ALL_EVENTS: _READS,
    policies.MANAGE_WEBHOOKS: "its views keep it to the webhooks of the project: manage_all is for others",
}

_BY_NAME = {rule.name: rule for rule in RULES}


def _is_bare(rule: RuleDefault) -> bool:
    """Whether an alternative of the check, or of a rule that it names, is the role admin and nothing else."""
    named = [_BY_NAME[name] for name in re.findall(r"rule:([\w:]+)", rule.check_str) if name in _BY_NAME]
    alone = re.search(r"(^|or )\(?role:admin\)?( or|$)", rule.check_str)
    return alone is not None or any(map(_is_bare, named))


def test_the_role_admin_without_a_scope_reads_only() -> None:
    assert {rule.name for rule in RULES if _is_bare(rule)} == BARE.keys()
