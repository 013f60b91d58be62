"""Machines whose management controllers speak Redfish."""

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "redfish": [
        cfg.IntOpt(
            "connection_attempts",
            default=5,
            min=1,
            help="How often to try to connect to a controller that refuses or breaks the connection.",
        ),
        cfg.FloatOpt("connection_retry_interval", default=4, min=0, help="Seconds between two such attempts."),
        cfg.FloatOpt("connect_timeout", default=30, min=0.1, help="Seconds that connecting to a controller may take."),
        cfg.FloatOpt("read_timeout", default=60, min=0.1, help="Seconds that an answer of a controller may take."),
        cfg.IntOpt(
            "connection_cache_size",
            default=1000,
            min=0,
            help="Connections to controllers that are kept, logged in, for later calls; 0: none.",
        ),
        cfg.StrOpt(
            "auth_type",
            default="auto",
            choices=["auto", "basic", "session"],
            help="How to log in at controllers, unless the node says it.",
        ),
        cfg.StrOpt("verify_ca", help="File or folder of certificates of authorities, for nodes that name none."),
        cfg.IntOpt(
            "power_on_conflict_retry_attempts",
            default=6,
            min=0,
            help="How often to try again to switch a machine on whose controller says that it is not ready (409).",
        ),
        cfg.FloatOpt("power_on_conflict_retry_interval", default=10, min=0, help="Seconds between two such attempts."),
        cfg.IntOpt(
            "post_boot_retry_attempts",
            default=6,
            min=1,
            help="How often to try to set a boot device while the machine is starting.",
        ),
        cfg.FloatOpt("post_boot_retry_delay", default=5, min=0, help="Seconds between the first two such attempts."),
        *(
            cfg.FloatOpt(name, default=default, min=0, help=text)
            for name, default, text in (
                (
                    "firmware_update_status_interval",
                    60,
                    "Seconds between two looks at an update of firmware, or at BIOS settings that are being applied.",
                ),
                (
                    "firmware_update_reboot_delay",
                    300,
                    "Seconds after its update within which a controller has to show its new version, unless the update "
                    "says how long.",
                ),
                (
                    "firmware_update_bmc_version_check_interval",
                    30,
                    "Seconds between two looks at the version of a controller after its update.",
                ),
                (
                    "firmware_update_nic_starting_wait",
                    30,
                    "Seconds that an update of a network adapter may be starting until the machine is rebooted.",
                ),
                (
                    "firmware_update_validation_interval",
                    30,
                    "Seconds between two looks whether a controller is usable after an update.",
                ),
                (
                    "firmware_update_resource_validation_timeout",
                    480,
                    "Seconds after an update within which a controller has to be usable; 0: that is not looked at.",
                ),
                (
                    "firmware_update_overall_timeout",
                    7200,
                    "Seconds that all updates of a step may take; 0: for ever.",
                ),
            )
        ),
        cfg.IntOpt(
            "firmware_update_required_successes",
            default=3,
            min=0,
            help="How often in a row a controller has to be usable after an update; 0: that is not looked at.",
        ),
        cfg.StrOpt(
            "inspection_hooks",
            default="validate-interfaces,ports,architecture",
            help="Inspection hooks for what controllers say is in machines, separated by commas.",
        ),
        cfg.FloatOpt(
            "vmedia_insert_timeout",
            default=60,
            min=0,
            help="Seconds after which a controller has to say that an image is inserted that it was asked to insert.",
        ),
        cfg.FloatOpt("vmedia_insert_poll_interval", default=2, min=0.1, help="Seconds between two looks at that."),
        cfg.FloatOpt(
            "boot_mode_config_timeout",
            default=900,
            min=0,
            help="Seconds after a reboot in which boot mode or secure boot have to have changed; 0: do not wait.",
        ),
    ],
}
