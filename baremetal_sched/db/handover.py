"""What a transaction frees, and who is given it before the transaction commits.

Code that frees a machine notes it here, in its transaction, and need not know which claims wait for it. The
composition root sets ``Database.handover``, which serves those who wait, in the same transaction.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlalchemy import Connection
from sqlalchemy.orm import Session

#: Name of the notes among the options of a connection, which has them for one transaction.
_NOTES = "handover_notes"

#: The number of attempts of a transaction that hand over. If all of them fail, the transaction commits without: a
#: periodic task then gives away what it freed.
MOST_ATTEMPTS = 3


@dataclass
class HandoverNotes:
    """What a transaction may have freed: providers (ids) and nodes (UUIDs); and claims (UUIDs) that it left waiting."""

    providers: set[int] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    waiting: list[str] = field(default_factory=list)


class Handover(Protocol):
    """Serves the claims that wait."""

    def wanted(self, connection: Connection, notes: HandoverNotes) -> Sequence[Any]:
        """Return the machines among those freed that may fit a claim which waits, in a form for ``serve``."""

    def serve(self, session: Session, machines: Sequence[Any]) -> None:
        """Give each machine to the first claim that it fits, in the transaction of the session."""

    def look_again(self, waiting: Collection[str], deadline: float | None) -> None:
        """Look for machines for claims that have just begun to wait, in transactions of their own.

        A machine that was freed by a transaction which did not see the claim yet is found now. It ends by ``deadline``
        (``time.monotonic``), if given, and raises nothing: what the request asked for is committed.
        """


def notes_of(connection: Connection) -> HandoverNotes:
    """Return the notes of the transaction on this connection."""
    notes: HandoverNotes | None = connection.get_execution_options().get(_NOTES)
    if notes is None:
        notes = HandoverNotes()
        connection.execution_options(**{_NOTES: notes})
    return notes
