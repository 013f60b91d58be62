"""How a conductor claims the work that was requested from it."""

import time
from collections.abc import Callable, Collection
from typing import Any

import structlog
from sqlalchemy import bindparam, case, literal_column, or_, select, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import work_queue
from baremetal_sched.baremetal.conductors.work_queue import HeldWork
from baremetal_sched.conductor.database_clock import DatabaseClock
from baremetal_sched.conductor.job import Job
from baremetal_sched.db import compiled
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Node, NodeWork, table_of
from baremetal_sched.db.requester import Requester
from baremetal_sched.db.sql_functions import constant
from baremetal_sched.db.transaction import Database
from baremetal_sched.db.types import Query
from baremetal_sched.settings import Settings

_IS_LATER = NodeWork.not_before > epoch()
#: What can be taken, oldest first; then what is due later, and in how many seconds. Created once: that is half of its
#: cost.
_LOOK: Query = (
    select(NodeWork.id, case((_IS_LATER, NodeWork.not_before - epoch())).label("later"))
    .where(
        NodeWork.conductor == bindparam("conductor"),
        or_(NodeWork.claimed_by.is_(None), NodeWork.claimed_by == bindparam("process")),
        *(NodeWork.kind != constant(kind) for kind in (work_queue.SUBORDINATE, work_queue.CALL)),
        NodeWork.id.not_in([compiled.IDS]),
    )
    .order_by(case((_IS_LATER, NodeWork.not_before), else_=literal_column("0")), NodeWork.id)
    .limit(bindparam("most"))
)
_WORK = table_of(NodeWork)
_CLAIM = (
    update(_WORK)
    .where(_WORK.c.id.in_([compiled.IDS]), _WORK.c.conductor == bindparam("host"), _WORK.c.claimed_by.is_(None))
    .values(claimed_by=bindparam("process"))
)
#: The largest number of items that are claimed at once by default.
_MOST = 1000


def take(
    database: Database,
    settings: Settings,
    conductor: str,
    process: str,
    *,
    most: int = _MOST,
    doing: Collection[int] = (),
    clock: DatabaseClock | None = None,
    later: Callable[[float], object] = lambda seconds: None,
) -> list[Job]:
    """Claim for ``process`` the due work requested from ``conductor`` (a host name), and return it, oldest first.

    At most ``most`` items, and none of those in ``doing``. Work claimed by a process stays its own: another process
    with the same host name does not get it. ``clock``: that of the database, as the conductor sees it. ``later`` is
    called with the seconds until work that is postponed is due, if all that is due is returned.
    """
    asker = {"conductor": conductor, "process": process, "most": most}
    found = database.select(lambda connection: compiled.run(connection, _LOOK, asker, list(doing) or [0]).all())
    due = [row.id for row in found if row.later is None]
    if len(due) < len(found):
        later(found[len(due)].later)
    if not due:
        return []

    def claim(session: Session) -> list[Any]:
        compiled.change(session.connection(), _CLAIM, {"host": conductor, "process": process}, due)
        # Another process may have begun the work since it was found, and it may be polled now.
        mine = select(NodeWork, Node).join(Node, Node.id == NodeWork.node_id)
        mine = mine.where(NodeWork.id.in_(due), NodeWork.claimed_by == process).order_by(NodeWork.id)
        return list(session.execute(mine))

    asked = time.monotonic()
    claimed = database.write(claim)
    log, clock = structlog.get_logger(Job.__module__), clock or DatabaseClock(settings)
    jobs = []
    for work, node in claimed:
        by = Requester(work.request_id, work.user_id, work.project_id)
        held = HeldWork(work.id, work.node_id, conductor, node, work.writes)
        bound = log.bind(node=node.uuid, work=work.id, **by.known())
        jobs.append(
            Job(held, node.uuid, work.kind, work.arguments, database, settings, clock, bound, by, held_at=asked)
        )
    return jobs
