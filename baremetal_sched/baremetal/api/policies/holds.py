"""The rules about holds, which the scheduling API has. The bare metal API asks them, too, where a request ends holds.

The names are those of Ironic's specification of typed maintenance entries, which Ironic has not built yet.
"""

from baremetal_sched.baremetal.api.policies.checks import ADMIN, OBSERVER, SYSTEM_AUTHORITY, rule

GET = "baremetal:node:maintenance:get"
ADD = "baremetal:node:maintenance:add"
REMOVE = "baremetal:node:maintenance:remove"
UPDATE = "baremetal:node:maintenance:update"
#: Whether a caller sees a node in the bare metal API: what it does not see it does not change.
GET_NODE = "baremetal:node:get"
AS_SYSTEM = "baremetal:node:maintenance:as_system"

_OWNER, _LESSEE = "project_id:%(node.owner)s", "project_id:%(node.lessee)s"
_RELEASERS = f"{SYSTEM_AUTHORITY} or (role:member and {_OWNER}) or (role:manager and {_LESSEE})"
_FLOOR = "if its scope is below that of the caller, or is the same and the hold is of the caller's project"

HOLDS = (
    rule(
        GET.removeprefix("baremetal:"),
        f"role:service or (role:reader and (system_scope:all or {_OWNER} or {_LESSEE}))",
        "See the holds of a node, each of them: the type, the reason and the extra, here and in events, explanations, "
        "figures, the history, and maintenance_reason",
        was=OBSERVER,
    ),
    rule(
        ADD.removeprefix("baremetal:"),
        SYSTEM_AUTHORITY,
        "Assert a hold of a node that the caller may see. To let members of the node's owner do so, add to the check: "
        f"or (role:member and {_OWNER})",
        was=ADMIN,
    ),
    rule(
        REMOVE.removeprefix("baremetal:"),
        _RELEASERS,
        f"Release a hold of a node that the caller may see, {_FLOOR}",
        was=ADMIN,
    ),
    rule(
        UPDATE.removeprefix("baremetal:"),
        _RELEASERS,
        f"Change the end, the reason or the extra of a hold of a node that the caller may see, {_FLOOR}",
        was=ADMIN,
    ),
    rule(
        AS_SYSTEM.removeprefix("baremetal:"),
        SYSTEM_AUTHORITY,
        "Assert and release holds at the scope of the system. Others do so as the node's owner or lessee",
        was=ADMIN,
    ),
)
