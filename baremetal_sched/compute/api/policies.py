"""The rules of the compute API: Nova's names, checks, scopes and former checks, for the routes that are served here.

``ROUTES_OF_ALL``, ``IMAGES`` and ``ANY_ACTION`` are not Nova's, which asks for nothing there.
"""

from typing import NamedTuple

from oslo_policy import policy

PREFIX = "os_compute_api"

_ADMIN = "rule:context_is_admin"
_READER = "rule:project_reader_or_admin"
_MEMBER = "rule:project_member_or_admin"
_OWN = "(rule:context_is_admin) or user_id:%(user_id)s"
_ANYONE = "@"

_IS_ADMIN = "is_admin:True"
_OWNER = "is_admin:True or project_id:%(project_id)s"

IS_ADMIN = "context_is_admin"
#: Whether the caller may name the host or the node of a new server.
REQUESTED_DESTINATION = "compute:servers:create:requested_destination"

_SINCE = "21.0.0"
_REASON = "Rules with the roles reader and member, of one project, have replaced rules without roles."


class _Former(NamedTuple):
    """The former name of a rule, and its former check."""

    name: str
    check: str


def _base(name: str, check: str, description: str, was: _Former | None = None) -> policy.RuleDefault:
    return policy.RuleDefault(name, check, description=description, deprecated_rule=_deprecated(was))


def _legacy(name: str, check: str, description: str) -> policy.RuleDefault:
    """A rule that only the former checks of others name, and operators' own."""
    return policy.RuleDefault(
        name,
        check,
        description=description,
        deprecated_for_removal=True,
        deprecated_since=_SINCE,
        deprecated_reason=_REASON,
    )


def _deprecated(was: _Former | None) -> policy.DeprecatedRule | None:
    if was is None:
        return None
    return policy.DeprecatedRule(was.name, was.check, deprecated_reason=_REASON, deprecated_since=_SINCE)


_FORMER_ADMIN = _Former("rule:admin_api", _IS_ADMIN)
_FORMER_OWNER = _Former("rule:admin_or_owner", _OWNER)

_BASE = (
    _base(IS_ADMIN, "role:admin", "An administrator, who sees what belongs to every project", _FORMER_ADMIN),
    _legacy("admin_or_owner", _OWNER, "Anyone in the project, as before there were roles"),
    _legacy("admin_api", _IS_ADMIN, "An administrator, as before there were roles"),
    _base(
        "project_manager_api", "role:manager and project_id:%(project_id)s", "A manager of the project", _FORMER_ADMIN
    ),
    _base("project_member_api", "role:member and project_id:%(project_id)s", "A member of the project", _FORMER_OWNER),
    _base("project_reader_api", "role:reader and project_id:%(project_id)s", "A reader of the project", _FORMER_OWNER),
    _base("service_api", "role:service", "Another service", _FORMER_ADMIN),
    _base(
        "project_manager_or_admin",
        "rule:project_manager_api or rule:context_is_admin",
        "A manager of the project, or an administrator",
        _FORMER_ADMIN,
    ),
    _base(
        "project_member_or_admin",
        "rule:project_member_api or rule:context_is_admin",
        "A member of the project, or an administrator",
        _FORMER_OWNER,
    ),
    _base(
        "project_reader_or_admin",
        "rule:project_reader_api or rule:context_is_admin",
        "A reader of the project, or an administrator",
        _FORMER_OWNER,
    ),
    _base(
        "service_or_admin", "rule:service_api or rule:context_is_admin", "A service, or an administrator", _FORMER_ADMIN
    ),
)


def name_of(subject: str, operation: str = "") -> str:
    """Return the name of a policy."""
    return f"{PREFIX}:{subject}:{operation}" if operation else f"{PREFIX}:{subject}"


#: Anyone with a token may use the route.
ROUTES_OF_ALL = name_of("flavors")
#: Images, for which Glance has rules, and this API none.
IMAGES = name_of("images")
#: An action of a server or of a flavor. Each action has a rule of its own.
ANY_ACTION = name_of("actions")

