"""Server groups: making, finding and deleting them, their members, and the lock of each.

To place a member, lock the row of the group first, then nodes: concurrent boots then see each other's members.
"""

import uuid as uuid_module
from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import bindparam, func, insert, select, update
from sqlalchemy import delete as delete_rows
from sqlalchemy.orm import Session

from baremetal_sched.db import schema_state
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, Server, ServerGroup, ServerGroupMember, table_of
from baremetal_sched.db.results import rows_changed
from baremetal_sched.errors.compute import (
    ServerGroupNotFound,
    ServerGroupsNotServed,
    TooManyInServerGroup,
    TooManyServerGroups,
)

AFFINITY, ANTI_AFFINITY = "affinity", "anti-affinity"
SOFT_AFFINITY, SOFT_ANTI_AFFINITY = "soft-affinity", "soft-anti-affinity"

_GROUPS = table_of(ServerGroup)

#: The first schema whose releases all know server groups.
FIRST_REVISION = "0029"


#: The quota that means "unlimited".
UNLIMITED = -1


def create(
    session: Session,
    name: str,
    policy: str,
    *,
    project_id: str,
    user_id: str,
    max_server_per_host: int | None = None,
    quota: int = UNLIMITED,
) -> ServerGroup:
    """Return a new group; the project may have ``quota`` groups. Raises ServerGroupsNotServed, TooManyServerGroups."""
    if not schema_state.has_finished(session.connection(), FIRST_REVISION):
        raise ServerGroupsNotServed
    if quota != UNLIMITED:
        schema_state.lock(session.connection())  # one group begins after the other
        if count(session, project_id) >= quota:
            raise TooManyServerGroups
    group = ServerGroup(
        uuid=str(uuid_module.uuid4()),
        name=name,
        project_id=project_id,
        user_id=user_id,
        policy=policy,
        max_server_per_host=max_server_per_host,
        created_at=utcnow(),
    )
    session.add(group)
    session.flush()
    return group


def find(session: Session, uuid: str, project: str | None) -> ServerGroup:
    """Return the group with this UUID, of the project if one is given. Raises ServerGroupNotFound."""
    query = select(ServerGroup).where(ServerGroup.uuid == uuid)
    if project is not None:
        query = query.where(ServerGroup.project_id == project)
    group: ServerGroup | None = session.scalars(query.execution_options(populate_existing=True)).first()
    if group is None:
        raise ServerGroupNotFound(group=uuid)
    return group


def list_page(session: Session, project: str | None, limit: int, offset: int) -> Sequence[ServerGroup]:
    """Return the groups of a project, or of all (None), the oldest first."""
    query = select(ServerGroup).order_by(ServerGroup.id).limit(limit).offset(offset)
    return session.scalars(query if project is None else query.where(ServerGroup.project_id == project)).all()


def members_of(session: Session, groups: Sequence[ServerGroup]) -> Mapping[int, list[str]]:
    """Return the UUIDs of the servers in each group, by the id of the group."""
    found: dict[int, list[str]] = {group.id: [] for group in groups}
    query = select(ServerGroupMember.group_id, Server.uuid).join(Server, Server.id == ServerGroupMember.server_id)
    for group_id, uuid in session.execute(query.where(ServerGroupMember.group_id.in_(found)).order_by(Server.id)):
        found[group_id].append(uuid)
    return found


def delete(session: Session, group: ServerGroup) -> None:
    """Delete the group; its servers stay. Raises ServerGroupNotFound."""
    if not rows_changed(session.execute(delete_rows(ServerGroup).where(ServerGroup.id == group.id))):
        raise ServerGroupNotFound(group=group.uuid)


def count(session: Session, project_id: str) -> int:
    """Return how many groups a project has."""
    query = select(func.count()).select_from(ServerGroup).where(ServerGroup.project_id == project_id)
    return session.scalar(query) or 0


# -- members -----------------------------------------------------------------------------------------------------------


#: A write, since on a cluster locks are not seen elsewhere.
_LOCK = update(_GROUPS).where(_GROUPS.c.uuid == bindparam("group")).values(revision=_GROUPS.c.revision + 1)


def lock(session: Session, uuid: str, project: str | None = None) -> ServerGroup:
    """Return the group like ``find``, its row locked until the transaction ends. Raises ServerGroupNotFound."""
    lock_all(session, [uuid])
    return find(session, uuid, project)


def lock_all(session: Session, uuids: Collection[str]) -> frozenset[str]:
    """Lock the groups with these UUIDs, one after the other in an order that all transactions use; return the UUIDs."""
    if uuids:
        session.connection().execute(_LOCK, [{"group": uuid} for uuid in sorted(uuids)])
    return frozenset(uuids)


def lock_of_node(session: Session, node_id: int) -> ServerGroup | None:
    """Return the group of the server on a node, its row locked; None if there is none."""
    query = (
        select(ServerGroup.uuid)
        .join(ServerGroupMember, ServerGroupMember.group_id == ServerGroup.id)
        .join(Server, Server.id == ServerGroupMember.server_id)
        .join(Node, Node.instance_uuid == Server.uuid)
        .where(Node.id == node_id)
    )
    uuid = session.scalar(query)
    return None if uuid is None else _lock_if_there(session, uuid)


def _lock_if_there(session: Session, uuid: str) -> ServerGroup | None:
    """Return the group, its row locked; None if it was deleted a moment ago."""
    try:
        return lock(session, uuid)
    except ServerGroupNotFound:
        return None


def require_room(session: Session, group: ServerGroup, number: int, quota: int) -> None:
    """Raise TooManyInServerGroup unless the group, whose row is locked, may have ``number`` more servers."""
    members = select(func.count()).select_from(ServerGroupMember).where(ServerGroupMember.group_id == group.id)
    if quota != UNLIMITED and (session.scalar(members) or 0) + number > quota:
        raise TooManyInServerGroup


def is_member(session: Session, group: ServerGroup | None, server: Server) -> bool:
    """Return whether the group, or none, is that of the server."""
    of_server = select(ServerGroupMember.group_id).where(ServerGroupMember.server_id == server.id)
    return session.scalar(of_server) == (None if group is None else group.id)


def add(session: Session, group: ServerGroup, servers: Sequence[Server]) -> None:
    """Make new servers, which are stored, members of the group, whose row is locked."""
    session.execute(insert(ServerGroupMember), [{"server_id": each.id, "group_id": group.id} for each in servers])
