"""The rules that other rules name, and those about secrets."""

from oslo_policy import policy


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