_OWN_RULES = tuple(
    policy.RuleDefault(name, _ANYONE, description=description, scope_types=["system", "domain", "project"])
    for name, description in (
        (ROUTES_OF_ALL, "List and see flavors: public ones, and private ones that the project has access to"),
        (IMAGES, "List and see images, below 2.36: the images that the image API shows the project"),
        (ANY_ACTION, "Ask for an action of a server or a flavor; the rule of the action counts besides"),
    )
)


def _rule(name: str, check: str, description: str, *, was: _Former | None = None) -> policy.RuleDefault:
    return policy.RuleDefault(
        name if name.startswith("compute:") else f"{PREFIX}:{name}",
        check,
        description=description,
        scope_types=["project"],
        deprecated_rule=_deprecated(was),
    )


def _former(name: str, check: str = "rule:admin_or_owner") -> _Former:
    return _Former(f"{PREFIX}:{name}", check)


_FLAVORS = (
    _rule("os-flavor-manage:create", _ADMIN, "Create a flavor"),
    _rule("os-flavor-manage:update", _ADMIN, "Change the description of a flavor"),
    _rule("os-flavor-manage:delete", _ADMIN, "Delete a flavor"),
    _rule("os-flavor-extra-specs:index", _READER, "List the extra specs of a flavor, and see them in flavors"),
    _rule("os-flavor-extra-specs:show", _READER, "See an extra spec of a flavor"),
    _rule("os-flavor-extra-specs:create", _ADMIN, "Add extra specs to a flavor"),
    _rule("os-flavor-extra-specs:update", _ADMIN, "Change an extra spec of a flavor"),
    _rule("os-flavor-extra-specs:delete", _ADMIN, "Remove an extra spec of a flavor"),
    _rule("os-flavor-access", _ADMIN, "List the projects that may use a flavor", was=_former("os-flavor-access")),
    _rule("os-flavor-access:add_tenant_access", _ADMIN, "Let a project use a flavor"),
    _rule("os-flavor-access:remove_tenant_access", _ADMIN, "Withdraw a flavor from a project"),
)

_USERS = (
    _rule("extensions", _ANYONE, "List the extensions of the API"),
    _rule("os-availability-zone:list", _ANYONE, "List availability zones"),
    _rule("os-availability-zone:detail", _ADMIN, "List availability zones with their hosts"),
    _rule("os-keypairs:index", _OWN, "List key pairs"),
    _rule("os-keypairs:show", _OWN, "See a key pair"),
    _rule("os-keypairs:create", _OWN, "Import or make a key pair"),
    _rule("os-keypairs:delete", _OWN, "Delete a key pair"),
    _rule("limits", _ANYONE, "See the limits of one's own project"),
    _rule(
        "limits:other_project",
        _ADMIN,
        "See the limits of another project",
        was=_former("os-used-limits", "rule:admin_api"),
    ),
    _rule("os-quota-sets:show", _READER, "See the quotas of a project"),
    _rule("os-quota-sets:detail", _READER, "See the quotas of a project, and what it uses"),
    _rule("os-quota-sets:defaults", _ANYONE, "See the default quotas"),
    _rule("os-quota-sets:update", _ADMIN, "Set the quotas of a project"),
    _rule("os-quota-sets:delete", _ADMIN, "Set the quotas of a project back to the defaults"),
    _rule("os-server-groups:index", _READER, "List server groups"),
    _rule("os-server-groups:index:all_projects", _ADMIN, "List the server groups of all projects"),
    _rule("os-server-groups:show", _READER, "See a server group"),
    _rule("os-server-groups:create", _MEMBER, "Create a server group"),
    _rule("os-server-groups:delete", _MEMBER, "Delete a server group"),
)

