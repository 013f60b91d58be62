"""Options of drivers: enabled ones, fake hardware, IPMI and Redfish."""

from oslo_config import cfg

#: The types of interfaces, each with what it is for.
_PURPOSES = {
    "bios": "BIOS settings",
    "boot": "what a machine boots",
    "console": "consoles",
    "deploy": "deployments",
    "firmware": "updates of firmware",
    "inspect": "inspections",
    "management": "boot devices, boot modes, indicators and virtual media",
    "network": "the ports of a machine and virtual networks",
    "power": "power",
    "raid": "logical disks",
    "rescue": "rescuing",
    "storage": "remote volumes",
    "vendor": "methods that only some hardware has",
}
INTERFACE_TYPES = tuple(_PURPOSES)


def _interface_options(kind: str, purpose: str) -> list[cfg.Opt]:
    return [
        cfg.ListOpt(
            f"enabled_{kind}_interfaces",
            help=f"The interfaces for {purpose} that nodes may have on this conductor. The conductor does not start if "
            "a named interface cannot be loaded; the message says what to install. If the option is not set, all "
            "interfaces are enabled that the enabled hardware types list, except those whose libraries are missing: "
            "these are left out, with a line in the log. Every enabled hardware type needs an interface of each type. "
            "A node that has an interface which is not enabled keeps it, but operations that need it fail.",
        ),
        cfg.StrOpt(
            f"default_{kind}_interface",
            help=f"The interface for {purpose} of nodes that do not name one. It must be enabled, and supported by "
            "every enabled hardware type. If the option is not set, it is the first enabled one in the hardware type's "
            "own order.",
        ),
    ]


ENABLED: list[cfg.Opt] = [
    cfg.ListOpt(
        "enabled_hardware_types",
        default=["fake-hardware", "manual-management"],
        help="Hardware types that this conductor serves. Each must be installed, with this service or with a package "
        "of drivers. The conductor does not start if one cannot be loaded.",
    ),
    *(option for kind, purpose in _PURPOSES.items() for option in _interface_options(kind, purpose)),
]


FAKE: dict[str, list[cfg.Opt]] = {
    "fake": [
        cfg.FloatOpt(f"{kind}_delay", default=0, min=0, help=f"Seconds that {what} takes.")
        for kind, what in (
            ("power", "a power action of ``fake-hardware``"),
            ("bios", "a step of the ``fake`` bios interface"),
            ("boot", "preparing a boot with the ``fake`` boot interface"),
            ("deploy", "a fake deployment, or its removal,"),
            ("firmware", "a fake firmware update"),
            ("inspect", "a fake inspection"),
            ("rescue", "a fake rescue, or its end,"),
            ("storage", "attaching or detaching volumes with the ``fake`` storage interface"),
            ("vendor", "a step or an asynchronous method of the ``fake`` vendor interface"),
        )
    ],
}


IPMI: dict[str, list[cfg.Opt]] = {
    "ipmi": [
        cfg.IntOpt(
            "command_retry_timeout",
            default=60,
            min=1,
            help="Seconds for which a command is tried again after a temporary failure: the controller does not "
            "answer, or is busy. If a request waits for the command, the limit is a large part of ``[conductor] "
            "answer_timeout``, if that is shorter.",
        ),
        cfg.IntOpt(
            "min_command_interval",
            default=5,
            min=0,
            help="Seconds between two commands to the same controller. Some controllers fail if commands follow too "
            "fast.",
        ),
        cfg.BoolOpt(
            "use_ipmitool_retries",
            default=False,
            help="Let ipmitool, instead of the service, repeat commands within a session.",
        ),
        cfg.BoolOpt(
            "disable_boot_timeout",
            default=True,
            help="Tell controllers to keep a boot device for longer than 60 seconds. ``ipmi_disable_boot_timeout`` of "
            "a node takes precedence, because some controllers refuse this command.",
        ),
        cfg.MultiStrOpt(
            "additional_retryable_ipmi_errors",
            default=[],
            help="Texts in messages of ipmitool after which a command is tried again. May be given several times.",
        ),
        cfg.BoolOpt(
            "store_cred_in_env",
            default=False,
            help="Pass the password to ipmitool in its environment instead of through a pipe, for builds of ipmitool "
            "that read passwords only from regular files.",
        ),
        cfg.ListOpt(
            "cipher_suite_versions",
            default=[],
            help="Cipher suites to try, the last one first, if the one that ipmitool chooses is refused. For nodes "
            "without ``ipmi_cipher_suite``.",
        ),
    ],
}


