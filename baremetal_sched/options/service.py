"""Options of the whole service: names and defaults, logs, and the API."""

import socket

from oslo_config import cfg

from baremetal_sched import auth_settings
from baremetal_sched.options import hardware, kinds
from baremetal_sched.releases import RELEASES

OPTIONS: dict[str, list[cfg.Opt]] = {
    "DEFAULT": [
        *auth_settings.DEFAULT,
        cfg.ListOpt(
            "autodetect_deploy_interfaces",
            default=["ramdisk", "direct"],
            help="Interfaces that the deploy interface ``autodetect`` stands for: the first one that fits, or else the "
            "last. ``ramdisk`` fits if ``instance_info`` has ``ironic_ramdisk_deploy`` and something to boot.",
        ),
        cfg.StrOpt(
            "host",
            default=socket.gethostname(),
            sample_default="the name of this machine",
            help="Name under which this conductor registers. It must be unique. Command line: ``conductor --host``.",
        ),
        *hardware.ENABLED,
        cfg.Opt(
            "default_resource_class",
            type=kinds.at_most(80, least=0),
            help="Resource class of a node that is created without one.",
        ),
        cfg.Opt(
            "default_conductor_group",
            type=kinds.GROUP,
            default="",
            help="Conductor group of a node that is created without one.",
        ),
        cfg.Opt(
            "default_portgroup_mode",
            type=kinds.at_most(255),
            default="active-backup",
            help="Mode of a portgroup that is created without one.",
        ),
        cfg.IntOpt(
            "hash_partition_exponent",
            default=5,
            min=0,
            max=12,
            help="A conductor has two to this power points on the hash ring; 0 to 12. With more points the nodes are "
            "distributed more evenly. The value must be the same in every process; otherwise processes disagree "
            "about which conductor owns a node.",
        ),
        cfg.StrOpt(
            "pin_release_version",
            choices=RELEASES,
            help="Behave like this release of Ironic (a number: ``11.0``; or the name or year of a cycle: ``queens``, "
            "``2024.1``), while the fleet is upgraded host by host and others of that release are still running. As "
            "long as any live conductor is pinned to a release from before ``rocky`` (11.1), which has no conductor "
            "groups, these are ignored: every conductor may own nodes of any of them, and all processes agree on "
            "that. The API of a pinned process offers the microversions of that release only.",
        ),
        cfg.FloatOpt(
            "graceful_shutdown_timeout",
            default=60,
            min=0,
            help="Seconds that a conductor may take to finish its work when it is stopped. Work that it has not begun "
            "is left to other conductors; work that it cannot finish in time fails, and the node is released.",
        ),
        cfg.StrOpt(
            "log_level",
            default="INFO",
            choices=["DEBUG", "INFO", "WARNING", "ERROR"],
            help="The lowest level that is logged: ``DEBUG``, ``INFO``, ``WARNING`` or ``ERROR``. Command line: "
            "``--debug``.",
        ),
        cfg.StrOpt(
            "log_format",
            default="json",
            choices=["json", "console"],
            help="``json``, one document per line, or ``console``, coloured text. Logs go to standard error, including "
            "gunicorn's lines. The commands use ``console`` on a terminal unless this is set. Command line: "
            "``--debug``.",
        ),
    ],
    "api": [
        *auth_settings.API,
        cfg.FloatOpt(
            "request_timeout",
            default=45,
            min=1,
            help="Seconds, counted from its acceptance, after which a request that still waits for the database is "
            "answered with 503 and ``Retry-After``. It should be shorter than the time-out of the proxy in front, "
            "which is usually 60 seconds. It limits the total time of a request's statements, attempts and "
            "connections, whatever the database does: a connection that stops responding is closed. The database "
            "server is also told, once per connection, to end a statement that takes longer "
            "(``statement_timeout``, ``max_statement_time``). The limit applies only to requests: commands and "
            "migrations have no limit, and a transaction of a conductor ends after 300 seconds.",
        ),
        cfg.IntOpt(
            "max_requests_at_work",
            default=8,
            min=1,
            help="The number of requests that a process works on at the same time, whatever server it runs in and "
            "however many threads that has. Further requests wait, for at most ``request_timeout``, and are then "
            "answered with 503 and ``Retry-After``, without having changed anything. A request that waits for a "
            "machine or for a locked node does not count: it has no open transaction, and another request takes "
            "its place for that time. Each of these requests needs a connection to the database, so the number must "
            "not exceed what ``[database] max_pool_size`` and ``max_overflow`` allow together.",
        ),
        cfg.IntOpt(
            "max_requests_waiting",
            default=48,
            min=0,
            help="The number of requests of a process that may wait for machines and for locked nodes at the same "
            "time. Further requests are answered with 503 and ``Retry-After`` before anything is written. The sum of "
            "both numbers should be less than the number of threads of a process (64), so that threads remain for "
            "new requests.",
        ),
        cfg.IntOpt(
            "max_limit", default=1000, min=1, help="The maximum number of items on a page of a bare metal list."
        ),
        cfg.Opt(
            "public_endpoint",
            type=kinds.ENDPOINT,
            help="Scheme and host with which links begin: ``https://cloud.example.com``. By default those of the "
            "request. Events have it in their ``source``.",
        ),
        cfg.IntOpt(
            "max_json_body_size",
            default=1024 * 1024,
            min=1024,
            help="Largest request body, in bytes; at least 1024. Bodies with a config drive or an inspection report "
            "may have up to 15 MiB. Larger ones are refused before they are read.",
        ),
        cfg.IntOpt(
            "max_json_body_depth",
            default=25,
            min=1,
            max=100,
            help="The maximum nesting of objects and lists in a request body; at most 100. It also limits the result "
            "of a PATCH.",
        ),
        cfg.IntOpt(
            "max_patch_operations", default=1000, min=1, help="The maximum number of operations in the body of a PATCH."
        ),
        cfg.BoolOpt(
            "enable_ramdisk_endpoints",
            default=True,
            help="Serve agents, which run on machines and have no credentials (:doc:`baremetal/agents`). Set it to "
            "false in processes that serve only users, and run another process for the network of the agents.",
        ),
        cfg.BoolOpt(
            "restrict_lookup",
            default=True,
            help="Let agents look up only nodes in whose provision state an agent runs.",
        ),
        cfg.IntOpt(
            "ramdisk_heartbeat_timeout",
            default=300,
            min=1,
            help="The maximum number of seconds between two heartbeats of an agent. Agents are told this value.",
        ),
    ],
    "ui": [
        cfg.BoolOpt(
            "enabled",
            default=True,
            help="Serve :doc:`pages for browsers <guides/ui>` at ``/ui``. With ``[api] auth_strategy`` ``none`` they "
            "are served on loopback only. If false, ``/ui`` is answered with 404 and the reason.",
        ),
    ],
    "oslo_middleware": [
        cfg.BoolOpt(
            "enable_proxy_headers_parsing",
            default=False,
            help="Use ``X-Forwarded-For``, ``-Proto``, ``-Host`` and ``-Prefix``, the last value of each. Set this "
            "only behind a proxy that sets or removes all of them: headers that it does not touch come from the "
            "client. A scheme that is not ``http`` or ``https``, and what is not a host or a path, is refused with "
            "400.",
        ),
    ],
}

#: Group ``[cors]``, as oslo.middleware has it, which is imported only where CORS is on.
CORS = [
    cfg.ListOpt("allowed_origin", help="Origins whose pages may call the APIs."),
    cfg.BoolOpt("allow_credentials", default=True, help="Pages may send credentials."),
    cfg.ListOpt("expose_headers", default=[], help="Headers of answers that pages may read."),
    cfg.IntOpt("max_age", default=3600, help="Seconds for which browsers remember the answer to a preflight request."),
    cfg.ListOpt(
        "allow_methods",
        default=["OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "PATCH"],
        help="Methods that pages may use.",
    ),
    cfg.ListOpt("allow_headers", default=[], help="Headers that pages may send."),
]
