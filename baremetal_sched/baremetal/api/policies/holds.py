"""The rules about holds, which the scheduling API has. The bare metal API asks them, too, where a request ends holds.

The names are those of Ironic's specification of typed maintenance entries, which Ironic has not built yet.
"""

from oslo_policy import policy

GET = "baremetal:node:maintenance:get"
ADD = "baremetal:node:maintenance:add"
REMOVE = "baremetal:node:maintenance:remove"
AS_SYSTEM = "baremetal:node:maintenance:as_system"

_SCOPES = ["system", "project"]
_SYSTEM = "role:admin or role:service or (role:member and system_scope:all)"
_OWNER, _LESSEE = "project_id:%(node.owner)s", "project_id:%(node.lessee)s"

HOLDS = (
    policy.RuleDefault(
        GET,
        f"role:admin or role:service or (role:reader and (system_scope:all or {_OWNER} or {_LESSEE}))",
        description="See the holds of a node, each of them",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        ADD,
        _SYSTEM,
        description="Assert a hold of a node. To let members of the node's owner do so, add to the check: or "
        f"(role:member and {_OWNER})",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        REMOVE,
        f"{_SYSTEM} or (role:member and {_OWNER}) or (role:manager and {_LESSEE})",
        description="Release a hold of a node, if its scope is below that of the caller, or is the same and the hold "
        "is of the caller's project",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        AS_SYSTEM,
        _SYSTEM,
        description="Assert and release holds at the scope of the system. Others do so as the node's owner or lessee",
        scope_types=_SCOPES,
    ),
)
