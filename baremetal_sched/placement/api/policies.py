"""The policies of the Placement API: the original's names, with its old and new defaults."""

from oslo_policy import policy

PREFIX = "placement"

#: The only rule that compares the caller's project with the requested one.
USAGES = f"{PREFIX}:usages"

_ADMIN_OR_SERVICE = "rule:admin_or_service_api"
_SERVICE = "rule:service_api"
_ADMIN_OR_PROJECT_READER_OR_SERVICE = "rule:admin_or_project_reader_or_service_api"

#: The old default: administrators only.
_ADMIN = policy.DeprecatedRule(
    name="rule:admin_api",
    check_str="role:admin",
    deprecated_reason="Reader and service roles do what the administrator had to do.",
    deprecated_since="6.0.0",
)


def _rule(name: str, check: str) -> policy.RuleDefault:
    return policy.RuleDefault(name, check, scope_types=["project"], deprecated_rule=_ADMIN)


_BASE = (
    policy.RuleDefault("admin_api", "role:admin", scope_types=["project"]),
    _rule("service_api", "role:service"),
    _rule("admin_or_service_api", "role:admin or role:service"),
    policy.RuleDefault("project_reader_api", "role:reader and project_id:%(project_id)s", deprecated_rule=_ADMIN),
    _rule("admin_or_project_reader_or_service_api", "role:admin or rule:project_reader_api or role:service"),
)

#: Policies by subject, with the operations of each.
_OPERATIONS: dict[str, tuple[str, ...]] = {
    "resource_providers": ("list", "create", "show", "update", "delete", "usages"),
    "resource_providers:inventories": ("list", "create", "show", "update", "delete"),
    "resource_providers:aggregates": ("list", "update"),
    "resource_providers:traits": ("list", "update", "delete"),
    "resource_providers:allocations": ("list",),
    "resource_classes": ("list", "create", "show", "update", "delete"),
    "traits": ("list", "show", "update", "delete"),
    "allocations": ("list", "manage", "update", "delete"),
    "allocation_candidates": ("list",),
}

RULES = (
    *_BASE,
    *(
        policy.RuleDefault(f"{PREFIX}:{subject}:{operation}", _ADMIN_OR_SERVICE, scope_types=["project"])
        for subject, operations in _OPERATIONS.items()
        for operation in operations
    ),
    policy.RuleDefault(USAGES, _ADMIN_OR_PROJECT_READER_OR_SERVICE, scope_types=["project"]),
    policy.RuleDefault(f"{PREFIX}:reshaper:reshape", _SERVICE, scope_types=["project"]),
)