REDFISH: dict[str, list[cfg.Opt]] = {
    "redfish": [
        cfg.IntOpt(
            "connection_attempts",
            default=5,
            min=1,
            help="How many times to try to connect to a controller that refuses or breaks the connection. After a "
            "time-out there is no further attempt.",
        ),
        cfg.FloatOpt("connection_retry_interval", default=4, min=0, help="Seconds between two such attempts."),
        cfg.FloatOpt("connect_timeout", default=30, min=0.1, help="Seconds that connecting to a controller may take."),
        cfg.FloatOpt(
            "read_timeout",
            default=60,
            min=0.1,
            help="Seconds that an answer of a controller may take, from the request to its end.",
        ),
        cfg.IntOpt(
            "connection_cache_size",
            default=1000,
            min=0,
            help="The number of connections to controllers that are kept, logged in, for later calls: one for each "
            "combination of address, user and password. Surplus connections are logged out, and all of them when "
            "the conductor stops. 0: none is kept.",
        ),
        cfg.StrOpt(
            "auth_type",
            default="auto",
            choices=["auto", "basic", "session"],
            help="How to log in at controllers: ``basic``, ``session``, or ``auto``, which is ``session`` if the "
            "controller has that. ``redfish_auth_type`` of a node takes precedence.",
        ),
        cfg.StrOpt(
            "verify_ca",
            help="File or folder of certificates of authorities, for nodes whose ``redfish_verify_ca`` is missing or "
            "true. Without it, these are the authorities that requests, the library, trusts.",
        ),
        cfg.IntOpt(
            "power_on_conflict_retry_attempts",
            default=6,
            min=0,
            help="How often to try again to switch a machine on whose controller refuses it for a while after it was "
            "switched off (HTTP 409, ``ActionParameterValueConflict``).",
        ),
        cfg.FloatOpt("power_on_conflict_retry_interval", default=10, min=0, help="Seconds between two such attempts."),
        cfg.IntOpt(
            "post_boot_retry_attempts",
            default=6,
            min=1,
            help="How often to try to set a boot device that the controller refuses because the machine is just "
            "starting.",
        ),
        cfg.FloatOpt(
            "post_boot_retry_delay",
            default=5,
            min=0,
            help="Seconds between the first two of these attempts; each pause is twice as long as the one before, up "
            "to six times this.",
        ),
        *(
            cfg.FloatOpt(name, default=default, min=0, help=text)
            for name, default, text in (
                (
                    "firmware_update_status_interval",
                    60,
                    "Seconds between two checks of a firmware update, or of BIOS settings that are being applied.",
                ),
                (
                    "firmware_update_reboot_delay",
                    300,
                    "Seconds after its update within which a controller must show its new version, unless the "
                    "update has a ``wait``. If the controller answers by then and shows the old version, it is "
                    "assumed to have had that version already.",
                ),
                (
                    "firmware_update_bmc_version_check_interval",
                    30,
                    "Seconds between two checks of the version of a controller after its update.",
                ),
                (
                    "firmware_update_nic_starting_wait",
                    30,
                    "Seconds that an update of a network adapter may be starting; then the machine is rebooted, "
                    "which some adapters need.",
                ),
                (
                    "firmware_update_validation_interval",
                    30,
                    "Seconds between two checks whether a controller is usable after an update.",
                ),
                (
                    "firmware_update_resource_validation_timeout",
                    480,
                    "Seconds after an update within which the controller must pass these checks "
                    "(``firmware_update_required_successes``). 0: no check.",
                ),
                (
                    "firmware_update_overall_timeout",
                    7200,
                    "Seconds that all updates of one step may take. 0: no limit.",
                ),
            )
        ),
        cfg.IntOpt(
            "firmware_update_required_successes",
            default=3,
            min=0,
            help="How many times in a row a controller must be usable after an update, which means that machine, "
            "controller and network adapters can be read. 0: no check.",
        ),
        cfg.StrOpt(
            "inspection_hooks",
            default="validate-interfaces,ports,architecture",
            help="Inspection hooks for the hardware that controllers report, separated by commas. The hooks are those "
            "of ``[inspector] hooks``.",
        ),
        cfg.FloatOpt(
            "vmedia_insert_timeout",
            default=60,
            min=0,
            help="Seconds within which a controller must confirm that an image is inserted. A controller that does "
            "not report this is not checked.",
        ),
        cfg.FloatOpt("vmedia_insert_poll_interval", default=2, min=0.1, help="Seconds between two of these checks."),
        cfg.FloatOpt(
            "boot_mode_config_timeout",
            default=900,
            min=0,
            help="Seconds within which a new boot mode, or a change of secure boot, must take effect after the "
            "machine has been rebooted for it. It is rebooted only if the change does not take effect at once. 0: "
            "do not wait.",
        ),
    ],
}
