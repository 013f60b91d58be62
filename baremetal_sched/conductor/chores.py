"""The periodic tasks of a conductor, and their intervals."""

from collections.abc import Callable
from dataclasses import dataclass

from baremetal_sched.conductor import (
    answering,
    housekeeping,
    local_state,
    orphans,
    power_sync,
    providers,
    servers,
    waiting,
)
from baremetal_sched.conductor.host import Host


@dataclass(frozen=True)
class Chore:
    """A periodic task; ``interval`` is the name of the option in [conductor].

    A task that ``trusts_heartbeats`` is skipped after an interruption of this conductor's own heartbeats: those of
    other conductors may have been interrupted, too.
    """

    name: str
    interval: str
    do: Callable[[Host], None]
    trusts_heartbeats: bool = False


CHORES = (
    Chore("orphans", "check_provision_state_interval", orphans.release, trusts_heartbeats=True),
    Chore("calls", "check_provision_state_interval", answering.settle_abandoned, trusts_heartbeats=True),
    Chore("waiting", "check_provision_state_interval", waiting.fail_late),
    Chore("local state", "sync_local_state_interval", local_state.take_over),
    Chore("power", "sync_power_state_interval", power_sync.synchronize),
    Chore("power failures", "power_failure_recovery_interval", power_sync.recover),
    Chore("providers", "sync_providers_interval", providers.reconcile),
    Chore("servers", "check_provision_state_interval", servers.follow_up_all),
    Chore("conductors", "conductor_cleanup_interval", housekeeping.forget_conductors, trusts_heartbeats=True),
    Chore("history", "node_history_cleanup_interval", housekeeping.trim_history),
)
