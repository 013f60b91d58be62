"""Resource providers that somebody changed behind their nodes' backs: that is undone, and reported."""

from functools import partial

import structlog

from baremetal_sched.baremetal import reconciliation
from baremetal_sched.conductor.host import Host
from baremetal_sched.errors.baremetal import NodeAllocated

log = structlog.get_logger(__name__)


def reconcile(host: Host) -> None:
    """Bring the providers of this conductor's nodes back to what the nodes say."""
    for node_id in host.database.snapshot(lambda session: host.select_own(session, reconciliation.drifted(session))):
        try:
            undone = host.database.write(partial(reconciliation.reconcile, node_id=node_id, conductor=host.name))
        except NodeAllocated as error:
            log.error("cannot undo a change of a provider", conductor=host.name, node_id=node_id, reason=str(error))
            continue
        if undone:
            uuid, changes = undone
            log.warning("undid changes of a provider", conductor=host.name, node=uuid, changes=changes)
