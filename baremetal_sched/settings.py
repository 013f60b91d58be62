"""Every option of the service, by group.

Groups and names are those of Ironic and Placement where they have one, so an operator finds what he knows. Values come
from INI files (``--config-file``), then from the environment (``OS_<GROUP>__<OPTION>``, oslo.config's own driver), then
from the command line. There is no global: whoever needs an option is handed the settings.

``[oslo_policy]`` and ``[cors]`` are those of the libraries oslo.policy and oslo.middleware.
"""

import socket
from collections.abc import Iterable, Mapping
from typing import Any

from oslo_config import cfg
from oslo_middleware import cors
from oslo_policy import opts as policy_opts

from baremetal_sched.releases import RELEASES

#: The settings as everybody sees them: ``settings.api.max_limit``.
Settings = cfg.ConfigOpts

ZERO_UUID = "00000000-0000-0000-0000-000000000000"

OPTIONS: dict[str, list[cfg.Opt]] = {
    "DEFAULT": [
        cfg.StrOpt("host", default=socket.gethostname(), help="Name under which this conductor registers."),
        cfg.ListOpt(
            "enabled_hardware_types",
            default=["fake-hardware", "manual-management"],
            help="Hardware types that this conductor serves.",
        ),
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
        cfg.StrOpt(
            "auth_strategy",
            default="none",
            choices=["none", "noauth2"],
            help="How callers are authenticated: not at all, or (for tests only) by whatever they claim to be.",
        ),
        cfg.IntOpt("max_limit", default=1000, min=1, help="Most items in one page of a list."),
        cfg.StrOpt("public_endpoint", help="Scheme and host to put into links instead of the request's own."),
        cfg.IntOpt("max_json_body_size", default=1024 * 1024, min=1024, help="Largest request body, in bytes."),
        cfg.IntOpt("max_json_body_depth", default=25, min=1, help="Deepest nesting of a JSON request body."),
        cfg.BoolOpt("enable_ramdisk_endpoints", default=True, help="Serve agents: lookup, heartbeat, inspections."),
        cfg.BoolOpt("restrict_lookup", default=True, help="Let agents look up only nodes that they may be running on."),
        cfg.IntOpt("ramdisk_heartbeat_timeout", default=300, min=1, help="Seconds between heartbeats of an agent."),
    ],
    "agent": [
        cfg.BoolOpt("require_tls", default=False, help="Refuse heartbeats of agents that are not reached by HTTPS."),
    ],
    "deploy": [
        cfg.BoolOpt(
            "fast_track", default=False, help="Let agents wait on machines that are out of use, and use them there."
        ),
        cfg.IntOpt(
            "fast_track_timeout",
            default=300,
            min=0,
            max=300,
            help="Seconds after its last heartbeat for which such an agent is believed to be there.",
        ),
    ],
    "oslo_middleware": [
        cfg.BoolOpt(
            "enable_proxy_headers_parsing",
            default=False,
            help="Believe X-Forwarded-Proto, -Host and -Prefix. Only behind a proxy that sets them.",
        ),
    ],
    "database": [
        cfg.StrOpt("connection", default="sqlite:///baremetal-sched.sqlite", secret=True, help="SQLAlchemy URL."),
        cfg.IntOpt(
            "max_pool_size",
            default=10,
            min=1,
            help="Connections that a process keeps open to read, and as many to write.",
        ),
        cfg.IntOpt("max_overflow", default=20, min=0, help="Connections that it may open on top when busy."),
        cfg.IntOpt("pool_timeout", default=30, min=1, help="Seconds to wait for a free connection."),
        cfg.IntOpt("connection_recycle_time", default=1800, min=1, help="Seconds after which a connection is renewed."),
        cfg.IntOpt(
            "connect_timeout", default=5, min=1, help="Seconds to wait for the database to accept a connection."
        ),
        cfg.IntOpt(
            "idle_transaction_timeout",
            default=10,
            min=1,
            help="Seconds that a transaction may stand still, as of a suspended process, until the database ends it.",
        ),
        cfg.IntOpt(
            "transaction_retries",
            default=20,
            min=1,
            help="How often a transaction that lost a deadlock or a race is run at the most.",
        ),
    ],
    "conductor": [
        cfg.StrOpt(
            "conductor_group", default="", help="Group of nodes that this conductor serves. Case does not count."
        ),
        cfg.FloatOpt("heartbeat_interval", default=10, min=0.05, help="Seconds between heartbeats."),
        cfg.FloatOpt(
            "heartbeat_timeout", default=60, min=0.1, help="Seconds without a heartbeat until a conductor is down."
        ),
        cfg.FloatOpt("work_interval", default=0.1, min=0.01, help="Seconds between two looks for requested work."),
        cfg.IntOpt("workers_pool_size", default=16, min=1, help="Pieces of work done at the same time."),
        *(
            cfg.FloatOpt(name, default=default, min=0, help=f"Seconds between two times of {what}; 0: never.")
            for name, default, what in (
                ("check_provision_state_interval", 60, "looking for work that nobody does any more"),
                ("sync_local_state_interval", 180, "taking over active nodes from other conductors"),
                ("sync_power_state_interval", 60, "comparing power states with the machines"),
                ("power_failure_recovery_interval", 300, "trying machines whose power state could not be read"),
                ("sync_providers_interval", 60, "comparing resource providers with nodes"),
                ("conductor_cleanup_interval", 86400, "deleting conductors that are gone"),
                ("node_history_cleanup_interval", 86400, "deleting old history of nodes"),
            )
        ),
        *(
            cfg.FloatOpt(name, default=1800, min=0, help=f"Seconds that a node may be in '{state}'; 0: for ever.")
            for name, state in (
                ("deploy_callback_timeout", "wait call-back"),
                ("clean_callback_timeout", "clean wait"),
                ("inspect_wait_timeout", "inspect wait"),
                ("rescue_callback_timeout", "rescue wait"),
                ("service_callback_timeout", "service wait"),
            )
        ),
        cfg.BoolOpt(
            "force_power_state_during_sync",
            default=True,
            help="Switch a machine whose power changed by itself back, instead of noting its new state.",
        ),
        cfg.IntOpt(
            "power_state_sync_max_retries",
            default=3,
            min=0,
            help="How often to try that, or to read a power state, until the node is put into maintenance.",
        ),
        cfg.IntOpt("sync_power_state_workers", default=8, min=1, help="Power states that are read at the same time."),
        cfg.FloatOpt(
            "conductor_cleanup_timeout",
            default=1209600,
            min=0,
            help="Seconds without a heartbeat until a conductor is deleted.",
        ),
        cfg.IntOpt("node_history_max_entries", default=300, min=0, help="Entries of its history that a node keeps."),
        cfg.BoolOpt(
            "automated_clean", default=True, help="Clean nodes before they become available, unless they say otherwise."
        ),
        cfg.BoolOpt(
            "allow_deleting_available_nodes",
            default=True,
            help="Let clients delete nodes that are available, and not only those that are out of use.",
        ),
        cfg.BoolOpt(
            "automatic_lessee",
            default=True,
            help="Make the project that deploys a node its lessee, if it has none, until it is undeployed.",
        ),
        *(
            cfg.IntOpt(
                f"max_concurrent_{name}",
                default=0,
                min=0,
                help=f"Most nodes that may be {what} at once in the whole installation; 0: any number.",
            )
            for name, what in (("deploy", "deployed"), ("clean", "cleaned"))
        ),
        cfg.IntOpt("node_locked_retry_attempts", default=10, min=1, help="How often a request tries a locked node."),
        cfg.FloatOpt("node_locked_retry_interval", default=0.2, min=0, help="Seconds between two such attempts."),
    ],
    "inspector": [
        cfg.StrOpt(
            "add_ports",
            default="pxe",
            choices=["all", "active", "pxe", "disabled"],
            help="Interfaces found by an agent that become ports: all, with an IP address, booted from, none.",
        ),
        cfg.StrOpt(
            "keep_ports",
            default="all",
            choices=["all", "present", "added"],
            help="Ports that a node keeps: all, those of interfaces that were found, those that add_ports names.",
        ),
        cfg.BoolOpt(
            "update_pxe_enabled",
            default=True,
            help="Set pxe_enabled of ports by what their machine booted from.",
        ),
        cfg.BoolOpt(
            "pre_create_ports",
            default=True,
            help="Make ports of the addresses that management controllers know before an agent inspects a machine.",
        ),
        cfg.BoolOpt("power_off", default=True, help="Switch a machine off when its agent has reported an inspection."),
        cfg.StrOpt(
            "default_hooks",
            default="ramdisk-error,validate-interfaces,ports,architecture",
            help="What hooks is, if it is not set.",
        ),
        cfg.StrOpt(
            "hooks", default="$default_hooks", help="Inspection hooks that are run on what an agent reports, in order."
        ),
        cfg.DictOpt(
            "cpu_capabilities",
            default={
                "vmx": "cpu_vt",
                "svm": "cpu_vt",
                "aes": "cpu_aes",
                "pse": "cpu_hugepages",
                "pdpe1gb": "cpu_hugepages_1g",
                "smx": "cpu_txt",
            },
            help="Capability that the hook cpu-capabilities sets, by flag of the CPU.",
        ),
        cfg.MultiStrOpt(
            "pci_device_alias",
            default=[],
            help="A PCI device that the hook pci-devices counts: an object with vendor_id, product_id, name.",
        ),
        cfg.ListOpt(
            "physical_network_cidr_map",
            default=[],
            help="For the hook physical-network: entries such as 10.1.0.0/16:physnet1.",
        ),
        cfg.BoolOpt(
            "disk_partitioning_spacing",
            default=True,
            help="For the hook root-device: local_gb is 1 less than the size of the disk.",
        ),
        cfg.BoolOpt(
            "extra_hardware_strict",
            default=False,
            help="For the hook extra-hardware: drop the whole list if an entry is not as long as it has to be.",
        ),
        cfg.StrOpt(
            "known_accelerators",
            help="For the hook accelerators: file of YAML with PCI devices, instead of those that are known without.",
        ),
    ],
    "auto_discovery": [
        cfg.BoolOpt("enabled", default=False, help="Enrol machines that nobody knows when an agent reports them."),
        cfg.StrOpt("driver", help="Driver of nodes that are enrolled so."),
    ],
    "inspection_rules": [
        cfg.StrOpt("built_in_rules", help="File of YAML with inspection rules that are always there."),
        cfg.StrOpt(
            "mask_secrets",
            default="always",
            choices=["always", "never", "sensitive"],
            help="Do inspection rules see stars for passwords and tokens? sensitive: those that are not sensitive do.",
        ),
    ],
    "placement": [
        cfg.StrOpt(
            "incomplete_consumer_project_id",
            default=ZERO_UUID,
            help="Project of a consumer whose allocations were written below microversion 1.8.",
        ),
        cfg.StrOpt("incomplete_consumer_user_id", default=ZERO_UUID, help="Its user."),
        cfg.BoolOpt(
            "randomize_allocation_candidates",
            default=False,
            help="Answer with a random choice of candidates, in random order, instead of always the same ones.",
        ),
        cfg.IntOpt(
            "max_allocation_candidates",
            default=-1,
            min=-1,
            help="Stop looking after so many candidates, whatever the client's limit; -1: look on.",
        ),
        cfg.StrOpt(
            "allocation_candidates_generation_strategy",
            default="depth-first",
            choices=["depth-first", "breadth-first"],
            help="Take all candidates of a tree before those of the next, or one of each tree in turn.",
        ),
    ],
    "fake": [
        cfg.FloatOpt(f"{kind}_delay", default=0, min=0, help=f"Seconds that {what} takes.")
        for kind, what in (
            ("power", "a fake power action"),
            ("bios", "a step of the fake bios interface"),
            ("boot", "preparing a boot with the fake boot interface"),
            ("deploy", "a fake deployment, or taking one away,"),
            ("firmware", "a fake firmware update"),
            ("inspect", "a fake inspection"),
            ("rescue", "a fake rescue, or its end,"),
            ("storage", "attaching or detaching volumes with the fake storage interface"),
            ("vendor", "a step or an asynchronous method of the fake vendor interface"),
        )
    ],
}


