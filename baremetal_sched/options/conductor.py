"""Conductors, and the machines that they deploy."""

from oslo_config import cfg

from baremetal_sched import auth_settings

OPTIONS: dict[str, list[cfg.Opt]] = {
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
        cfg.FloatOpt(
            "answer_timeout",
            default=30,
            min=0.1,
            help="Seconds for which a request waits until a conductor has called a driver for it.",
        ),
        cfg.FloatOpt(
            "driver_call_interval",
            default=0.01,
            min=0.001,
            help="Seconds between two looks for such calls, on databases that do not tell of them.",
        ),
        cfg.IntOpt("driver_calls_at_once", default=64, min=1, help="Such calls that are made at the same time."),
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
        cfg.FloatOpt("driver_call_timeout", default=600, min=0.1, help="Seconds that one call of a driver may take."),
        cfg.FloatOpt(
            "power_state_change_timeout",
            default=60,
            min=0.1,
            help="Seconds for which a machine is waited for whose power was switched.",
        ),
        cfg.FloatOpt(
            "soft_power_off_timeout",
            default=600,
            min=0.1,
            help="The same where the operating system was asked to shut down, or to restart.",
        ),
        cfg.FloatOpt(
            "polled_step_timeout",
            default=10800,
            min=0,
            help="Seconds that a machine may be busy with a step whose progress its driver is asked for; 0: for ever.",
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
        *auth_settings.CONDUCTOR,
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
}
