"""The rules of the scheduling API. It follows no other, so they are its own."""

from oslo_policy import policy

DRY_RUN = "scheduling:requests:create"
SHOW_NODES = "scheduling:requests:show_nodes"

_EVERYTHING = "role:admin or role:service or (role:reader and system_scope:all)"
_SCOPES = ["system", "project"]

RULES = (
    policy.RuleDefault(
        DRY_RUN,
        f"{_EVERYTHING} or (role:reader and project_id:%(project_id)s)",
        description="Ask what a flavor and an image would get",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        SHOW_NODES,
        _EVERYTHING,
        description="See in the answer which nodes fit, of all nodes; others see how many of those fit that their "
        "project may use",
        scope_types=_SCOPES,
    ),
)
