"""Options of authentication and of the callers' rights."""

from oslo_config import cfg, types
from oslo_config.cfg import Locations

#: Options of group ``[DEFAULT]``.
DEFAULT: list[cfg.Opt] = [
    cfg.StrOpt(
        "http_basic_auth_user_file",
        help="File of users for auth_strategy http_basic, as htpasswd -B writes it. Default: htpasswd in the "
        "directory of the SQLite database.",
    ),
    cfg.StrOpt(
        "http_basic_auth_roles_file",
        help="File of the roles that users have with auth_strategy http_basic. Without it, they can do everything.",
    ),
    cfg.BoolOpt(
        "rbac_service_role_elevated_access",
        default=False,
        help="Give users with the role service in the project rbac_service_project_name the rights of system members "
        "on all nodes. Otherwise the role applies to the nodes of the user's own project.",
    ),
    cfg.StrOpt(
        "rbac_service_project_name",
        default="service",
        help="Project of the users of other services. See rbac_service_role_elevated_access.",
    ),
]

#: Option of group ``[oslo_policy]``, which newer releases of the library do not have.
POLICY: list[cfg.Opt] = [
    cfg.BoolOpt(
        "enforce_scope",
        default=True,
        help="Rules check the scope of a request. This cannot be disabled; the option exists for older files.",
    ),
]

#: Options of group ``[api]``.
API: list[cfg.Opt] = [
    cfg.StrOpt(
        "auth_strategy",
        default="none",
        choices=["none", "noauth", "http_basic", "keystone", "noauth2"],
        deprecated_opts=[cfg.DeprecatedOpt("auth_strategy", group="DEFAULT")],
        help="How callers are authenticated: not at all (none, which Ironic calls noauth), by users and passwords in a "
        "file (http_basic), by Keystone tokens (keystone), or by their own claim (noauth2, for tests only).",
    ),
    cfg.BoolOpt(
        "insecure",
        default=False,
        help="Allow auth_strategy none on addresses that are not loopback, too.",
    ),
    cfg.ListOpt(
        "allowed_hosts",
        default=[],
        item_type=types.HostDomain(),
        help="Names, without ports, that the header Host may have on loopback with auth_strategy none, besides "
        "localhost and addresses.",
    ),
    cfg.FloatOpt(
        "authentication_timeout",
        default=10,
        min=0.1,
        help="Seconds to wait for Keystone to validate a token before the request is answered with 503.",
    ),
    cfg.BoolOpt(
        "project_admin_can_manage_own_nodes",
        default=True,
        help="Let administrators of a project create nodes, owned by their project, and delete its nodes.",
    ),
]

#: Options of group ``[conductor]``.
CONDUCTOR: list[cfg.Opt] = [
    cfg.BoolOpt(
        "automatic_lessee",
        default=True,
        help="Set the lessee of a deployed node without one, until it is undeployed.",
    ),
    cfg.StrOpt(
        "automatic_lessee_source",
        default="instance",
        choices=["instance", "request", "none"],
        help="Project that becomes the lessee: the one in instance_info of the node (project_id, as Nova writes it), "
        "that of the caller, or none.",
    ),
]


def names_strategy(settings: cfg.ConfigOpts) -> bool:
    """Return whether ``[api] auth_strategy`` is set, by a file, the environment or the command line."""
    place = settings.get_location("auth_strategy", "api")
    return place is not None and place.location is not Locations.opt_default


def require_strategy(settings: cfg.ConfigOpts) -> None:
    """Raise ``cfg.Error`` if the settings do not say how callers are authenticated: this must be a deliberate
    choice."""
    if not names_strategy(settings):
        raise cfg.Error(
            "The settings do not say how callers are authenticated. Write, in group [api]: auth_strategy = http_basic "
            "(users and passwords of a file), keystone (tokens), or auth_strategy = none (everyone can do everything; "
            "served on loopback and Unix sockets only, unless insecure = true). In the environment this is "
            "OS_API__AUTH_STRATEGY."
        )


def is_open(settings: cfg.ConfigOpts) -> bool:
    """Return whether there is no authentication."""
    return settings.api.auth_strategy in ("none", "noauth")
