"""Tags of servers."""

from collections.abc import Sequence

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from baremetal_sched.compute import server_states
from baremetal_sched.compute.server_rows import MOST_TAGS
from baremetal_sched.compute.servers import Locked
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Server, ServerTag
from baremetal_sched.db.results import rows_changed
from baremetal_sched.errors.servers import TagNotFound, TooManyTags


def list_tags(session: Session, server_id: int) -> list[str]:
    """Return the tags of a server, sorted."""
    return list(session.scalars(select(ServerTag.tag).where(ServerTag.server_id == server_id).order_by(ServerTag.tag)))


def require(session: Session, server: Server, tag: str) -> None:
    """Raise TagNotFound unless the server has the tag."""
    if tag not in list_tags(session, server.id):
        raise TagNotFound(server=server.uuid, tag=tag)


def replace(session: Session, locked: Locked, tags: Sequence[str]) -> list[str]:
    """Give the server these tags and no others; returns them. Raises ServerStateRefused."""
    server = _editable(locked)
    session.execute(delete(ServerTag).where(ServerTag.server_id == server.id))
    rows = [{"server_id": server.id, "tag": tag} for tag in dict.fromkeys(tags)]
    if rows:
        session.execute(insert(ServerTag), rows)
    return list_tags(session, server.id)


def add(session: Session, locked: Locked, tag: str) -> bool:
    """Give the server one more tag. Returns False if it has it. Raises ServerStateRefused, TooManyTags."""
    server = _editable(locked)
    present = list_tags(session, server.id)
    if len(present) >= MOST_TAGS:
        raise TooManyTags(limit=MOST_TAGS)
    if tag in present:
        return False
    session.execute(insert(ServerTag).values(server_id=server.id, tag=tag))
    return True


def remove(session: Session, locked: Locked, tag: str) -> None:
    """Take a tag from the server. Raises ServerStateRefused, TagNotFound."""
    server = _editable(locked)
    taken = session.execute(delete(ServerTag).where(ServerTag.server_id == server.id, ServerTag.tag == tag))
    if not rows_changed(taken):
        raise TagNotFound(server=server.uuid, tag=tag)


def _editable(locked: Locked) -> Server:
    server_states.require_editable("tag", locked.server.uuid, locked.state)
    locked.server.updated_at = utcnow()
    return locked.server
