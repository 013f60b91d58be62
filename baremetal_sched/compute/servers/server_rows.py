"""Servers as plain rows, for lists and for showing one: columns of the server and of its node. No entities."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import orjson
from sqlalchemy import ColumnElement, and_, bindparam, case, exists, func, not_, or_, select
from sqlalchemy.orm import Session

from baremetal_sched.compute import server_groups, server_states
from baremetal_sched.compute.server_states import NodeState, ServerState
from baremetal_sched.db import compiled
from baremetal_sched.db.json_text import members
from baremetal_sched.db.models import Node, Server, ServerGroup, ServerGroupMember, ServerTag, table_of
from baremetal_sched.db.paging import Page, after_marker, order
from baremetal_sched.db.sql_functions import has_all, string_agg
from baremetal_sched.db.types import Query, Reader, Rows, as_text, connection_of
from baremetal_sched.errors.compute import ServerMarkerNotFound, ServerNotFound
from baremetal_sched.machines import states

#: Most tags that a server may have.
MOST_TAGS = 50

_SERVERS, _NODES = table_of(Server).c, table_of(Node).c

#: The columns on which the state of a server depends, and the columns of filters.
STATE_COLUMNS = (
    Server.task,
    Server.power_after_task,
    Node.uuid.label("node_uuid"),
    Node.provision_state,
    Node.power_state,
    Node.target_power_state,
    Node.conductor_group,
    Node.driver,
    as_text(_NODES.network_data).label("network_data"),
)

_OF_SERVER = (
    *("id", "uuid", "name", "hostname", "description", "project_id", "user_id", "image_id", "flavor_id", "keypair"),
    *("user_data", "config_drive", "metadata", "security_groups", "scheduler_hints", "requested_zone"),
    *("reservation_id", "launch_index", "disk_config", "access_ip_v4", "access_ip_v6", "locked", "locked_reason"),
    *("task", "power_after_task", "fault", "launched_at", "created_at", "updated_at"),
)
_OF_NODE = (*("provision_state", "power_state", "target_power_state", "conductor_group", "driver", "network_data"),)

#: (SELECT group_concat(tag) FROM server_tags WHERE server_id = servers.id); a tag has no comma.
_TAGS = select(string_agg(ServerTag.tag)).where(ServerTag.server_id == Server.id).scalar_subquery()

#: (SELECT g.uuid FROM server_groups g JOIN server_group_members m ON m.group_id = g.id WHERE m.server_id = servers.id)
_GROUP = (
    select(ServerGroup.uuid)
    .join(ServerGroupMember, ServerGroupMember.group_id == ServerGroup.id)
    .where(ServerGroupMember.server_id == Server.id)
    .scalar_subquery()
)

#: What a server is shown from. The database makes one text of nearly all of it: a driver in Python takes longer to read
#: many columns. Copies of flavors and images are apart, as many servers have the same.
_COLUMNS = (
    members(
        [
            *((name, _SERVERS[name]) for name in _OF_SERVER),
            ("node_uuid", _NODES.uuid),
            *((name, _NODES[name]) for name in _OF_NODE),
        ]
    ).label("members"),
    as_text(_SERVERS.flavor).label("flavor"),
    as_text(_SERVERS.image).label("image"),
    _TAGS.label("tags"),
)

#: What a list may be sorted by, by the names that Nova has for it.
SORT_KEYS = {
    "access_ip_v4": Server.access_ip_v4,
    "access_ip_v6": Server.access_ip_v6,
    "auto_disk_config": Server.disk_config,
    "config_drive": Server.config_drive,
    "created_at": Server.created_at,
    "display_description": Server.description,
    "display_name": Server.name,
    "hostname": Server.hostname,
    "id": Server.id,
    "image_ref": Server.image_id,
    "launch_index": Server.launch_index,
    "launched_at": Server.launched_at,
    "locked": Server.locked,
    "project_id": Server.project_id,
    "updated_at": Server.updated_at,
    "user_id": Server.user_id,
    "uuid": Server.uuid,
}

#: A condition on a row of ``STATE_COLUMNS``.
RowCondition = Callable[[Any], bool]


@dataclass
class Filters:
    """The filters of a list of servers: conditions in SQL, and conditions that are checked row by row."""

    clauses: list[ColumnElement[bool]] = field(default_factory=list)
    rows: list[RowCondition] = field(default_factory=list)


def state_of(row: Any) -> ServerState:
    """Return the state of the server in a row that has ``STATE_COLUMNS``."""
    if row.provision_state is None:
        return server_states.state_of(row.task, None, None)
    node = NodeState(row.provision_state, row.power_state, row.target_power_state)
    return server_states.state_of(row.task, row.power_after_task, node)


def status() -> ColumnElement[str]:
    """Return the SQL of the status that ``state_of`` returns: of a server and its node, which may be missing."""
    task, state, power = Server.task, Node.provision_state, Node.power_state
    by_power = case((power == states.POWER_OFF, "SHUTOFF"), else_="ACTIVE")
    reboots = and_(Node.target_power_state.is_not(None), or_(power.is_(None), power != states.POWER_OFF))
    in_use = case(
        (and_(reboots, task == server_states.REBOOTING), "REBOOT"),
        (and_(reboots, task == server_states.REBOOTING_HARD), "HARD_REBOOT"),
        else_=by_power,
    )
    spawns = and_(task == server_states.SPAWNING, state.in_((states.AVAILABLE, states.DEPLOYFAIL)))
    builds = task.in_((server_states.SPAWNING, server_states.DELETING))
    return case(
        (and_(state.is_(None), task == server_states.SCHEDULING), "BUILD"),
        (state == states.DELETING, by_power),
        (or_(spawns, state == states.ADOPTING), "BUILD"),
        (state.in_(server_states.BEING_DEPLOYED), case((builds, "BUILD"), else_="REBUILD")),
        (state.in_(server_states.BEING_RESCUED), "ACTIVE"),
        (state.in_((states.RESCUE, states.UNRESCUING)), "RESCUE"),
        (state.in_(server_states.IN_USE), in_use),
        else_="ERROR",
    )


class ServerRow(SimpleNamespace):
    """A server and its node: their columns by name. Time stamps are texts; ``flavor`` and ``image`` are texts of JSON,
    ``tags`` is sorted, and other JSON is decoded, with ``{}`` for nothing. ``find`` adds ``server_groups``: UUIDs."""


def _row(row: Any) -> ServerRow:
    tags = sorted(row.tags.split(",")) if row.tags else []
    return ServerRow(**orjson.loads(f"{{{row.members}}}"), flavor=row.flavor, image=row.image, tags=tags)


def select_servers(*columns: Any) -> Query:
    """Return the query of these columns of servers and of their nodes: a server that has none is among them."""
    return select(*columns).select_from(Server).outerjoin(Node, Node.instance_uuid == Server.uuid)


@lru_cache
def _one() -> Query:
    """Return the statement for one server. It is kept, since it takes longer to make than to run."""
    return select_servers(*_COLUMNS, _GROUP.label("server_group")).where(Server.uuid == bindparam("server"))


def find(reader: Reader, uuid: str, project: str | None) -> ServerRow:
    """Return the server with this UUID, of the project if one is given. Raises ServerNotFound."""
    found = compiled.run(connection_of(reader), _one(), {"server": uuid}).first()
    row = None if found is None else _row(found)
    if row is None or project not in (None, row.project_id):
        raise ServerNotFound(server=uuid)
    row.server_groups = [found.server_group] if found.server_group else []
    return row


def list_page(reader: Reader, page: Page, filters: Filters) -> list[ServerRow]:
    """Return the servers that are on the page; its marker is the UUID of a server.

    Raises ServerMarkerNotFound, InvalidValue for a sort key that does not exist.
    """
    return [_row(found) for found in _page(reader, page, filters, _COLUMNS)]


def list_summaries(reader: Reader, page: Page, filters: Filters) -> Rows:
    """Return UUIDs and names of the servers that are on the page. Raises like ``list_page``."""
    return _page(reader, page, filters, (Server.uuid, Server.name))


def _page(reader: Reader, page: Page, filters: Filters, columns: Sequence[Any]) -> Rows:
    def missing(marker: str) -> ServerMarkerNotFound:
        return ServerMarkerNotFound(marker=marker)

    query = after_marker(reader, select_servers(*columns).where(*filters.clauses), Server, page, missing)
    terms = order(Server, page)
    if not filters.rows:
        return reader.execute(query.order_by(*terms).limit(page.limit)).all()
    every = query.with_only_columns(Server.id, *STATE_COLUMNS).order_by(*terms)
    ids = _first(reader.execute(every), filters.rows, page.limit)
    if not ids:
        return []
    return reader.execute(select_servers(*columns).where(Server.id.in_(ids)).order_by(*terms)).all()


def _first(rows: Iterable[Any], conditions: Sequence[RowCondition], limit: int) -> list[int]:
    """The ids of the first rows that meet all conditions, at most ``limit``."""
    ids: list[int] = []
    for row in rows:
        if len(ids) < limit and all(condition(row) for condition in conditions):
            ids.append(row.id)
    return ids


def has_tags(tags: Sequence[str], *, any_of: bool = False, negated: bool = False) -> ColumnElement[bool]:
    """Return the condition that the server has all the tags, or one of them (``any_of``); ``negated``: not so."""
    own = ServerTag.server_id == Server.id
    if any_of:
        condition: ColumnElement[bool] = exists().where(own, ServerTag.tag.in_(tags))
    else:
        condition = has_all(own, [ServerTag.tag == tag for tag in dict.fromkeys(tags)], MOST_TAGS)
    return not_(condition) if negated else condition


def decoded(text: str | None) -> Any:
    """Return the value of a column of JSON."""
    return None if text is None else orjson.loads(text)


def usage(session: Session, project_id: str) -> Mapping[str, int]:
    """Return how much a project uses of ``instances``, ``cores`` and ``ram`` (MiB), and how many ``server_groups`` it
    has."""
    # SELECT flavor, count(*) FROM servers WHERE project_id = … GROUP BY flavor: many servers have the same copy.
    flavor = as_text(_SERVERS.flavor)
    rows = session.execute(select(flavor, func.count()).where(Server.project_id == project_id).group_by(flavor))
    flavors = [(decoded(text), count) for text, count in rows]
    return {
        "instances": sum(count for _, count in flavors),
        "cores": sum(each["vcpus"] * count for each, count in flavors),
        "ram": sum(each["ram"] * count for each, count in flavors),
        "server_groups": server_groups.count(session, project_id),
    }
