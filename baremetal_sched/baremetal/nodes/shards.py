"""Shards: the parts into which an operator divides the fleet, so that several clients can each look after one."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.db.models import Node


def count(session: Session, visible: Visibility = EVERYTHING) -> list[tuple[str | None, int]]:
    """Return every shard with the number of its visible nodes, the largest first; None stands for nodes in no shard.

    SELECT shard, count(*) FROM nodes GROUP BY shard
    """
    found = session.execute(select(Node.shard, func.count()).where(*visible.conditions()).group_by(Node.shard))
    return sorted(((shard, nodes) for shard, nodes in found), key=lambda each: (-each[1], each[0] or ""))
