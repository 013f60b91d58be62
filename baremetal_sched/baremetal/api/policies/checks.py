"""The check strings that rules share, how a rule is written down, and rules that other rules name.

A *member* of a system, for example, may do what system members may do, and so may the service user of another service
(``rule:service_role``). *Owner* and *lessee* are the projects of the node that the request is about.
"""

import re

from oslo_policy import policy

from baremetal_sched.machines.interface_types import STEP_INTERFACES
from baremetal_sched.settings import Settings
from baremetal_sched.web.policy import OptionalRules, Target

_OWNER = "project_id:%(node.owner)s"
_LESSEE = "project_id:%(node.lessee)s"
_OWNER_OR_LESSEE = f"({_OWNER} or {_LESSEE})"


def _any_of(*checks: str) -> str:
    return " or ".join(f"({check})" for check in checks)


SYSTEM_ADMIN = "role:admin and system_scope:all"
_SYSTEM_SERVICE = "role:service and system_scope:all"
SYSTEM_MEMBER = "(role:member and system_scope:all) or rule:service_role"
SYSTEM_READER = "(role:reader and system_scope:all) or (role:service and system_scope:all) or rule:service_role"

#: Callers that act for the system as a whole: its members, and services in its scope.
SYSTEM_AUTHORITY = f"{SYSTEM_MEMBER} or ({_SYSTEM_SERVICE})"

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


def _legacy(name: str, check: str, description: str) -> policy.RuleDefault:
    """A rule from the time before scopes: only the former checks of other rules name it, and operators' own."""
    return policy.RuleDefault(
        name,
        check,
        description=description,
        deprecated_for_removal=True,
        deprecated_since="17.0.0",
        deprecated_reason="The rule knows no scopes. Rules with scopes and the roles reader, member, manager and admin "
        "have taken its place.",
    )


BASE = (
    _legacy("admin_api", "role:admin or role:administrator", "An administrator of the cloud, as before scopes"),
    policy.RuleDefault("public_api", "is_public_api:True", description="The route is answered without a token"),
    policy.RuleDefault(
        "show_password", "!", description="See the secrets in driver_info, and elsewhere than in instance_info"
    ),
    policy.RuleDefault("show_instance_secrets", "!", description="See the secrets in instance_info"),
    policy.RuleDefault(
        "service_role",
        "role:service and project_name:%(config.service_project_name)s",
        description="A service user in the project of the services; with [DEFAULT] rbac_service_role_elevated_access "
        "only",
    ),
    _legacy(
        "is_member",
        "(project_domain_id:default or project_domain_id:None) and (project_name:demo or project_name:baremetal)",
        "A user in the projects that could use bare metal before scopes",
    ),
    _legacy(
        "is_observer", "rule:is_member and (role:observer or role:baremetal_observer)", "May read, as before scopes"
    ),
    _legacy(
        "is_admin",
        "rule:admin_api or (rule:is_member and role:baremetal_admin)",
        "May read and write, as before scopes",
    ),
    _legacy("is_node_owner", "project_id:%(node.owner)s", "The project of the caller owns the node"),
    _legacy("is_node_lessee", "project_id:%(node.lessee)s", "The project of the caller leases the node"),
    _legacy("is_allocation_owner", "project_id:%(allocation.owner)s", "The project of the caller owns the allocation"),
)


_PREFIX = "baremetal:step:execute:"

STEPS = OptionalRules(
    pattern=re.compile(rf"{re.escape(_PREFIX)}({'|'.join(STEP_INTERFACES)})\.\S+"),
    form=f"{_PREFIX}<interface>.<step>",
    description="Have a step done on a node, or put it into a runbook. Without a rule, a step is free to all who may "
    "name steps",
)


def step_rule(interface: str, step: str) -> str:
    """Return the name of the rule for a step."""
    return f"{_PREFIX}{interface}.{step}"


def service_project(settings: Settings) -> Target:
    """Return the project whose services have more permissions, as rules know it; nothing if there is none."""
    name = settings.rbac_service_project_name if settings.rbac_service_role_elevated_access else None
    return {} if name is None else {"config.service_project_name": name}
