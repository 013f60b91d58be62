"""How requests wait: for drivers, which conductors call for them, and for nodes that are locked for a moment."""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from flask import Response

from baremetal_sched.baremetal.api.locked_nodes import retried
from baremetal_sched.baremetal.conductors.driver_calls import Answers, Then, Unanswered
from baremetal_sched.baremetal.conductors.driver_client import DriverClient
from baremetal_sched.baremetal.conductors.driver_replies import Reply
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors.baremetal import NodeChanged
from baremetal_sched.web import audit
from baremetal_sched.web.api import Api
from baremetal_sched.web.call import Call

T = TypeVar("T")

#: How often a view is run before it is given up because its node is changed all the time.
_MOST = 10


class WaitingApi(Api):
    """An API whose views may need drivers, and nodes that are locked. The application sets ``drivers`` and
    ``database``."""

    drivers: DriverClient
    database: Database

    def run(self, call: Call, transaction: Callable[[], Response]) -> Response:
        """Run the transaction of a view until it needs no more answers of drivers.

        Raises NodeChanged if a node is never as it was when its driver was asked, NodeLocked if one stays locked, and
        what ``DriverClient.call`` raises.
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
                reply = self.drivers.call(question, audit.requester_of(call), call.deadline)
                if question.then is not None:
                    return question.then, reply
                answers.keep(question, reply)
                raise NodeChanged(node=question.node_uuid) from None

        result = self._run(call, attempt)
        if isinstance(result, tuple):
            # What the driver raised is the answer, whatever it is: nothing of this is done again.
            then, reply = result
            response: Response = then(reply.get())
            return response
        return result

    def _run(self, call: Call, attempt: Callable[[], T]) -> T:
        for _ in range(_MOST - 1):
            with suppress(NodeChanged):
                return retried(call, attempt, self.database)
        return retried(call, attempt, self.database)
