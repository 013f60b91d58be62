"""The requester of a transaction's changes, kept with the session, for the history of nodes and for work on them."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

_KEY = "requester"

#: Maximum length of an id in the tables.
_LONGEST = 255


@dataclass(frozen=True)
class Requester:
    """The request, and its user and project; None: there is no request, or they are unknown."""

    request_id: str | None = None
    user_id: str | None = None
    project_id: str | None = None

    def known(self) -> dict[str, str]:
        """Return the known values, by the names of columns and log fields."""
        found = {"request_id": self.request_id, "user_id": self.user_id, "project_id": self.project_id}
        return {name: value[:_LONGEST] for name, value in found.items() if value is not None}


UNKNOWN = Requester()


def attach(session: Session, requester: Requester) -> None:
    """Set the requester of the session's transaction."""
    session.info[_KEY] = requester


def of(session: Session) -> Requester:
    """Return the requester of the session's transaction."""
    found: Requester = session.info.get(_KEY, UNKNOWN)
    return found
