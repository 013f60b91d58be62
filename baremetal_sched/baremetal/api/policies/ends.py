"""The rule about the limits of ends, which the scheduling API has. All APIs whose requests can have an end check it."""

from oslo_policy import policy

SET_END_ALL = "scheduling:claims:set_end_all"

END_RULES = (
    policy.RuleDefault(
        SET_END_ALL,
        "(role:admin and system_scope:all) or role:service",
        description="Set any end of a claim, a server or an allocation, or none: beyond the default and the limits of "
        "``[scheduling]``, and while others wait",
        scope_types=["system", "project"],
    ),
)
