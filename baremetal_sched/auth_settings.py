"""Options of authentication and of the callers' rights."""

from oslo_config import cfg, types
from oslo_config.cfg import Locations

#: Options of group ``[DEFAULT]``.
DEFAULT: list[cfg.Opt] = [
    cfg.StrOpt(
        "http_basic_auth_user_file",
        help="File of users for ``[api] auth_strategy = http_basic`` (:doc:`guides/users`), with a line "
        "``NAME:HASH`` for each, where the hashes are bcrypt hashes. By default it is ``htpasswd`` beside the "
        "SQLite database; with another database there is no default.",
    ),
    cfg.StrOpt(
        "http_basic_auth_roles_file",
        help="YAML file of the roles that these users have (:doc:`guides/users`). Without one, each of them may do "
        "everything.",
    ),
    cfg.BoolOpt(
        "rbac_service_role_elevated_access",
        default=False,
        help="Users with the role ``service`` in the project ``rbac_service_project_name`` have the rights of "
        "system members on all nodes. Nova needs this, unless its user has system scope. If false, the role "
        "applies to the nodes of the user's own project.",
    ),
    cfg.StrOpt(
        "rbac_service_project_name",
        default="service",
        help="The project of the users of other services.",
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
        choices=[
            (
                "none",
                "Every caller may do everything. Only listeners on loopback and on Unix sockets are served, unless "
                "``insecure`` is true.",
            ),
            ("noauth", "Ironic's name for ``none``."),
            ("http_basic", "By the names and passwords in a file (:doc:`guides/users`)."),
            ("keystone", "By tokens (:doc:`guides/keystone`)."),
            (
                "noauth2",
                "For tests only: every API believes what callers say about themselves (:doc:`placement/index`).",
            ),
        ],
        deprecated_opts=[cfg.DeprecatedOpt("auth_strategy", group="DEFAULT")],
        help="How callers are authenticated. ``[DEFAULT] auth_strategy``, as in Ironic, is the same. Command line: "
        "``serve --auth-strategy``. The default is for ``serve`` on loopback and for tests: ``serve`` on another "
        "address uses ``http_basic``, and ``baremetal_sched.wsgi:app`` does not start unless a strategy is set.",
    ),
    cfg.BoolOpt(
        "insecure",
        default=False,
        help="Serve with ``auth_strategy`` ``none`` on every address. Otherwise the address of the listener "
        "decides: on addresses other than loopback every request is answered with 403, and ``serve`` does not "
        "start. That is no protection behind a proxy on the same machine, whose requests all arrive on "
        "loopback. Every start logs a warning. Command line: ``serve --insecure``.",
    ),
    cfg.ListOpt(
        "allowed_hosts",
        default=[],
        item_type=types.HostDomain(),
        help="Names, separated by commas and without ports: ``cloud.example.org,cloud``. With ``auth_strategy`` "
        "``none``, the header ``Host`` of a request that arrives on loopback must be missing, an address, "
        "``localhost``, or one of these; otherwise the answer is 403. This keeps out web pages whose own name leads "
        "the browser to 127.0.0.1. A proxy on this machine that passes ``Host`` on needs its name here; what it says "
        "in ``X-Forwarded-Host`` does not count. Other listeners, Unix sockets and other strategies serve every "
        "name.",
    ),
    cfg.FloatOpt(
        "authentication_timeout",
        default=10,
        min=0.1,
        help="Seconds that Keystone may take to validate a token. After that the request is answered with 503 and "
        "``Retry-After``.",
    ),
    cfg.BoolOpt(
        "project_admin_can_manage_own_nodes",
        default=True,
        help="Administrators of a project may create nodes, which their project then owns, and delete its nodes "
        "(``baremetal:node:create:self_owned_node``, ``baremetal:node:delete:self_owned_node``). If false, "
        "only administrators of the system may.",
    ),
]

#: Options of group ``[conductor]``.
CONDUCTOR: list[cfg.Opt] = [
    cfg.BoolOpt(
        "automatic_lessee",
        default=True,
        help="Make the project for which a node is deployed its lessee, if it has none, until the node is "
        "undeployed. Callers that may do everything (strategy ``none``) deploy for no project.",
    ),
    cfg.StrOpt(
        "automatic_lessee_source",
        default="instance",
        choices=["instance", "request", "none"],
        help="Which project that is: ``project_id`` in the node's ``instance_info``, as Nova writes it "
        "(``instance``), that of the caller (``request``), or no project at all (``none``).",
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
