"""Slots: limit the requests of a process that are handled concurrently or may wait, with any server.

A server has many threads, so that requests that wait for something external (a machine, a locked node) do not keep
others from being served. But database connections, memory and processors suffice only for a few. So a request holds a
slot while it is handled, and returns it while it waits.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from baremetal_sched.errors import TooManyWaiting
from baremetal_sched.fair_places import FairPlaces
from baremetal_sched.settings import Settings
from baremetal_sched.web.http_errors import RefusedRequest

#: When the request was completely received, by ``time.monotonic``.
ACCEPTED_AT = "baremetal_sched.accepted_at"

#: An HttpError: the request is refused, and its API answers with this.
REFUSAL = "baremetal_sched.refusal"

#: Paths that are served at any load. They must not wait for anything.
IMMEDIATE = frozenset({"/healthcheck/live"})


_BUSY = "The service was busy until the time limit of this request; nothing was done. Try again in a moment."


class Slots(FairPlaces):
    """``at_work`` slots, taken in the order of arrival, and places for ``waiting`` requests."""

    def __init__(self, at_work: int, waiting: int) -> None:
        super().__init__(at_work)
        self._most_waiting = waiting
        self._waiting = 0

    def take(self, deadline: float) -> bool:
        """Take a slot; return whether one was free before ``deadline`` (``time.monotonic()``)."""
        return self._take(None, deadline - time.monotonic())

    def give_back(self) -> None:
        """Return a slot, to the request that has been queued for longest."""
        self._give_back(None)

    def reserve(self) -> None:
        """Take a waiting place. Raises TooManyWaiting if none is free."""
        with self._lock:
            if self._waiting >= self._most_waiting:
                raise TooManyWaiting(limit=self._most_waiting)
            self._waiting += 1

    def leave(self) -> None:
        """Return a waiting place."""
        with self._lock:
            self._waiting -= 1


class _Request:
    """A request, which begins with a slot."""

    def __init__(self, slots: Slots, deadline: float) -> None:
        self._slots = slots
        self._deadline = deadline
        self._has_slot = True
        self._has_place = False

    def reserve(self) -> None:
        if not self._has_place:
            self._slots.reserve()
            self._has_place = True

    def give_back(self) -> None:
        if self._has_slot:
            self._has_slot = False
            self._slots.give_back()

    def go_on(self) -> None:
        self._has_slot = self._has_slot or self._slots.take(self._deadline)

    def end(self) -> None:
        self.give_back()
        if self._has_place:
            self._slots.leave()


_current: ContextVar[_Request | None] = ContextVar("request_with_slot", default=None)


def reserve() -> None:
    """Ensure that the current request may wait from now on: call before writing anything whose result it must wait
    for. Raises TooManyWaiting."""
    request = _current.get()
    if request is not None:
        request.reserve()


@contextmanager
def waiting() -> Iterator[None]:
    """Return the current request's slot while it waits in this context. It must have no open transaction.

    Raises TooManyWaiting before anything was waited for, unless the request has reserved its place. The request gets a
    slot again when it continues; but if its deadline has passed it continues without one, to report the result: no
    transaction begins after that. Does nothing outside a request.
    """
    request = _current.get()
    if request is None:
        yield
        return
    request.reserve()
    request.give_back()
    try:
        yield
    finally:
        request.go_on()


def with_slots(wsgi: WSGIApplication, settings: Settings) -> WSGIApplication:
    """Return ``wsgi``, which is called with a slot; 503 if none becomes free before the request's deadline.

    The slot is given back as soon as there is a response, which is complete then: no API streams. Sending it is up to
    the server, so that a client which reads slowly keeps no slot, whatever the server: it keeps a thread, of our own
    server for ``Limits.blocked_seconds`` at most. Neither refusals nor ``/healthcheck/live`` need a slot.
    """
    options = settings.api
    slots = Slots(options.max_requests_at_work, options.max_requests_waiting)

    def called(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        accepted_at = environ.setdefault(ACCEPTED_AT, time.monotonic())
        if environ.get("PATH_INFO") in IMMEDIATE or REFUSAL in environ:
            return wsgi(environ, start_response)
        deadline = accepted_at + options.request_timeout
        if not slots.take(deadline):
            environ[REFUSAL] = RefusedRequest(503, _BUSY)
            return wsgi(environ, start_response)
        request = _Request(slots, deadline)
        token = _current.set(request)
        try:
            return wsgi(environ, start_response)
        finally:
            _current.reset(token)
            request.end()

    return called
