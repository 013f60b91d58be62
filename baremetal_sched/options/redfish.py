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
    ],
}
