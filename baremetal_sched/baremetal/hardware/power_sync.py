"""What follows if a machine's power differs from its node's, or cannot be read."""

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import history
from baremetal_sched.baremetal.conductors import work
from baremetal_sched.baremetal.hardware import power
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db.models import Node
from baremetal_sched.machines import states
from baremetal_sched.machines.machine import set_internal
from baremetal_sched.settings import Settings

#: The key in ``driver_internal_info`` of the number of consecutive failures.
_FAILURES = "power_sync_failures"

_EVENT_TYPE = "power"


def compare(
    session: Session, node: Node, found: str | None, conductor: str, settings: Settings, trouble: str = ""
) -> None:
    """Compare the node's power with ``found``, the power state of the machine of ``node`` (its row locked, free); None
    if it cannot be read, for the reason ``trouble``, if known.

    If they differ, the machine is switched back (``force_power_state_during_sync``) by ``conductor``, or the node takes
    the machine's state. If the state cannot be read, or switching back does not help, for more than
    ``power_state_sync_max_retries`` times in a row, the node is put into maintenance, with the fault "power failure".

    A node whose power was never known takes the machine's state as soon as there is one.
    """
    options = settings.conductor
    if node.power_state is None:
        node.power_state = found
        return
    failures: int = (node.driver_internal_info or {}).get(_FAILURES, 0)
    if found is not None and found == node.power_state:
        if failures:
            set_internal(node, **{_FAILURES: 0})
        return
    is_wanted = options.force_power_state_during_sync and node.power_state in (states.POWER_ON, states.POWER_OFF)
    is_off_limits = node.disable_power_off and node.power_state == states.POWER_OFF
    if found is not None and (not is_wanted or is_off_limits):
        event = f"The machine is in state '{found}', not in '{node.power_state}'; the node is updated."
        node.power_state = found
        set_internal(node, **{_FAILURES: 0})
        history.record(session, node, event, event_type=_EVENT_TYPE, severity="ERROR", conductor=conductor)
    elif failures >= options.power_state_sync_max_retries:
        _give_up(session, node, found, conductor, trouble)
    else:
        set_internal(node, **{_FAILURES: failures + 1})
        if found is not None:
            node.target_power_state = node.power_state
            work.request(session, node, conductor, power.KIND, {"target": node.power_state, "timeout": None})


def _give_up(session: Session, node: Node, found: str | None, conductor: str, trouble: str) -> None:
    is_in = f"the machine is in state '{found}'" if found else "the state of the machine cannot be read"
    why = f" {trouble}" if trouble and not found else ""
    reason = (
        f"During sync_power_state, max retries exceeded for node {node.uuid}: {is_in}, the node says "
        f"'{node.power_state}'. Switching node to maintenance mode.{why}"
    )
    node.power_state = found or states.ERROR
    node.last_error = reason
    set_internal(node, **{_FAILURES: 0})
    nodes.set_maintenance(session, node, maintenance=True, reason=reason)
    node.fault = states.POWER_FAILURE
    history.record(session, node, reason, event_type=_EVENT_TYPE, severity="ERROR", conductor=conductor)


def recover(session: Session, node: Node, found: str | None, conductor: str) -> None:
    """Take ``node`` (its row locked, free, with the fault "power failure") out of maintenance if its power can be read
    again."""
    if found is None:
        return
    node.power_state = found
    nodes.set_maintenance(session, node, maintenance=False)
    event = f"The power state of the machine can be read again: it is '{found}'."
    history.record(session, node, event, event_type=_EVENT_TYPE, conductor=conductor)
