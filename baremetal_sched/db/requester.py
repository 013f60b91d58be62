"""Who asked for what a transaction does: kept with the session, for the history of nodes and for work on them."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

_KEY = "requester"

#: The longest id that the tables keep.
_LONGEST = 255


@dataclass(frozen=True)
class Requester:
    """The request, and the user and project that it came from; None: nobody asked, or it is not known who."""

    request_id: str | None = None
    user_id: str | None = None
    project_id: str | None = None

    def known(self) -> dict[str, str]:
        """Return what is known, by name, as columns and log lines have it."""
        found = {"request_id": self.request_id, "user_id": self.user_id, "project_id": self.project_id}
        return {name: value[:_LONGEST] for name, value in found.items() if value is not None}


UNKNOWN = Requester()


def attach(session: Session, requester: Requester) -> None:
    """Note who asked for what the session's transaction does."""
    session.info[_KEY] = requester


def of(session: Session) -> Requester:
    """Return who asked for what the session's transaction does."""
    found: Requester = session.info.get(_KEY, UNKNOWN)
    return found
