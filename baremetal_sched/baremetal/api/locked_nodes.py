"""Requests for a locked node are retried for a while: most locks last a moment, but clients back off for seconds."""

import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import select

from baremetal_sched.db.models import Node
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors.baremetal import NodeBusy, NodeLocked
from baremetal_sched.web import slots
from baremetal_sched.web.call import Call

T = TypeVar("T")


def retried(call: Call, transaction: Callable[[], T], database: Database) -> T:
    """Run the transaction of a view, and retry it while the node is locked, as often and as long as the settings allow.

    Between attempts the node is only read: a transaction would lock its row, and on SQLite the whole database. Raises
    NodeLocked if the node is still locked at the end; NodeBusy at once; TooManyWaiting if too many requests wait
    already.
    """
    attempts = 0
    locked: NodeLocked | None = None
    while True:
        if locked is None or not _is_locked(database, locked, call.deadline):
            try:
                return transaction()
            except NodeBusy:
                raise
            except NodeLocked as error:
                locked = error
        attempts += 1
        options = call.settings.conductor
        pause: float = options.node_locked_retry_interval
        is_late = call.deadline is not None and time.monotonic() > call.deadline - pause
        if is_late or attempts >= options.node_locked_retry_attempts:
            raise locked
        with slots.waiting():
            time.sleep(pause)


def _is_locked(database: Database, error: NodeLocked, deadline: float | None) -> bool:
    statement = select(Node.reservation).where(Node.uuid == error.details.get("node"))
    return database.select(lambda connection: connection.scalar(statement), deadline=deadline) is not None
