"""The periodic tasks of a conductor, and their intervals."""

from collections.abc import Callable
from dataclasses import dataclass

from baremetal_sched.conductor import (
    answering,
    callback_timeouts,
    cleanup,
    orphaned_reservations,
    power_sync,
    providers,
    servers,
    takeover,
)
from baremetal_sched.conductor.host import Host


@dataclass(frozen=True)
class PeriodicTask:
    """A periodic task; ``interval`` is the name of the option in [conductor].

    A task that ``trusts_heartbeats`` is skipped after an interruption of this conductor's own heartbeats: those of
    other conductors may have been interrupted, too.
    """

    name: str
    interval: str
    do: Callable[[Host], None]
    trusts_heartbeats: bool = False


PERIODIC_TASKS = (
    PeriodicTask("orphans", "check_provision_state_interval", orphaned_reservations.release, trusts_heartbeats=True),
    PeriodicTask("calls", "check_provision_state_interval", answering.settle_abandoned, trusts_heartbeats=True),
    PeriodicTask("waiting", "check_provision_state_interval", callback_timeouts.fail_late),
    PeriodicTask("local state", "sync_local_state_interval", takeover.take_over),
    PeriodicTask("power", "sync_power_state_interval", power_sync.synchronize),
    PeriodicTask("power failures", "power_failure_recovery_interval", power_sync.recover),
    PeriodicTask("providers", "sync_providers_interval", providers.reconcile),
    PeriodicTask("servers", "check_provision_state_interval", servers.follow_up_all),
    PeriodicTask("conductors", "conductor_cleanup_interval", cleanup.forget_conductors, trusts_heartbeats=True),
    PeriodicTask("history", "node_history_cleanup_interval", cleanup.trim_history),
)
