"""Options of the whole service: names and defaults, logs, and the API."""

import socket

from oslo_config import cfg

from baremetal_sched import auth_settings
from baremetal_sched.options import hardware
from baremetal_sched.releases import RELEASES

OPTIONS: dict[str, list[cfg.Opt]] = {
    "DEFAULT": [
        *auth_settings.DEFAULT,
        cfg.StrOpt(
            "host", default=socket.gethostname(), help="Host name with which this conductor registers. Must be unique."
        ),
        *hardware.ENABLED,
        cfg.StrOpt("default_resource_class", help="Resource class of nodes created without one."),
        cfg.StrOpt("default_conductor_group", default="", help="Conductor group of nodes created without one."),
        cfg.StrOpt("default_portgroup_mode", default="active-backup", help="Mode of portgroups created without one."),
        cfg.IntOpt(
            "hash_partition_exponent",
            default=5,
            min=0,
            max=12,
            help="Each conductor has 2^N points on the hash ring. All services must use the same value.",
        ),
        cfg.StrOpt(
            "pin_release_version",
            choices=RELEASES,
            help="Behave like this release of Ironic, for upgrades while older services are still running.",
        ),
        cfg.FloatOpt(
            "graceful_shutdown_timeout",
            default=60,
            min=0,
            help="Seconds that a stopped conductor has to finish its work.",
        ),
        cfg.StrOpt(
            "log_level",
            default="INFO",
            choices=["DEBUG", "INFO", "WARNING", "ERROR"],
            help="Minimum level of log messages.",
        ),
        cfg.StrOpt("log_format", default="json", choices=["json", "console"], help="Format of log lines."),
    ],
    "api": [
        *auth_settings.API,
        cfg.FloatOpt(
            "request_timeout",
            default=45,
            min=1,
            help="Seconds after which a request that still waits for the database is answered with 503.",
        ),
        cfg.IntOpt(
            "max_requests_at_work",
            default=8,
            min=1,
            help="Requests that a process handles concurrently; further ones are queued.",
        ),
        cfg.IntOpt(
            "max_requests_waiting",
            default=48,
            min=0,
            help="Requests of a process that may wait for machines and locked nodes concurrently.",
        ),
        cfg.IntOpt("max_limit", default=1000, min=1, help="Maximum number of items in one page of a list."),
        cfg.StrOpt("public_endpoint", help="Scheme and host of links, if they differ from the request's."),
        cfg.IntOpt(
            "max_json_body_size", default=1024 * 1024, min=1024, help="Maximum size of a request body, in bytes."
        ),
        cfg.IntOpt(
            "max_json_body_depth", default=25, min=1, max=100, help="Maximum nesting depth of a JSON request body."
        ),
        cfg.IntOpt("max_patch_operations", default=1000, min=1, help="Maximum number of operations in one PATCH."),
        cfg.BoolOpt(
            "enable_ramdisk_endpoints",
            default=True,
            help="Serve the endpoints of agents: lookup, heartbeat and inspection reports.",
        ),
        cfg.BoolOpt(
            "restrict_lookup",
            default=True,
            help="Let agents look up only nodes in states in which an agent may be running.",
        ),
        cfg.IntOpt("ramdisk_heartbeat_timeout", default=300, min=1, help="Seconds between two heartbeats of an agent."),
    ],
    "ui": [
        cfg.BoolOpt(
            "enabled",
            default=True,
            help="Serve the web pages at /ui. Not with auth_strategy keystone; with none on loopback only.",
        ),
    ],
    "oslo_middleware": [
        cfg.BoolOpt(
            "enable_proxy_headers_parsing",
            default=False,
            help="Trust X-Forwarded-Proto, -Host and -Prefix. Only behind a proxy that sets them.",
        ),
    ],
}
