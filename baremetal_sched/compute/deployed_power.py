"""The power in which the deployment of a server leaves its machine."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import Node, Server
from baremetal_sched.machines import states


def wanted(session: Session, node_id: int) -> str | None:
    """Return the power state in which the deployment of a node has to end; None if no server is on it.

    It is on, unless a server that was off is rebuilt.
    """
    row = session.execute(
        select(Server.power_after_task).join(Node, Node.instance_uuid == Server.uuid).where(Node.id == node_id)
    ).first()
    return None if row is None else row[0] or states.POWER_ON