def load(config_files: Iterable[str] = (), overrides: Mapping[str, Mapping[str, Any]] | None = None) -> Settings:
    """Settings from files, the environment and ``overrides`` (``{group: {option: value}}``, the strongest).

    Every value is checked here, so that a wrong one stops the start and not a request an hour later.
    Raises oslo.config's ``cfg.Error`` family: an unreadable file, an unknown option in ``overrides``, a bad value.
    """
    settings = cfg.ConfigOpts()
    for group, options in OPTIONS.items():
        settings.register_opts(options, group=None if group == "DEFAULT" else group)
    policy_opts.set_defaults(settings)
    settings.register_opts(cors.CORS_OPTS, "cors")
    settings(args=[], project="baremetal-sched", default_config_files=list(config_files), default_config_dirs=[])
    for group, values in (overrides or {}).items():
        for option, value in values.items():
            settings.set_override(option, value, group=None if group == "DEFAULT" else group)
    _check(settings)
    return settings


def _check(settings: Settings) -> None:
    for group, options in OPTIONS.items():
        section = settings if group == "DEFAULT" else getattr(settings, group)
        for option in options:
            getattr(section, option.dest)
    if settings.conductor.heartbeat_timeout <= settings.conductor.heartbeat_interval:
        raise cfg.Error("[conductor] heartbeat_timeout has to be longer than heartbeat_interval")
    if settings.auto_discovery.enabled and not settings.auto_discovery.driver:
        raise cfg.Error("[auto_discovery] driver has to be set if auto-discovery is enabled")
    if settings.conductor.conductor_cleanup_timeout < 3 * settings.conductor.heartbeat_timeout:
        raise cfg.Error("[conductor] conductor_cleanup_timeout has to be at least three times heartbeat_timeout")
