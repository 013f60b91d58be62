"""Machines that a transaction frees, and the waiting claims that get them before the transaction commits.

Code that frees a machine notes it (``db.notes``). The composition root sets ``Database.handover``, which serves the
waiting claims in the same transaction.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

from sqlalchemy import Connection
from sqlalchemy.orm import Session

from baremetal_sched.db.notes import Notes, notes_of

#: The number of attempts of a transaction that hand over. If all of them lose races, the transaction commits without a
#: hand-over: a periodic task then hands the freed machines over.
_MOST_ATTEMPTS = 3


class Handover(Protocol):
    """Serves the claims that wait."""

    def wanted(self, connection: Connection, notes: Notes) -> Sequence[Any]:
        """Return the freed machines that may fit a waiting claim, in a form for ``serve``."""

    def serve(self, session: Session, machines: Sequence[Any]) -> None:
        """Give each machine to the first claim that it fits, in the transaction of the session."""

    def offer(self, machines: Collection[int], deadline: float | None) -> None:
        """Give free machines (ids of providers) to waiting claims, in a transaction of its own."""

    def lock(self, connection: Connection, nodes: Collection[str]) -> None:
        """Lock these machines in the order of locks, and wait for transactions that have locked them."""

    def look_after(self, notes: Notes, deadline: float | None) -> None:
        """Look once more for claims that wait for the freed machines, after the commit, and for other machines for
        bookings, if theirs can no longer be had.

        A claim that began to wait before the commit found nothing free, and the transaction did not see it. Ends and
        fails like ``look_again``.
        """

    def look_again(self, waiting: Collection[str], deadline: float | None) -> None:
        """Look for machines for claims that have just begun to wait, in transactions of their own.

        A machine that was freed by a transaction which did not see the claim yet is found now. It ends by ``deadline``
        (``time.monotonic``), if given, and raises nothing: the request itself is committed already.
        """


class Attempts:
    """The attempts of a transaction: whether they hand over, and which machines they lock before all else.

    ``most``: the number after which the transaction is given up.
    """

    def __init__(self, handover: Handover | None, most: int) -> None:
        self._handover = handover
        self._most = most
        self._begun = self._blocked = 0
        self._nodes: set[str] = set()
        #: Machines (ids of providers) that have been offered to waiting claims.
        self.offered: frozenset[int] = frozenset()
        #: Whether machines are being locked.
        self.is_locking = False
        #: Whether nothing is handed over because a machine could not be locked.
        self.given_up = False

    def begin(self, connect: Callable[[], Connection]) -> None:
        """Begin another: first lock the machines that were locked by others before.

        ``connect`` is called only if there is something to lock or to note: on SQLite it takes the lock for writing,
        and what a request does before it reads must not wait for that.
        """
        self._begun += 1
        self.is_locking = False
        if self.offered:
            notes_of(connect()).offered = self.offered
        if self._nodes and self.hands_over and self._handover is not None:
            self.is_locking = True
            self._handover.lock(connect(), self._nodes)
            self.is_locking = False

    @property
    def hands_over(self) -> bool:
        """Return whether the attempt that has begun hands over what it frees."""
        is_last = self._begun >= self._most > 1
        return not self.given_up and not is_last and self._begun - self._blocked <= _MOST_ATTEMPTS

    def look_after(self, notes: Notes, deadline: float | None) -> None:
        """Look for requests that wait and for machines that are free, after the commit of an attempt with these
        notes."""
        if self._handover is None:
            return
        if (notes.providers or notes.nodes or notes.groups or notes.booked) and not self.given_up:
            self._handover.look_after(notes, deadline)
        if notes.waiting:
            self._handover.look_again(notes.waiting, deadline)

    def lock_first(self, node: str) -> None:
        """Lock this machine first in the next attempt, which is one more."""
        if node not in self._nodes:
            self._nodes.add(node)
            self._blocked += 1