_SERVERS = (
    _rule("servers:index", _READER, "List servers"),
    _rule("servers:detail", _READER, "List servers with details"),
    _rule("servers:index:get_all_tenants", _ADMIN, "List the servers of all projects"),
    _rule("servers:detail:get_all_tenants", _ADMIN, "List the servers of all projects with details"),
    _rule("servers:allow_all_filters", _ADMIN, "List servers by host and node"),
    _rule("servers:show", _READER, "See a server"),
    _rule(
        "servers:show:flavor-extra-specs",
        _READER,
        "See the extra specs of a server's flavor",
        was=_former("os-flavor-extra-specs:index"),
    ),
    _rule("servers:show:host_status", _ADMIN, "See the status of a server's host"),
    _rule("servers:show:host_status:unknown-only", _ADMIN, "See that the status of a server's host is unknown"),
    _rule("ips:index", _READER, "List the addresses of a server"),
    _rule("ips:show", _READER, "List the addresses of a server on a network"),
    _rule("os-extended-server-attributes", _ADMIN, "See a server's host, node and other extended attributes"),
    _rule(
        "os-security-groups:list",
        _READER,
        "List the security groups of a server",
        was=_former("os-security-groups"),
    ),
    _rule("servers:create", _MEMBER, "Create servers"),
    _rule("servers:create:forced_host", _ADMIN, "Name the node of a new server in availability_zone"),
    _rule(REQUESTED_DESTINATION, _ADMIN, "Name the node of a new server in hypervisor_hostname"),
    _rule("servers:create:zero_disk_flavor", _ADMIN, "Create servers of a flavor without a disk"),
    _rule("servers:update", _MEMBER, "Change a server"),
    _rule("servers:delete", _MEMBER, "Delete a server"),
    _rule("servers:rebuild", _MEMBER, "Rebuild a server"),
    _rule("servers:reboot", _MEMBER, "Reboot a server"),
    _rule("servers:start", _MEMBER, "Start a server"),
    _rule("servers:stop", _MEMBER, "Stop a server"),
    _rule(
        "os-deferred-delete:force",
        _MEMBER,
        "Delete a server by the action forceDelete",
        was=_former("os-deferred-delete"),
    ),
    _rule("os-rescue", _MEMBER, "Rescue a server"),
    _rule("os-unrescue", _MEMBER, "End the rescue of a server", was=_former("os-rescue")),
    _rule("os-lock-server:lock", _MEMBER, "Lock a server"),
    _rule("os-lock-server:unlock", _MEMBER, "Unlock a server"),
    _rule("os-lock-server:unlock:unlock_override", _ADMIN, "Unlock a server that another project locked"),
    _rule("os-instance-actions:list", _READER, "List the actions of a server", was=_former("os-instance-actions")),
    _rule("os-instance-actions:show", _READER, "See an action of a server", was=_former("os-instance-actions")),
    _rule("os-instance-actions:events", _ADMIN, "See the events of an action at every microversion, with their host"),
    _rule("os-instance-actions:events:details", _ADMIN, "See the details of the events of an action"),
)

_BELOW_SERVERS = tuple(
    _rule(f"{subject}:{operation}", _READER if operation in ("index", "show") else _MEMBER, description)
    for subject, operations in {
        "server-metadata": {
            "index": "List the metadata of a server",
            "show": "See an item of a server's metadata",
            "create": "Add to the metadata of a server",
            "update_all": "Replace the metadata of a server",
            "update": "Set an item of a server's metadata",
            "delete": "Remove an item of a server's metadata",
        },
        "os-server-tags": {
            "index": "List the tags of a server",
            "show": "See whether a server has a tag",
            "update": "Add a tag to a server",
            "update_all": "Replace the tags of a server",
            "delete": "Remove a tag of a server",
            "delete_all": "Remove all tags of a server",
        },
    }.items()
    for operation, description in operations.items()
)

RULES = (*_BASE, *_OWN_RULES, *_FLAVORS, *_USERS, *_SERVERS, *_BELOW_SERVERS)
