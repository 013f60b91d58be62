"""The requester of a transaction's changes, kept with the session or the connection, for the history of nodes, for work
on them, and for events."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.orm import Session

_KEY = "requester"
#: The option of a connection: the notes of its session, or notes of its own.
_NOTES = "requester_notes"

#: Maximum length of an id in the tables.
LONGEST = 255


@dataclass(frozen=True)
class Requester:
    """The request, and its user and project; None: there is no request, or they are unknown."""

    request_id: str | None = None
    user_id: str | None = None
    project_id: str | None = None

    def known(self) -> dict[str, str]:
        """Return the known values, by the names of columns and log fields."""
        found = {"request_id": self.request_id, "user_id": self.user_id, "project_id": self.project_id}
        return {name: value[:LONGEST] for name, value in found.items() if value is not None}


UNKNOWN = Requester()


def attach(writer: Session | Connection, requester: Requester) -> None:
    """Set the requester of the transaction."""
    if isinstance(writer, Session):
        writer.info[_KEY] = requester
    else:
        writer.execution_options(**{_NOTES: {_KEY: requester}})


@contextmanager
def attached(session: Session, requester: Requester) -> Iterator[None]:
    """Set the requester for a while."""
    before = of(session)
    attach(session, requester)
    try:
        yield
    finally:
        attach(session, before)


def of(writer: Session | Connection) -> Requester:
    """Return the requester of the transaction; UNKNOWN if there is none."""
    notes = writer.info if isinstance(writer, Session) else writer.get_execution_options().get(_NOTES, {})
    found: Requester = notes.get(_KEY, UNKNOWN)
    return found


def follow(session: Session, transaction: Any, connection: Connection) -> None:
    """Have the connection know the requester of its session, also one that is set later: a listener of sessions."""
    connection.execution_options(**{_NOTES: session.info})
