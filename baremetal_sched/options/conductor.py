"""Options of conductors and of the work they do on machines."""

from oslo_config import cfg

from baremetal_sched import auth_settings

OPTIONS: dict[str, list[cfg.Opt]] = {
    "conductor": [
        cfg.StrOpt(
            "conductor_group", default="", help="Conductor group whose nodes this conductor serves. Not case-sensitive."
        ),
        cfg.FloatOpt("heartbeat_interval", default=10, min=0.05, help="Seconds between heartbeats."),
        cfg.FloatOpt(
            "heartbeat_timeout",
            default=60,
            min=0.1,
            help="Seconds without a heartbeat after which a conductor counts as down.",
        ),
        cfg.FloatOpt("work_interval", default=0.1, min=0.01, help="Seconds between two checks for requested work."),
        cfg.IntOpt(
            "workers_pool_size", default=16, min=1, help="Number of worker threads: work items processed concurrently."
        ),
        cfg.FloatOpt(
            "answer_timeout",
            default=30,
            min=0.1,
            help="Seconds that a request waits for a conductor to answer a driver call.",
        ),
        cfg.FloatOpt(
            "driver_call_interval",
            default=0.01,
            min=0.001,
            help="Seconds between two checks for driver calls, on databases without notifications.",
        ),
        cfg.IntOpt("driver_calls_at_once", default=64, min=1, help="Driver calls made concurrently."),
        *(
            cfg.FloatOpt(
                name, default=default, min=0, help=f"Seconds between two runs of the task that {what}; 0: never."
            )
            for name, default, what in (
                ("check_provision_state_interval", 60, "fails work whose conductor is gone"),
                ("sync_local_state_interval", 180, "takes over active nodes from other conductors"),
                ("sync_power_state_interval", 60, "compares recorded power states with the machines"),
                ("power_failure_recovery_interval", 300, "retries machines whose power state could not be read"),
                ("sync_providers_interval", 60, "compares resource providers with nodes"),
                ("conductor_cleanup_interval", 86400, "deletes conductors that are gone"),
                ("node_history_cleanup_interval", 86400, "deletes old history entries of nodes"),
            )
        ),
        *(
            cfg.FloatOpt(name, default=1800, min=0, help=f"Seconds that a node may stay in '{state}'; 0: no limit.")
            for name, state in (
                ("deploy_callback_timeout", "wait call-back"),
                ("clean_callback_timeout", "clean wait"),
                ("inspect_wait_timeout", "inspect wait"),
                ("rescue_callback_timeout", "rescue wait"),
                ("service_callback_timeout", "service wait"),
            )
        ),
        cfg.FloatOpt("driver_call_timeout", default=600, min=0.1, help="Seconds that one driver call may take."),
        cfg.FloatOpt(
            "power_state_change_timeout",
            default=60,
            min=0.1,
            help="Seconds to wait for a machine to reach the requested power state.",
        ),
        cfg.FloatOpt(
            "soft_power_off_timeout",
            default=600,
            min=0.1,
            help="The same, if the operating system was asked to shut down or to restart.",
        ),
        cfg.FloatOpt(
            "polled_step_timeout",
            default=10800,
            min=0,
            help="Seconds that a step may take whose progress the driver polls; 0: no limit.",
        ),
        cfg.BoolOpt(
            "force_power_state_during_sync",
            default=True,
            help="If a machine's power state changed by itself, restore it instead of recording the new state.",
        ),
        cfg.IntOpt(
            "power_state_sync_max_retries",
            default=3,
            min=0,
            help="Failures to restore or read a power state after which the node is put into maintenance.",
        ),
        cfg.IntOpt("sync_power_state_workers", default=8, min=1, help="Power states read concurrently."),
        cfg.FloatOpt(
            "conductor_cleanup_timeout",
            default=1209600,
            min=0,
            help="Seconds without a heartbeat after which a conductor is deleted.",
        ),
        cfg.IntOpt("node_history_max_entries", default=300, min=0, help="History entries kept for each node."),
        cfg.BoolOpt(
            "automated_clean",
            default=True,
            help="Clean nodes before they become available. A node's own automated_clean takes precedence.",
        ),
        cfg.BoolOpt(
            "allow_deleting_available_nodes",
            default=True,
            help="Let clients delete nodes in the state 'available', too.",
        ),
        *auth_settings.CONDUCTOR,
        *(
            cfg.IntOpt(
                f"max_concurrent_{name}",
                default=0,
                min=0,
                help=f"Maximum number of nodes {what} at the same time, over all conductors; 0: no limit.",
            )
            for name, what in (("deploy", "deployed"), ("clean", "cleaned"))
        ),
        cfg.IntOpt(
            "node_locked_retry_attempts",
            default=10,
            min=1,
            help="Number of times that a request tries to reserve a locked node.",
        ),
        cfg.FloatOpt("node_locked_retry_interval", default=0.2, min=0, help="Seconds between two such attempts."),
    ],
    "agent": [
        cfg.BoolOpt("require_tls", default=False, help="Refuse heartbeats of agents whose callback URL is not HTTPS."),
    ],
    "deploy": [
        cfg.BoolOpt(
            "fast_track",
            default=False,
            help="Keep agents running on machines that are not in use, and use them without a reboot.",
        ),
        cfg.IntOpt(
            "fast_track_timeout",
            default=300,
            min=0,
            max=300,
            help="Seconds after its last heartbeat during which such an agent counts as running.",
        ),
    ],
}
