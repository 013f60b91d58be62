"""Repair of resource providers of nodes that clients have changed."""

from functools import partial

import structlog

from baremetal_sched.baremetal.provider import reconciliation
from baremetal_sched.conductor.host import Host
from baremetal_sched.errors.baremetal import NodeAllocated

log = structlog.get_logger(__name__)


def reconcile(host: Host) -> None:
    """Restore the providers of this conductor's nodes to what the nodes determine, and report what differed."""
    for node_id in host.database.snapshot(lambda session: host.select_own(session, reconciliation.drifted(session))):
        try:
            undone = host.database.write(partial(reconciliation.reconcile, node_id=node_id, conductor=host.name))
        except NodeAllocated as error:
            log.error("cannot undo a change of a provider", conductor=host.name, node_id=node_id, reason=str(error))
            continue
        if undone:
            uuid, changes = undone
            log.warning("undid changes of a provider", conductor=host.name, node=uuid, changes=changes)
