"""Nodes on which Ironic is at work: what their states become if the operator says that the work has failed."""

from collections.abc import Mapping
from datetime import datetime

from baremetal_sched.db.clock import utcnow
from baremetal_sched.machines import states
from baremetal_sched.moving.source_databases import SourceRow

#: Transient state: the state after its failure, and the target then. A state that waits for the machine or an operator
#: fails like the one that it belongs to. The targets are Ironic's.
FAILED: Mapping[str, tuple[str, str | None]] = {
    states.VERIFYING: (states.ENROLL, None),
    states.DEPLOYING: (states.DEPLOYFAIL, states.ACTIVE),
    states.DEPLOYWAIT: (states.DEPLOYFAIL, states.ACTIVE),
    states.DEPLOYHOLD: (states.DEPLOYFAIL, states.ACTIVE),
    states.CLEANING: (states.CLEANFAIL, None),
    states.CLEANWAIT: (states.CLEANFAIL, None),
    states.CLEANHOLD: (states.CLEANFAIL, None),
    states.DELETING: (states.ERROR, states.AVAILABLE),
    states.INSPECTING: (states.INSPECTFAIL, states.MANAGEABLE),
    states.INSPECTWAIT: (states.INSPECTFAIL, states.MANAGEABLE),
    states.ADOPTING: (states.ADOPTFAIL, states.ACTIVE),
    states.RESCUING: (states.RESCUEFAIL, states.RESCUE),
    states.RESCUEWAIT: (states.RESCUEFAIL, states.RESCUE),
    states.UNRESCUING: (states.UNRESCUEFAIL, states.ACTIVE),
    states.SERVICING: (states.SERVICEFAIL, states.ACTIVE),
    states.SERVICEWAIT: (states.SERVICEFAIL, states.ACTIVE),
    states.SERVICEHOLD: (states.SERVICEFAIL, states.ACTIVE),
}

#: The message about a node with failed work.
LAST_ERROR = "Moved to another service while the node was in state '{state}'. Check the machine before it is used."

#: The state of an allocation for which Ironic is looking for a node, and what becomes of it.
ALLOCATING, ALLOCATION_FAILED = "allocating", "error"
ALLOCATION_ERROR = "Moved to another service before a node was found. Delete the allocation and create it again."


def reasons(node: SourceRow) -> list[str]:
    """Return why work on the node is in flight, in words; empty if none is."""
    found = []
    if node["provision_state"] in FAILED:
        found.append(f"its provision state is '{node['provision_state']}'")
    if node["reservation"] is not None:
        found.append(f"conductor {node['reservation']} has reserved it")
    if node["target_power_state"] is not None:
        found.append(f"its target power state is '{node['target_power_state']}'")
    return found


def failed(node: SourceRow, updated_at: datetime | None) -> dict[str, object]:
    """Return the columns of ``node`` that change if its work has failed."""
    changed: dict[str, object] = {"reservation": None, "target_power_state": None}
    state = node["provision_state"]
    if state in FAILED:
        after, target = FAILED[state]
        if state in (states.CLEANING, states.CLEANWAIT, states.CLEANHOLD):
            target = node["target_provision_state"]
        changed |= {
            "provision_state": after,
            "target_provision_state": target,
            "last_error": LAST_ERROR.format(state=state),
            # Not the present time: the same node is the same again when the import is repeated.
            "provision_updated_at": node["provision_updated_at"] or updated_at or utcnow(),
        }
        for step in ("clean_step", "deploy_step", "service_step"):
            changed[step] = None
    return changed
