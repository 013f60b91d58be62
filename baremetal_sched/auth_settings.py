"""Options about who may call: authentication."""

from oslo_config import cfg
from oslo_config.cfg import Locations

#: Those of group ``[DEFAULT]``.
DEFAULT: list[cfg.Opt] = [
    cfg.StrOpt(
        "http_basic_auth_user_file",
        help="File of users for auth_strategy http_basic, as htpasswd -B writes it. By default htpasswd beside the "
        "SQLite database.",
    ),
    cfg.StrOpt(
        "http_basic_auth_roles_file",
        help="File of the roles that users have with auth_strategy http_basic. Without one they may do everything.",
    ),
    cfg.BoolOpt(
        "rbac_service_role_elevated_access",
        default=False,
        help="Users with the role service in the project that rbac_service_project_name names may do to all nodes what "
        "members of the system may. Otherwise the role counts for the nodes of the user's own project.",
    ),
    cfg.StrOpt(
        "rbac_service_project_name",
        default="service",
        help="The project of other services' users. See rbac_service_role_elevated_access.",
    ),
]

#: That of group ``[oslo_policy]``, which newer releases of the library do not have.
POLICY: list[cfg.Opt] = [
    cfg.BoolOpt(
        "enforce_scope",
        default=True,
        help="Rules ask for the scope of a request. It cannot be switched off; the option is there for older files.",
    ),
]

#: Those of group ``[api]``.
API: list[cfg.Opt] = [
    cfg.StrOpt(
        "auth_strategy",
        default="none",
        choices=["none", "noauth", "http_basic", "keystone", "noauth2"],
        deprecated_opts=[cfg.DeprecatedOpt("auth_strategy", group="DEFAULT")],
        help="How callers are authenticated: not at all (none, which Ironic calls noauth), by users and passwords of a "
        "file (http_basic), by tokens of Keystone (keystone), or by what they claim to be (noauth2, for tests only).",
    ),
    cfg.BoolOpt(
        "insecure",
        default=False,
        help="Serve without authentication (auth_strategy none) on addresses that are not loopback, too.",
    ),
    cfg.FloatOpt(
        "authentication_timeout",
        default=10,
        min=0.1,
        help="Seconds that Keystone may take to say whose a token is, until the request is answered with 503.",
    ),
    cfg.BoolOpt(
        "project_admin_can_manage_own_nodes",
        default=True,
        help="Administrators of a project may create nodes, which their project then owns, and delete its nodes.",
    ),
]

#: Those of group ``[conductor]``.
CONDUCTOR: list[cfg.Opt] = [
    cfg.BoolOpt(
        "automatic_lessee",
        default=True,
        help="Make the project for which a node is deployed its lessee, if it has none, until it is undeployed.",
    ),
    cfg.StrOpt(
        "automatic_lessee_source",
        default="instance",
        choices=["instance", "request", "none"],
        help="Which project that is: the one in instance_info of the node (project_id, as Nova writes it), that of the "
        "caller, or none at all.",
    ),
]


def names_strategy(settings: cfg.ConfigOpts) -> bool:
    """Return whether ``[api] auth_strategy`` is set, by a file, the environment or the command line."""
    place = settings.get_location("auth_strategy", "api")
    return place is not None and place.location is not Locations.opt_default


def require_strategy(settings: cfg.ConfigOpts) -> None:
    """Raise ``cfg.Error`` if the settings do not say how callers are authenticated: this has to be a decision."""
    if not names_strategy(settings):
        raise cfg.Error(
            "The settings do not say how callers are authenticated. Write, in group [api]: auth_strategy = http_basic "
            "(users and passwords of a file), keystone (tokens), or auth_strategy = none (everyone may do everything; "
            "served on loopback and Unix sockets only, unless insecure = true). In the environment this is "
            "OS_API__AUTH_STRATEGY."
        )


def is_open(settings: cfg.ConfigOpts) -> bool:
    """Return whether there is no authentication."""
    return settings.api.auth_strategy in ("none", "noauth")
