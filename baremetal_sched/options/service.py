"""The service as a whole: its name, its log, its API, and what is in front of it."""

import socket

from oslo_config import cfg

from baremetal_sched import auth_settings
from baremetal_sched.options import drivers
from baremetal_sched.releases import RELEASES

OPTIONS: dict[str, list[cfg.Opt]] = {
    "DEFAULT": [
        *auth_settings.DEFAULT,
        cfg.StrOpt("host", default=socket.gethostname(), help="Name under which this conductor registers."),
        *drivers.ENABLED,
        cfg.StrOpt("default_resource_class", help="Resource class of a node that is created without one."),
        cfg.StrOpt(
            "default_conductor_group", default="", help="Conductor group of a node that is created without one."
        ),
        cfg.StrOpt(
            "default_portgroup_mode", default="active-backup", help="Mode of a portgroup that is created without one."
        ),
        cfg.IntOpt(
            "hash_partition_exponent",
            default=5,
            min=0,
            max=12,
            help="A conductor has 2 to this power points on the hash ring. The same everywhere, or owners differ.",
        ),
        cfg.StrOpt(
            "pin_release_version",
            choices=RELEASES,
            help="Behave like this release of Ironic, while others of it are still running.",
        ),
        cfg.FloatOpt(
            "graceful_shutdown_timeout",
            default=60,
            min=0,
            help="Seconds that a conductor may take to finish its work when it is stopped.",
        ),
        cfg.StrOpt(
            "log_level", default="INFO", choices=["DEBUG", "INFO", "WARNING", "ERROR"], help="Least level logged."
        ),
        cfg.StrOpt("log_format", default="json", choices=["json", "console"], help="How log lines look."),
    ],
    "api": [
        *auth_settings.API,
        cfg.FloatOpt(
            "request_timeout",
            default=45,
            min=1,
            help="Seconds from its acceptance until a request that waits for the database is answered with 503.",
        ),
        cfg.IntOpt(
            "max_requests_at_work",
            default=8,
            min=1,
            help="Requests that a process works on at the same time; others wait for their turn.",
        ),
        cfg.IntOpt(
            "max_requests_waiting",
            default=48,
            min=0,
            help="Requests of a process that may wait for machines and locked nodes at the same time.",
        ),
        cfg.IntOpt("max_limit", default=1000, min=1, help="Most items in one page of a list."),
        cfg.StrOpt("public_endpoint", help="Scheme and host to put into links instead of the request's own."),
        cfg.IntOpt("max_json_body_size", default=1024 * 1024, min=1024, help="Largest request body, in bytes."),
        cfg.IntOpt("max_json_body_depth", default=25, min=1, max=100, help="Deepest nesting of a JSON request body."),
        cfg.IntOpt("max_patch_operations", default=1000, min=1, help="Most operations in the body of a PATCH."),
        cfg.BoolOpt("enable_ramdisk_endpoints", default=True, help="Serve agents: lookup, heartbeat, inspections."),
        cfg.BoolOpt("restrict_lookup", default=True, help="Let agents look up only nodes that they may be running on."),
        cfg.IntOpt("ramdisk_heartbeat_timeout", default=300, min=1, help="Seconds between heartbeats of an agent."),
    ],
    "ui": [
        cfg.BoolOpt(
            "enabled",
            default=True,
            help="Serve pages for browsers at /ui. Never with auth_strategy keystone; with none on loopback only.",
        ),
    ],
    "oslo_middleware": [
        cfg.BoolOpt(
            "enable_proxy_headers_parsing",
            default=False,
            help="Believe X-Forwarded-Proto, -Host and -Prefix. Only behind a proxy that sets them.",
        ),
    ],
}
