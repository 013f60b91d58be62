"""Deletion of data that is no longer needed."""

import structlog
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.conductor.host import Host
from baremetal_sched.db.models import NodeHistory

log = structlog.get_logger(__name__)

#: Number of entries deleted in one transaction.
_CHUNK = 1000


def forget_conductors(host: Host) -> None:
    """Delete the conductors that have been gone for longer than ``[conductor] conductor_cleanup_timeout``."""
    after: float = host.settings.conductor.conductor_cleanup_timeout
    for name in host.database.write(lambda session: conductors.forget_gone(session, after)):
        log.info("forgot a conductor", conductor=name)


def trim_history(host: Host) -> None:
    """Delete the history of nodes beyond the newest entries that each may keep."""
    most: int = host.settings.conductor.node_history_max_entries
    deleted = _CHUNK
    while deleted == _CHUNK:
        deleted = host.database.write(lambda session: _trim(session, most))
        if deleted:
            log.info("deleted history of nodes", entries=deleted)


def _trim(session: Session, most: int) -> int:
    """SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY node_id ORDER BY id DESC) AS age FROM node_history
    WHERE node_id IN (SELECT node_id FROM node_history GROUP BY node_id HAVING count(*) > most)) WHERE age > most"""
    crowded = select(NodeHistory.node_id).group_by(NodeHistory.node_id).having(func.count() > most)
    age = func.row_number().over(partition_by=NodeHistory.node_id, order_by=NodeHistory.id.desc()).label("age")
    ranked = select(NodeHistory.id, age).where(NodeHistory.node_id.in_(crowded)).subquery()
    ids = session.scalars(select(ranked.c.id).where(ranked.c.age > most).limit(_CHUNK)).all()
    session.execute(delete(NodeHistory).where(NodeHistory.id.in_(ids)))
    return len(ids)
