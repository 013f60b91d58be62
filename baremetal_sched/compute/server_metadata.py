"""Metadata of servers: texts by key, which the instance finds in its config drive once it is built or rebuilt."""

from collections.abc import Mapping

from baremetal_sched.compute import server_states
from baremetal_sched.compute.servers import Locked
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Server
from baremetal_sched.errors.servers import MetadataItemNotFound, TooMuchMetadata

#: Most items that a server may have.
MOST = 128


def check(metadata: Mapping[str, str]) -> None:
    """Raise TooMuchMetadata for more items than a server may have."""
    if len(metadata) > MOST:
        raise TooMuchMetadata(limit=MOST)


def replace(locked: Locked, items: Mapping[str, str], *, keep: bool) -> dict[str, str]:
    """Set items; others stay if ``keep``. Returns all items. Raises ServerStateRefused, TooMuchMetadata."""
    server = _editable(locked, "update metadata")
    after = {**(server.user_metadata if keep else {}), **items}
    check(after)
    server.user_metadata = after
    return after


def remove(locked: Locked, key: str) -> None:
    """Remove an item. Raises ServerStateRefused, MetadataItemNotFound."""
    if key not in locked.server.user_metadata:
        raise MetadataItemNotFound
    server = _editable(locked, "delete metadata")
    server.user_metadata = {name: value for name, value in server.user_metadata.items() if name != key}


def get(server: Server, key: str) -> str:
    """Return an item. Raises MetadataItemNotFound."""
    if key not in server.user_metadata:
        raise MetadataItemNotFound
    value: str = server.user_metadata[key]
    return value


def _editable(locked: Locked, doing: str) -> Server:
    server_states.require_editable(doing, locked.server.uuid, locked.state)
    locked.server.updated_at = utcnow()
    return locked.server
