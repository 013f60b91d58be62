"""Take-over of active nodes from other conductors."""

from functools import partial

import structlog
from sqlalchemy import and_, false, func, update
from sqlalchemy.orm import Session

from baremetal_sched.conductor.host import Host
from baremetal_sched.db.models import Node
from baremetal_sched.machines import states

log = structlog.get_logger(__name__)

#: Number of nodes taken over in one transaction.
_CHUNK = 1000


def take_over(host: Host) -> None:
    """Take over the active nodes that the ring now assigns to this conductor.

    No interface of this release keeps anything on a conductor's own host, so there is nothing to prepare; only the
    node's conductor is recorded.
    """
    foreign = and_(
        Node.provision_state == states.ACTIVE,
        Node.maintenance == false(),
        Node.reservation.is_(None),
        func.coalesce(Node.conductor_affinity, "") != host.name,
    )
    node_ids = host.own(foreign)
    for start in range(0, len(node_ids), _CHUNK):
        chunk = node_ids[start : start + _CHUNK]
        # UPDATE nodes SET conductor_affinity = … WHERE id IN (…) AND (still so)
        statement = update(Node).where(Node.id.in_(chunk), foreign).values(conductor_affinity=host.name)
        host.database.write(partial(Session.execute, statement=statement))
    if node_ids:
        log.info("took over active nodes", conductor=host.name, nodes=len(node_ids))
