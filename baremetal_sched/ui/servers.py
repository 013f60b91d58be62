"""/servers: the servers of the compute API, their machines, and why they failed."""

from collections.abc import Iterable, Mapping
from typing import Any

from flask import Response
from sqlalchemy import ColumnElement, and_, func, true
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors.ownership import NO_MEMBERS
from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.api.policies import name_of
from baremetal_sched.compute.api.server_view import Viewer
from baremetal_sched.compute.servers import server_rows
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, Server
from baremetal_sched.db.paging import SortKey, each_row, select_page
from baremetal_sched.errors import InvalidValue
from baremetal_sched.suggestions import did_you_mean
from baremetal_sched.ui import exports
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.ends import PageEnd, of_consumers
from baremetal_sched.ui.forms import submitted, without
from baremetal_sched.ui.paging import (
    MARKERS,
    ORDER,
    PAGING,
    ListPage,
    MarkerGone,
    active_filters,
    columns_of,
    of_rows,
    place_of,
)
from baremetal_sched.ui.rendering import page
from baremetal_sched.web.query import Query

SORT_KEYS = {"name": "Name", "flavor": "Flavor", "image": "Image", "project": "Project", "created_at": "Age"}
_SORTED = {
    "name": Server.name,
    "flavor": Server.flavor_id,
    "image": Server.image_id,
    "project": Server.project_id,
    "created_at": Server.created_at,
}

#: Statuses that a server can have here, with the kind of their chips.
STATUSES = {
    "ERROR": "bad",
    "BUILD": "busy",
    "REBUILD": "busy",
    "REBOOT": "busy",
    "HARD_REBOOT": "busy",
    "RESCUE": "warn",
    "SHUTOFF": "plain",
    "ACTIVE": "good",
}

_EQUAL = {"uuid": Server.uuid, "flavor": Server.flavor_id, "image": Server.image_id, "project": Server.project_id}
_FILTERS = ("status", "name", *_EQUAL)
_NEWEST = SortKey("created_at", descending=True)

_COLUMNS = (
    *(Server.id, Server.uuid, Server.name, Server.project_id, Server.flavor, Server.flavor_id),
    *(Server.image, Server.image_id, Server.task, Server.fault, Server.created_at),
    *(Node.uuid.label("node_uuid"), Node.name.label("node_name"), server_rows.status().label("status")),
)


def show_servers(call: UiCall, session: Session) -> Response:
    """GET /servers. Raises NotAllowed for callers who may list no servers, InvalidValue for an invalid filter."""
    compute = call.compute
    compute.require(name_of("servers", "index"))
    wanted = exports.format_of(call)
    query = submitted(call, (*_FILTERS, *(ORDER if wanted else PAGING)))
    conditions = [] if compute.viewer is None else [Server.project_id == compute.viewer]
    shows_node = Viewer(compute, NO_MEMBERS).shows_extended
    if wanted:
        return _export(call, session, query, conditions, wanted, shows_node=shows_node)
    counts = _counts(session, conditions)
    status = query.text("status")
    found = _read(session, query, conditions, counts)
    ends: Mapping[str, PageEnd] = of_consumers(session, [row.uuid for row in found.rows if row.node_uuid])
    mine = {
        row.uuid
        for row in found.rows
        if row.node_uuid and compute.allows(name_of("servers", "delete"), {"project_id": row.project_id})
    }
    return page(
        call,
        "servers.html",
        found=found,
        rows=[(row, *_fault(compute, row)) for row in found.rows],
        counts=[(each, counts[each], kind) for each, kind in STATUSES.items() if each in counts],
        total=sum(counts.values()),
        kinds=STATUSES,
        kept=without(call.query, *MARKERS),
        columns=columns_of(call, "servers", SORT_KEYS, {"name": ["Status", *(["Node"] if shows_node else [])]}),
        active=active_filters(call),
        shows_node=shows_node,
        ends=ends,
        mine=mine,
        shows_error=status is not None and status.upper() == "ERROR",
        everything=compute.is_admin,
        may_create=compute.allows(name_of("servers", "create")),
        now=utcnow(),
    )


def _counts(session: Session, conditions: Iterable[ColumnElement[bool]]) -> dict[str, int]:
    """The number of servers by their status.

    SELECT CASE … END, count(*) FROM servers LEFT JOIN nodes ON nodes.instance_uuid = servers.uuid GROUP BY 1
    """
    status = server_rows.status().label("status")
    rows = session.execute(server_rows.select_servers(status, func.count()).where(*conditions).group_by(status))
    return {word: count for word, count in rows}


def _conditions(query: Query) -> list[ColumnElement[bool]]:
    found = [column == value for name, column in _EQUAL.items() if (value := query.text(name)) is not None]
    if (name := query.text("name")) is not None:
        found.append(func.lower(Server.name).contains(name.lower(), autoescape=True))
    if (status := query.text("status")) is not None:
        if status.upper() not in STATUSES:
            raise InvalidValue(message=f"No server has the status '{status}'.{did_you_mean(status, STATUSES)}")
        found.append(server_rows.status() == status.upper())
    return found


def _export(
    call: UiCall,
    session: Session,
    query: Query,
    seen: list[ColumnElement[bool]],
    wanted: str,
    *,
    shows_node: bool,
) -> Response:
    columns = exports.attributes("uuid", "name", "status", "task", "flavor_id", "image_id", "project_id", "created_at")
    columns |= exports.attributes("node_uuid", "node_name") if shows_node else {}
    columns |= {
        "flavor": lambda row: row.flavor["name"],
        "image": lambda row: row.image and row.image.get("name"),
        "fault": lambda row: _fault(call.compute, row)[0] or None,
    }
    place = place_of(query, SORT_KEYS, _NEWEST, most=exports.MOST)
    chosen = server_rows.select_servers(*_COLUMNS).where(*seen, *_conditions(query))
    rows = each_row(session, chosen, Server, place.page(_SORTED), _missing)
    return exports.export(call, wanted, "servers", columns, rows, place.limit)


def _read(session: Session, query: Query, seen: list[ColumnElement[bool]], counts: Mapping[str, int]) -> ListPage:
    """``seen``: what the caller may see, markers included; ``counts``: of that, by status."""
    conditions = [*seen, *_conditions(query)]
    place = place_of(query, SORT_KEYS, _NEWEST)
    chosen = server_rows.select_servers(*_COLUMNS).where(*conditions)
    rows = select_page(session, chosen, Server, place.page(_SORTED, within=and_(true(), *seen)), _missing)
    if any(query.has(name) for name in ("name", *_EQUAL)):
        counted = server_rows.select_servers(func.count(Server.id)).where(*conditions)
        return of_rows(place, rows, session.scalars(counted).one())
    status = query.text("status")
    return of_rows(place, rows, sum(counts.values()) if status is None else counts.get(status.upper(), 0))


def _missing(marker: str) -> MarkerGone:
    return MarkerGone(marker=f"Server {marker}")


def _fault(call: ComputeCall, row: Any) -> tuple[str, str]:
    """The message of what went wrong with the server, and its details, which only administrators see."""
    fault = row.fault if row.status == "ERROR" and row.fault else {}
    return str(fault.get("message", "")), str(fault.get("details", "")) if call.is_admin else ""
