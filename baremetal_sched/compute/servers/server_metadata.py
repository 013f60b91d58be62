"""Metadata and tags of servers."""

from collections.abc import Mapping, Sequence

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from baremetal_sched.compute import server_states
from baremetal_sched.compute.servers.server_rows import MOST_TAGS
from baremetal_sched.compute.servers.servers import Locked
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Server, ServerTag
from baremetal_sched.db.results import rows_changed
from baremetal_sched.errors.compute import MetadataItemNotFound, TagNotFound, TooManyTags, TooMuchMetadata

#: Most items that a server may have.
MOST = 128


def check_metadata(metadata: Mapping[str, str]) -> None:
    """Raise TooMuchMetadata for more items than a server may have."""
    if len(metadata) > MOST:
        raise TooMuchMetadata(limit=MOST)


def replace_metadata(locked: Locked, items: Mapping[str, str], *, keep: bool) -> dict[str, str]:
    """Set items; others stay if ``keep``. Returns all items. Raises ServerStateRefused, TooMuchMetadata."""
    server = _editable(locked, "update metadata")
    after = {**(server.user_metadata if keep else {}), **items}
    check_metadata(after)
    server.user_metadata = after
    return after


def remove_metadata(locked: Locked, key: str) -> None:
    """Remove an item. Raises ServerStateRefused, MetadataItemNotFound."""
    if key not in locked.server.user_metadata:
        raise MetadataItemNotFound
    server = _editable(locked, "delete metadata")
    server.user_metadata = {name: value for name, value in server.user_metadata.items() if name != key}


def get_metadata(server: Server, key: str) -> str:
    """Return an item. Raises MetadataItemNotFound."""
    if key not in server.user_metadata:
        raise MetadataItemNotFound
    value: str = server.user_metadata[key]
    return value


def _editable(locked: Locked, doing: str) -> Server:
    server_states.require_editable(doing, locked.server.uuid, locked.state)
    locked.server.updated_at = utcnow()
    return locked.server


def list_tags(session: Session, server_id: int) -> list[str]:
    """Return the tags of a server, sorted."""
    return list(session.scalars(select(ServerTag.tag).where(ServerTag.server_id == server_id).order_by(ServerTag.tag)))


def require_tag(session: Session, server: Server, tag: str) -> None:
    """Raise TagNotFound unless the server has the tag."""
    if tag not in list_tags(session, server.id):
        raise TagNotFound(server=server.uuid, tag=tag)


def replace_tags(session: Session, locked: Locked, tags: Sequence[str]) -> list[str]:
    """Give the server these tags and no others; returns them. Raises ServerStateRefused."""
    server = _editable(locked, "tag")
    session.execute(delete(ServerTag).where(ServerTag.server_id == server.id))
    rows = [{"server_id": server.id, "tag": tag} for tag in dict.fromkeys(tags)]
    if rows:
        session.execute(insert(ServerTag), rows)
    return list_tags(session, server.id)


def add_tag(session: Session, locked: Locked, tag: str) -> bool:
    """Give the server one more tag. Returns False if it has it. Raises ServerStateRefused, TooManyTags."""
    server = _editable(locked, "tag")
    present = list_tags(session, server.id)
    if len(present) >= MOST_TAGS:
        raise TooManyTags(limit=MOST_TAGS)
    if tag in present:
        return False
    session.execute(insert(ServerTag).values(server_id=server.id, tag=tag))
    return True


def remove_tag(session: Session, locked: Locked, tag: str) -> None:
    """Take a tag from the server. Raises ServerStateRefused, TagNotFound."""
    server = _editable(locked, "tag")
    taken = session.execute(delete(ServerTag).where(ServerTag.server_id == server.id, ServerTag.tag == tag))
    if not rows_changed(taken):
        raise TagNotFound(server=server.uuid, tag=tag)
