"""Options of drivers: what is enabled, fake hardware, IPMI and Redfish."""

from oslo_config import cfg

INTERFACE_TYPES = (
    *("bios", "boot", "console", "deploy", "firmware", "inspect", "management", "network", "power", "raid", "rescue"),
    *("storage", "vendor"),
)

ENABLED: list[cfg.Opt] = [
    cfg.ListOpt(
        "enabled_hardware_types",
        default=["fake-hardware", "manual-management"],
        help="Hardware types that this conductor serves.",
    ),
    *(
        option
        for kind in INTERFACE_TYPES
        for option in (
            cfg.ListOpt(f"enabled_{kind}_interfaces", help=f"Enabled {kind} interfaces of nodes on this conductor."),
            cfg.StrOpt(f"default_{kind}_interface", help=f"Default {kind} interface of nodes that do not set one."),
        )
    ),
]


FAKE: dict[str, list[cfg.Opt]] = {
    "fake": [
        cfg.FloatOpt(f"{kind}_delay", default=0, min=0, help=f"Duration of {what}, in seconds.")
        for kind, what in (
            ("power", "a fake power action"),
            ("bios", "a step of the fake bios interface"),
            ("boot", "the preparation of a boot by the fake boot interface"),
            ("deploy", "a fake deployment or its removal"),
            ("firmware", "a fake firmware update"),
            ("inspect", "a fake inspection"),
            ("rescue", "a fake rescue or unrescue"),
            ("storage", "attaching or detaching volumes by the fake storage interface"),
            ("vendor", "a step or an asynchronous method of the fake vendor interface"),
        )
    ],
}


IPMI: dict[str, list[cfg.Opt]] = {
    "ipmi": [
        cfg.IntOpt(
            "command_retry_timeout",
            default=60,
            min=1,
            help="Seconds during which a command that fails for a transient reason is retried.",
        ),
        cfg.IntOpt(
            "min_command_interval", default=5, min=0, help="Seconds between two commands to the same controller."
        ),
        cfg.BoolOpt(
            "use_ipmitool_retries",
            default=False,
            help="Let ipmitool retry within its session, instead of retrying in the service.",
        ),
        cfg.BoolOpt(
            "disable_boot_timeout",
            default=True,
            help="Disable the controllers' 60-second timeout of boot devices. A node's own setting takes precedence.",
        ),
        cfg.MultiStrOpt(
            "additional_retryable_ipmi_errors",
            default=[],
            help="Additional ipmitool error messages after which a command is retried; parts of a message suffice.",
        ),
        cfg.BoolOpt(
            "store_cred_in_env",
            default=False,
            help="Pass the password to ipmitool in its environment instead of through a pipe.",
        ),
        cfg.ListOpt(
            "cipher_suite_versions",
            default=[],
            help="Cipher suites to try, from last to first, if ipmitool's own choice is refused.",
        ),
    ],
}


REDFISH: dict[str, list[cfg.Opt]] = {
    "redfish": [
        cfg.IntOpt(
            "connection_attempts",
            default=5,
            min=1,
            help="Attempts to connect to a controller that refuses or breaks the connection.",
        ),
        cfg.FloatOpt("connection_retry_interval", default=4, min=0, help="Seconds between two such attempts."),
        cfg.FloatOpt("connect_timeout", default=30, min=0.1, help="Timeout of connecting to a controller, in seconds."),
        cfg.FloatOpt("read_timeout", default=60, min=0.1, help="Timeout of a controller's answer, in seconds."),
        cfg.IntOpt(
            "connection_cache_size",
            default=1000,
            min=0,
            help="Authenticated connections to controllers that are kept for later calls; 0: none.",
        ),
        cfg.StrOpt(
            "auth_type",
            default="auto",
            choices=["auto", "basic", "session"],
            help="How to authenticate with controllers. A node's redfish_auth_type takes precedence.",
        ),
        cfg.StrOpt("verify_ca", help="File or directory of CA certificates, for nodes that do not name their own."),
        cfg.IntOpt(
            "power_on_conflict_retry_attempts",
            default=6,
            min=0,
            help="Retries of powering on a machine whose controller answers that it is not ready (409).",
        ),
        cfg.FloatOpt("power_on_conflict_retry_interval", default=10, min=0, help="Seconds between two such attempts."),
        cfg.IntOpt(
            "post_boot_retry_attempts",
            default=6,
            min=1,
            help="Attempts to set the boot device while the machine is starting.",
        ),
        cfg.FloatOpt("post_boot_retry_delay", default=5, min=0, help="Seconds between the first two such attempts."),
        *(
            cfg.FloatOpt(name, default=default, min=0, help=text)
            for name, default, text in (
                (
                    "firmware_update_status_interval",
                    60,
                    "Seconds between two checks of a firmware update, or of BIOS settings being applied.",
                ),
                (
                    "firmware_update_reboot_delay",
                    300,
                    "Seconds after its update within which a controller must report its new version, unless the update "
                    "sets a time.",
                ),
                (
                    "firmware_update_bmc_version_check_interval",
                    30,
                    "Seconds between two checks of a controller's version after its update.",
                ),
                (
                    "firmware_update_nic_starting_wait",
                    30,
                    "Seconds to wait for an update of a network adapter to start before the machine is rebooted.",
                ),
                (
                    "firmware_update_validation_interval",
                    30,
                    "Seconds between two checks whether a controller is usable after an update.",
                ),
                (
                    "firmware_update_resource_validation_timeout",
                    480,
                    "Seconds after an update within which a controller must be usable; 0: do not check.",
                ),
                (
                    "firmware_update_overall_timeout",
                    7200,
                    "Seconds that all updates of a step may take; 0: no limit.",
                ),
            )
        ),
        cfg.IntOpt(
            "firmware_update_required_successes",
            default=3,
            min=0,
            help="Consecutive checks that a controller must pass after an update; 0: do not check.",
        ),
        cfg.StrOpt(
            "inspection_hooks",
            default="validate-interfaces,ports,architecture",
            help="Inspection hooks run on a controller's report, separated by commas.",
        ),
        cfg.FloatOpt(
            "vmedia_insert_timeout",
            default=60,
            min=0,
            help="Seconds within which a controller must report a requested image as inserted.",
        ),
        cfg.FloatOpt(
            "vmedia_insert_poll_interval", default=2, min=0.1, help="Seconds between two checks of the inserted image."
        ),
        cfg.FloatOpt(
            "boot_mode_config_timeout",
            default=900,
            min=0,
            help="Seconds after a reboot within which boot mode or secure boot must have changed; 0: do not wait.",
        ),
    ],
}
