"""How requests wait: for drivers, which conductors call for them, and for nodes that are locked for a moment."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from flask import Response
from sqlalchemy import select

from baremetal_sched.baremetal.conductors.driver_calls import Answers, Then, Unanswered
from baremetal_sched.baremetal.conductors.driver_client import DriverClient
from baremetal_sched.baremetal.conductors.driver_replies import Reply
from baremetal_sched.db.models import Node
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import DatabaseTimeout
from baremetal_sched.errors.baremetal import NodeBusy, NodeChanged, NodeLocked
from baremetal_sched.web import slots
from baremetal_sched.web.api import Api
from baremetal_sched.web.call import Call

T = TypeVar("T")


def retried(call: Call, transaction: Callable[[], T], database: Database) -> T:
    """Run the transaction of a view, and retry it while the node is locked, as often and as long as the settings allow.

    Between attempts the node is only read: a transaction would lock its row, and on SQLite the whole database. Raises
    NodeLocked if the node is still locked at the end, and if an attempt after that was cut by the deadline; NodeBusy at
    once; TooManyWaiting if too many requests wait already.
    """
    attempts = 0
    locked: NodeLocked | None = None
    while True:
        try:
            if locked is None or not _is_locked(database, locked, call.deadline):
                return transaction()
        except NodeBusy:
            raise
        except NodeLocked as error:
            locked = error
        except DatabaseTimeout:
            if locked is None:
                raise
            raise locked from None
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


#: How often a view is run before it is given up because its node is changed all the time.
_MOST = 10


class WaitingApi(Api):
    """An API whose views may need drivers, and nodes that are locked. The application sets ``drivers`` and
    ``database``."""

    drivers: DriverClient
    database: Database

    def run(self, call: Call, transaction: Callable[[], Response]) -> Response:
        """Run the transaction of a view until it needs no more answers of drivers.

        Raises NodeChanged if a node has always changed since its driver was called, NodeLocked if one stays locked, and
        the errors of ``DriverClient.call``.
        """
        if call.route is not None and call.route.transaction == "select":
            return transaction()  # it only selects columns, and so neither asks a driver nor meets a lock
        answers = Answers()
        call.attach = answers.attach

        def attempt() -> Response | tuple[Then, Reply]:
            try:
                return transaction()
            except Unanswered as error:
                question = error.question
                reply = self.drivers.call(question, call.requested_by, call.deadline)
                if question.then is not None:
                    return question.then, reply
                answers.keep(question, reply)
                raise NodeChanged(node=question.node_uuid) from None

        result = self._run(call, attempt)
        if isinstance(result, tuple):
            # The driver's error is the answer, of any kind: nothing of this is done again.
            then, reply = result
            response: Response = then(reply.get())
            return response
        return result

    def _run(self, call: Call, attempt: Callable[[], T]) -> T:
        for _ in range(_MOST - 1):
            with suppress(NodeChanged):
                return retried(call, attempt, self.database)
        return retried(call, attempt, self.database)
