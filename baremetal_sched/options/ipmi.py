"""Machines whose management controllers speak IPMI."""

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "ipmi": [
        cfg.IntOpt(
            "command_retry_timeout",
            default=60,
            min=1,
            help="Seconds for which a command is tried again that fails in a way that passes.",
        ),
        cfg.IntOpt(
            "min_command_interval", default=5, min=0, help="Seconds between two commands to the same controller."
        ),
        cfg.BoolOpt(
            "use_ipmitool_retries", default=False, help="Let ipmitool try again, within a session, and not the service."
        ),
        cfg.BoolOpt(
            "disable_boot_timeout",
            default=True,
            help="Tell controllers to keep a boot device for longer than 60 seconds, unless the node says otherwise.",
        ),
        cfg.MultiStrOpt(
            "additional_retryable_ipmi_errors",
            default=[],
            help="Texts in messages of ipmitool after which a command is tried again.",
        ),
        cfg.BoolOpt(
            "store_cred_in_env",
            default=False,
            help="Give ipmitool the password in its environment, and not through a pipe.",
        ),
        cfg.ListOpt(
            "cipher_suite_versions",
            default=[],
            help="Cipher suites to try, the last one first, where the one that ipmitool chooses is refused.",
        ),
    ],
}
