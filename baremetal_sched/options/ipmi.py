"""Options of management controllers that speak IPMI."""

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
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
