"""The check strings that the rules of this API share, and how a rule is written down.

A *member* of a system, for example, may do what system members may do, and so may the service user of another service
(``rule:service_role``). *Owner* and *lessee* are the projects of the node that the request is about.
"""

from oslo_policy import policy

_OWNER = "project_id:%(node.owner)s"
_LESSEE = "project_id:%(node.lessee)s"
_OWNER_OR_LESSEE = f"({_OWNER} or {_LESSEE})"


def _any_of(*checks: str) -> str:
    return " or ".join(f"({check})" for check in checks)


SYSTEM_ADMIN = "role:admin and system_scope:all"
_SYSTEM_SERVICE = "role:service and system_scope:all"
SYSTEM_MEMBER = "(role:member and system_scope:all) or rule:service_role"
SYSTEM_READER = "(role:reader and system_scope:all) or (role:service and system_scope:all) or rule:service_role"

_OWNERS_SERVICE = f"role:service and {_OWNER}"
_OWNERS_MEMBER = f"role:member and {_OWNER}"
_OWNERS_MANAGER = f"role:manager and {_OWNER}"
OWNERS_ADMIN = f"role:admin and {_OWNER}"
_LESSEES_ADMIN = f"role:admin and {_LESSEE}"
_LESSEES_MANAGER = f"role:manager and {_LESSEE}"

SYSTEM_ADMIN_OR_SERVICE = _any_of(SYSTEM_ADMIN, _SYSTEM_SERVICE)

#: Readers of the owner and of the lessee.
PROJECT_READER = _any_of(SYSTEM_READER, f"role:reader and {_OWNER_OR_LESSEE}", _OWNERS_SERVICE)
#: Readers of the owner, not of the lessee.
OWNER_READER = _any_of(SYSTEM_READER, _SYSTEM_SERVICE, f"role:reader and {_OWNER}", _OWNERS_SERVICE)
#: Members of the owner and of the lessee.
PROJECT_MEMBER = _any_of(SYSTEM_MEMBER, f"role:member and {_OWNER_OR_LESSEE}", _SYSTEM_SERVICE)
#: Members of the owner, not of the lessee.
OWNER_MEMBER = _any_of(SYSTEM_MEMBER, _SYSTEM_SERVICE, _OWNERS_MEMBER, _OWNERS_SERVICE)
#: Members of the owner, and administrators and managers of the lessee.
OWNER_MEMBER_OR_LESSEE_ADMIN = _any_of(
    SYSTEM_MEMBER, _SYSTEM_SERVICE, _OWNERS_MEMBER, _LESSEES_ADMIN, _LESSEES_MANAGER, _OWNERS_SERVICE
)
#: Administrators and managers of the owner.
OWNER_ADMIN = _any_of(SYSTEM_MEMBER, _SYSTEM_SERVICE, OWNERS_ADMIN, _OWNERS_MANAGER, _OWNERS_SERVICE)
#: Administrators and managers of the owner, and of the system its administrators only.
OWNER_OR_SYSTEM_ADMIN = _any_of(SYSTEM_ADMIN, _SYSTEM_SERVICE, OWNERS_ADMIN, _OWNERS_MANAGER, _OWNERS_SERVICE)
#: Administrators and managers of the owner and of the lessee.
OWNER_OR_LESSEE_ADMIN = _any_of(
    SYSTEM_MEMBER,
    _SYSTEM_SERVICE,
    OWNERS_ADMIN,
    _OWNERS_MANAGER,
    _LESSEES_ADMIN,
    _LESSEES_MANAGER,
    _OWNERS_SERVICE,
)

#: What needs no node: any reader; any administrator; …
ANY_READER = _any_of("role:reader", "role:service")
ANY_ADMIN = _any_of("role:admin", "role:service")
SYSTEM_READER_OR_ANY_ADMIN = _any_of(SYSTEM_READER, "role:admin")

_ALLOCATION_OWNER = "project_id:%(allocation.owner)s"
ALLOCATION_READER = _any_of(SYSTEM_READER, f"role:reader and {_ALLOCATION_OWNER}")
ALLOCATION_MEMBER = _any_of(SYSTEM_MEMBER, f"role:member and {_ALLOCATION_OWNER}")
ALLOCATION_CREATOR = _any_of(SYSTEM_MEMBER, "role:member")

_RUNBOOK_OWNER = "project_id:%(runbook.owner)s"
RUNBOOK_READER = f"{_any_of(SYSTEM_READER, f'role:reader and {_RUNBOOK_OWNER}')} or role:service"
RUNBOOK_MANAGER = f"{_any_of(SYSTEM_MEMBER, f'role:manager and {_RUNBOOK_OWNER}')} or role:service"
RUNBOOK_CREATOR = f"({SYSTEM_MEMBER}) or role:manager or role:service"

#: What the rules were before Ironic knew scopes: valid beside the new ones if ``enforce_new_defaults`` is off.
ADMIN = "rule:is_admin"
OBSERVER = "rule:is_admin or rule:is_observer"

_BOTH_SCOPES = ("system", "project")


def rule(
    name: str,
    check: str,
    description: str,
    *,
    was: str | None = None,
    was_named: str | None = None,
    scopes: tuple[str, ...] | None = _BOTH_SCOPES,
) -> policy.RuleDefault:
    """The rule ``baremetal:<name>``. ``was``: what it was before there were scopes, under the name ``was_named``."""
    former = was and policy.DeprecatedRule(
        name=f"baremetal:{was_named or name}",
        check_str=was,
        deprecated_reason="The bare metal API knows system scope and the roles reader, member, manager and admin.",
        deprecated_since="17.0.0",
    )
    return policy.RuleDefault(
        f"baremetal:{name}",
        check,
        description=description,
        scope_types=None if scopes is None else list(scopes),
        deprecated_rule=former or None,
    )
