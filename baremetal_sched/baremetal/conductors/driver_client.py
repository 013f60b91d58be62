"""How a process has drivers called for its requests: it writes the calls, and one thread polls for all replies."""

import time
import uuid
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import Any, Protocol

import structlog
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import driver_calls, driver_replies
from baremetal_sched.baremetal.conductors.driver_calls import DriverQuestion
from baremetal_sched.baremetal.conductors.driver_replies import Reply
from baremetal_sched.db import requester as requesters
from baremetal_sched.db.polling import Poller
from baremetal_sched.db.requester import Requester
from baremetal_sched.db.sealing import Unreadable
from baremetal_sched.db.transaction import Database
from baremetal_sched.db.types import Writer
from baremetal_sched.errors import CommitUnknown, UnavailableError
from baremetal_sched.errors.baremetal import DriverTimeout, NodeNotFound, NotBegun
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Seconds between two polls: short at first, later a fraction of the age of the youngest call.
_SOON, _LATE, _PART = 0.004, 0.1, 0.1

#: Seconds for which answered calls are kept, to be deleted together, and the thread rests before it ends.
_REST = 1.0

#: Seconds before the deadline of a request that are reserved for the answer; at most a quarter of the time left.
_RESERVE = 1.0


class Waits(Protocol):
    """How requests wait in this process: see ``web.slots``."""

    def reserve(self) -> None:
        """Make sure that the request may wait."""

    def waiting(self) -> AbstractContextManager[None]:
        """Within this the request waits."""


class DriverClient:
    """Makes driver calls for the requests of this process. Only the request's thread is held during a call.

    ``on_call`` is called with the conductor of each call that has been written.
    """

    on_call: Callable[[str], object] | None = None

    def __init__(self, database: Database, settings: Settings, waits: Waits) -> None:
        self._database = database
        self._timeout: float = settings.conductor.answer_timeout
        self._waits = waits
        #: The replies that requests wait for; None stands for a call that is gone.
        self._replies: Poller[int, Any] = Poller("driver-replies", self._find, _pause, self._forget, _REST)

    def call(self, question: DriverQuestion, requester: Requester, deadline: float | None = None) -> Reply:
        """Have the call made, and wait for the reply, at most until ``deadline`` (by ``time.monotonic``).

        Raises TooManyWaiting if no more requests may wait, NotBegun if no conductor began the call in time,
        DriverTimeout if one did and has not replied, and what ``driver_calls.write_down`` raises.
        """
        now = time.monotonic()
        until = now + self._timeout
        if deadline is not None:
            until = min(until, deadline - min(_RESERVE, (deadline - now) / 4))
        self._waits.reserve()
        call_id = self._write_down(question, requester, until)
        if self.on_call is not None:
            self.on_call(question.conductor)
        with self._replies.expecting(call_id) as expected, self._waits.waiting():
            expected.event.wait(max(0.0, until - time.monotonic()))
        if not expected.event.is_set():
            raise self._given_up(question, call_id)
        if expected.found is None:
            raise NodeNotFound(node=question.node_uuid)
        if isinstance(expected.found, Unreadable) and (question.reserves or question.then is not None):
            raise self._timed_out(question)  # the call was made, but its result is unknown
        return driver_replies.read(expected.found)

    def close(self) -> None:
        """Wait until the polling thread has no replies to wait for."""
        self._replies.close()

    def _find(self, call_ids: Collection[int]) -> dict[int, Any]:
        """Return the replies to these calls that are there, and None for calls that are gone."""
        found = self._database.select(lambda connection: driver_calls.find_replies(connection, call_ids))
        return {
            call_id: found.get(call_id) for call_id in call_ids if call_id not in found or found[call_id] is not None
        }

    def _forget(self, call_ids: Collection[int]) -> None:
        self._database.change(lambda connection: driver_calls.forget(connection, call_ids))

    def _write_down(self, question: DriverQuestion, requester: Requester, until: float) -> int:
        token = str(uuid.uuid4())

        def write_down(writer: Writer) -> int:
            if isinstance(writer, Session):
                requesters.attach(writer, requester)
            return driver_calls.write_down(writer, question, token, max(0.0, until - time.monotonic()), by=requester)

        run = self._database.write if question.reserves else self._database.change
        try:
            return run(write_down, deadline=until)
        except CommitUnknown as error:
            try:
                call_id = self._database.read(lambda session: driver_calls.find(session, token))
            except UnavailableError:
                raise self._timed_out(question) from error
            if call_id is None:
                raise  # it was not written, so nothing is done
            return call_id

    def _given_up(self, question: DriverQuestion, call_id: int) -> Exception:
        try:
            withdrawn = self._database.write(lambda session: driver_calls.withdraw(session, call_id))
        except UnavailableError as error:
            log.warning("a call could not be withdrawn", subject=question.subject, reason=str(error))
            if question.then is None and not question.reserves:
                return error  # it only asked something, so nothing has been done
            withdrawn = False
        return NotBegun(conductor=question.conductor) if withdrawn else self._timed_out(question)

    def _timed_out(self, question: DriverQuestion) -> Exception:
        return DriverTimeout(subject=question.subject, seconds=f"{self._timeout:g}", method=question.method)


def _pause(youngest: float) -> float:
    return min(_LATE, max(_SOON, youngest * _PART))
