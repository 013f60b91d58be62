"""Hand-over of work when a conductor stops."""

from functools import partial

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import work
from baremetal_sched.conductor.host import Host
from baremetal_sched.db.models import Node, NodeWork
from baremetal_sched.db.types import Rows

log = structlog.get_logger(__name__)


def hand_over(host: Host, *, with_polls: bool = False) -> None:
    """Hand over unclaimed work to the new owners of the nodes, after this conductor has signed off.

    ``with_polls``: also polled steps for which a worker here waits for a driver that does not return.
    """
    condition = work.CAN_BE_HANDED_OVER if with_polls else NodeWork.claimed_by.is_(None)

    def select_work(session: Session) -> Rows:
        return session.execute(
            select(NodeWork.id, Node.uuid, Node.conductor_group, Node.driver)
            .join(Node, Node.id == NodeWork.node_id)
            .where(NodeWork.conductor == host.name, condition)
            .order_by(NodeWork.id)
        ).all()

    membership = host.membership()
    handed = 0
    for work_id, uuid, group, driver in host.database.read(select_work):
        owner = membership.owner(uuid, group, driver)
        if owner is not None:
            handed += host.database.write(partial(work.hand_over, work_id=work_id, conductor=owner))
    if handed:
        log.info("handed work over", conductor=host.name, pieces=handed)
