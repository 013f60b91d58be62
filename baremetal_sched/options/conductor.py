"""Options of conductors and of the work they do on machines."""

from oslo_config import cfg, types

from baremetal_sched import auth_settings
from baremetal_sched.options import kinds

OPTIONS: dict[str, list[cfg.Opt]] = {
    "conductor": [
        cfg.Opt(
            "deploy_iso",
            type=kinds.URL,
            help="URL of the ISO image with an agent that machines boot by virtual media, unless their ``driver_info`` "
            "names another one.",
        ),
        cfg.Opt(
            "deploy_iso_by_arch",
            type=types.Dict(kinds.URL),
            default={},
            help="The same by architecture (``cpu_arch`` in ``properties``), as in ``x86_64:http://…,aarch64:http://…``.",
        ),
        cfg.ListOpt(
            "permitted_image_formats",
            default=["raw", "gpt", "qcow2", "iso"],
            help="Formats of images that agents write, as they find them in the image itself. An image that says "
            "of itself that it has another one is refused when its node is validated.",
        ),
        cfg.BoolOpt(
            "disable_deep_image_inspection",
            default=False,
            help="Let agents write images without looking into them. Images by users can then harm the agent.",
        ),
        cfg.Opt(
            "conductor_group",
            type=kinds.GROUP,
            default="",
            help="The conductor group of this conductor: it serves the nodes of the group. Letter case is ignored. "
            "Empty is the default group: its conductors serve only nodes without a conductor group. Command line: "
            "``conductor --group``, ``serve --group``.",
        ),
        cfg.IntOpt(
            "allocation_wait",
            default=0,
            min=0,
            help="The number of seconds that a new allocation waits until a node is free, at most ``[scheduling] "
            "max_wait``; 0: it fails if none is free. The header ``Prefer: allocation-wait=3600`` overrides this for "
            "one request.",
        ),
        cfg.FloatOpt(
            "heartbeat_interval",
            default=10,
            min=0.05,
            help="Seconds between the heartbeats of a conductor. A conductor that starts with the host name of another "
            "one that may be alive waits for two intervals: if there is a heartbeat in that time, it exits with a "
            "message; otherwise it takes over.",
        ),
        cfg.FloatOpt(
            "heartbeat_timeout",
            default=60,
            min=0.1,
            help="Seconds without a heartbeat after which a conductor is considered dead. It must be longer than "
            "``heartbeat_interval``, and the same in every process.",
        ),
        cfg.FloatOpt(
            "work_interval",
            default=0.1,
            min=0.01,
            help="Seconds after which a conductor looks again for work that a failure left behind, or for a database "
            "that is away (later after longer pauses), and between two looks at workers whose machines are slow. New "
            "work does not depend on it: PostgreSQL, and ``serve`` with SQLite, notify the conductor; otherwise the "
            "checks for driver calls find it.",
        ),
        cfg.IntOpt(
            "workers_pool_size",
            default=16,
            min=1,
            help="The maximum number of work items that a conductor executes at the same time. Steps that a machine "
            "executes on its own, and steps that only wait, do not count; neither do machines that take longer "
            "than five seconds to answer, up to eight times this number.",
        ),
        cfg.FloatOpt(
            "answer_timeout",
            default=30,
            min=0.1,
            help="Seconds for which a request waits until a conductor has called a driver for it: to validate a node, "
            "to set its boot device, and so on. If the conductor has not begun the call by then, it is withdrawn, "
            "and the answer is 503; otherwise the answer is 504, because the call may have had an effect. A "
            "request never waits longer than ``[api] request_timeout``.",
        ),
        cfg.FloatOpt(
            "driver_call_interval",
            default=0.01,
            min=0.001,
            help="Seconds between two checks of a conductor for driver calls and due work, in one statement; eight "
            "times as many (SQLite: five times) after five seconds without calls. Not used on PostgreSQL, and by "
            "``serve`` with SQLite: they notify it.",
        ),
        cfg.IntOpt(
            "driver_calls_at_once",
            default=64,
            min=1,
            help="The maximum number of driver calls that a conductor makes at the same time. They occupy no worker.",
        ),
        *(
            cfg.FloatOpt(name, default=default, min=0, help=f"Seconds between {what} 0: never.")
            for name, default, what in (
                (
                    "check_provision_state_interval",
                    60,
                    "two checks of a conductor for abandoned nodes of its own: nodes that a dead conductor has "
                    "reserved are released, and operations that have waited too long for an agent fail.",
                ),
                (
                    "sync_local_state_interval",
                    180,
                    "two checks of a conductor for active nodes that it has taken over from another conductor.",
                ),
                (
                    "sync_power_state_interval",
                    60,
                    "two comparisons of the power states of nodes with their machines.",
                ),
                (
                    "power_failure_recovery_interval",
                    300,
                    "two attempts at nodes that are in maintenance because their power state could not be read or "
                    "set; nodes that answer again leave maintenance.",
                ),
                (
                    "sync_providers_interval",
                    60,
                    "two comparisons of resource providers with nodes. Changes that were made directly to the "
                    "provider of a node are undone, and reported in the log, the node's history and a metric.",
                ),
                (
                    "conductor_cleanup_interval",
                    86400,
                    "two checks for conductors that no longer exist.",
                ),
                (
                    "node_history_cleanup_interval",
                    86400,
                    "two deletions of old node history.",
                ),
            )
        ),
        *(
            cfg.FloatOpt(
                name,
                default=1800,
                min=0,
                help=f"Seconds that a node may wait for an agent in ``{state}`` before that fails. 0: no limit.",
            )
            for name, state in (
                ("deploy_callback_timeout", "wait call-back"),
                ("clean_callback_timeout", "clean wait"),
                ("inspect_wait_timeout", "inspect wait"),
                ("rescue_callback_timeout", "rescue wait"),
                ("service_callback_timeout", "service wait"),
            )
        ),
        cfg.FloatOpt(
            "driver_call_timeout",
            default=600,
            min=0.1,
            help="Seconds that one driver call may take, in addition to the ``timeout`` of a power request. After that "
            "the operation has failed, ``last_error`` names the call, and the node is released. While a driver "
            "waits for a power change, the time starts again with each check of the machine. The comparison of "
            "power states gives a machine no more than ``sync_power_state_interval`` seconds.",
        ),
        cfg.FloatOpt(
            "power_state_change_timeout",
            default=60,
            min=0.1,
            help="Seconds within which a machine must reach the requested power state, unless the request has its "
            "own ``timeout``. Otherwise the action has failed. For a reboot the time applies twice: until the machine "
            "is off, and until it is on again.",
        ),
        cfg.FloatOpt(
            "soft_power_off_timeout",
            default=600,
            min=0.1,
            help="The same if the operating system was asked to shut down (``soft power off``) or to restart (``soft "
            "rebooting``).",
        ),
        cfg.FloatOpt(
            "polled_step_timeout",
            default=10800,
            min=0,
            help="Seconds that a step which a machine executes on its own may take, while its driver is regularly "
            "asked for the progress. After that the step has failed. 0: no limit. The step ``wait`` of a runbook takes "
            "as long as it says.",
        ),
        cfg.BoolOpt(
            "force_power_state_during_sync",
            default=True,
            help="If the power of a machine changed by itself, switch it back to the node's state; if false, the "
            "machine's state is recorded on the node.",
        ),
        cfg.IntOpt(
            "power_state_sync_max_retries",
            default=3,
            min=0,
            help="How many times in a row switching back or reading a power state may fail before the node is put "
            "into maintenance.",
        ),
        cfg.BoolOpt(
            "enable_health_monitoring",
            default=True,
            help="Read the health of machines from management controllers that report it (Redfish), each time that "
            "power states are compared, and store changes in the field ``health`` and in the history of the node.",
        ),
        cfg.IntOpt(
            "sync_power_state_workers",
            default=8,
            min=1,
            help="The maximum number of power states that a conductor reads at the same time, not counting machines "
            "that take longer than a second. A machine that does not answer until the next comparison has failed. "
            "Its address (the key that ends with ``_address`` in ``driver_info``) is then not contacted for one "
            "and a half times ``sync_power_state_interval``, and each time twice as long, up to an hour. The same "
            "applies to an address that cannot be reached.",
        ),
        cfg.FloatOpt(
            "conductor_cleanup_timeout",
            default=1209600,
            min=0,
            help="Seconds without a heartbeat until a conductor is deleted from the list, unless nodes are still "
            "reserved for it; at least three times ``heartbeat_timeout``.",
        ),
        cfg.IntOpt(
            "node_history_max_entries",
            default=300,
            min=0,
            help="How many entries of the history are kept for each node, the newest ones.",
        ),
        cfg.BoolOpt(
            "automated_clean",
            default=True,
            help="Clean nodes before they become available. A node's own ``automated_clean`` takes precedence.",
        ),
        cfg.BoolOpt(
            "allow_deleting_available_nodes",
            default=True,
            help="Let clients delete nodes that are available, and not only those that are ``manageable``, in "
            "``enroll`` or in ``adopt failed``.",
        ),
        *auth_settings.CONDUCTOR,
        *(
            cfg.IntOpt(
                f"max_concurrent_{name}",
                default=0,
                min=0,
                help=f"The maximum number of nodes that may be {what} at the same time in the whole installation; "
                "further requests are answered with 503. 0: no limit.",
            )
            for name, what in (("deploy", "deployed"), ("clean", "cleaned"))
        ),
        cfg.IntOpt(
            "node_locked_retry_attempts",
            default=10,
            min=1,
            help="How many times a request tries a node that a conductor is working on before it is answered with 409. "
            "A conductor that must switch a locked parent or child makes as many attempts before it fails.",
        ),
        cfg.FloatOpt("node_locked_retry_interval", default=0.2, min=0, help="Seconds between two of these attempts."),
    ],
}
