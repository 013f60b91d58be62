"""The rule about seeing domains, which the scheduling API has. The bare metal API checks it, too, where a filter names
one."""

from oslo_policy import policy

from baremetal_sched.baremetal.visibility import Conditions, Visibility
from baremetal_sched.web.call import Call

DOMAINS = "scheduling:domains:get"

DOMAIN_RULES = (
    policy.RuleDefault(
        DOMAINS,
        "role:admin or role:service or (role:reader and system_scope:all) or "
        "(role:reader and project_id:%(project_id)s)",
        description="See the domains of the machines that the caller has counted (scheduling:capacity:get_all) or has "
        "in a list, and filter lists by domain",
        scope_types=["system", "project"],
    ),
)


def sees_domains(call: Call) -> bool:
    """Return whether the caller may see domains."""
    return call.allows(DOMAINS, _target(call))


def seen_among(call: Call, visible: Visibility) -> Conditions:
    """Return the condition on the nodes by which the caller sees domains, of those that are ``visible`` to it. Raises
    NotAllowed, WrongScope if it may see none."""
    call.require(DOMAINS, _target(call))
    return visible.conditions()


def _target(call: Call) -> dict[str, str]:
    # A project that the caller lacks is left out, so that nothing equals it.
    return {} if call.caller.project_id is None else {"project_id": call.caller.project_id}
