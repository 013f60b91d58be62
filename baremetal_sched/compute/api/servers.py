"""/servers"""

from typing import Any

from flask import Response
from sqlalchemy import Connection
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors.ownership import NO_MEMBERS
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.compute.api import server_requests, server_view
from baremetal_sched.compute.api.call import PREFIX, ComputeCall
from baremetal_sched.compute.api.server_filters import PARAMETERS, filters_of
from baremetal_sched.compute.api.server_view import Viewer
from baremetal_sched.compute.schemas import servers as forms
from baremetal_sched.compute.schemas.form import to_boolean
from baremetal_sched.compute.servers import server_operations, server_rows, servers
from baremetal_sched.compute.servers.server_rows import Filters, ServerRow
from baremetal_sched.compute.servers.servers import Locked
from baremetal_sched.db.models import Server
from baremetal_sched.db.paging import Page, SortKey
from baremetal_sched.db.types import Reader
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors.compute import ServerNotFound
from baremetal_sched.web.query import Query
from baremetal_sched.web.responses import empty_response, json_response

_PINNED = "pinned_availability_zone"


def list_servers(call: ComputeCall, connection: Connection) -> Response:
    """GET /servers"""
    query, page, filters = _list_query(call, connection, "index")
    viewer = Viewer(call, NO_MEMBERS)
    rows = server_rows.list_summaries(connection, page, filters)
    return _collection(call, query, page, rows, [server_view.summary(viewer, row) for row in rows])


def list_details(call: ComputeCall, connection: Connection) -> Response:
    """GET /servers/detail"""
    query, page, filters = _list_query(call, connection, "detail")
    rows = server_rows.list_page(connection, page, filters)
    viewer = Viewer.of(call, connection)
    return _collection(call, query, page, rows, [server_view.detail(viewer, row, single=False) for row in rows])


def _list_query(call: ComputeCall, connection: Connection, operation: str) -> tuple[Query, Page, Filters]:
    query = Query(call, PARAMETERS)
    filters = filters_of(call, connection, query, operation)
    sort = query.sort([SortKey("created_at", descending=True), SortKey("id", descending=True)])
    within = None if call.viewer is None else Server.project_id == call.viewer
    page = Page(query.limit(least=0), query.text("marker"), sort, server_rows.SORT_KEYS, within=within)
    return query, page, filters


def _collection(call: ComputeCall, query: Query, page: Page, rows: Any, items: list[dict[str, Any]]) -> Response:
    return json_response({"servers": items, **query.links("servers", [row.uuid for row in rows], page.limit)})


def show_server(call: ComputeCall, connection: Connection, server_id: str) -> Response:
    """GET /servers/{server_id}"""
    row = find_row(call, connection, server_id)
    viewer = Viewer.of(call, connection, row.project_id)
    return json_response({"server": server_view.detail(viewer, row)})


def create_servers(call: ComputeCall, session: Session) -> Response:
    """POST /servers"""
    body = call.body(forms.create(call.version))
    password = server_requests.new_password(body["server"].get("adminPass"))
    new = server_requests.new_servers(call, session, body, password)
    created = servers.create(context_of(call, session), new, server_requests.requester_of(call))
    if to_boolean(body["server"].get("return_reservation_id", False)):
        return json_response({"reservation_id": created[0].reservation_id}, 202)
    return _created(call, created[0], password)


def _created(call: ComputeCall, server: Server, password: str) -> Response:
    document = {
        "id": server.uuid,
        "links": call.links("servers", server.uuid),
        "OS-DCF:diskConfig": server.disk_config,
        "security_groups": [{"name": name} for name in server.security_groups],
        "adminPass": password,
    }
    return json_response({"server": document}, 202, {"Location": address(call, server.uuid)})


def update_server(call: ComputeCall, session: Session, server_id: str) -> Response:
    """PUT /servers/{server_id}"""
    members = call.body(forms.update(call.version))["server"]
    changes = server_requests.changes_of(members)
    locked = find_unlocked(call, session, server_id)
    if _PINNED in members:
        servers.pin(locked, members[_PINNED], call.settings.compute.default_availability_zone)
    servers.update(session, locked.server, changes)
    session.flush()
    row = find_row(call, session, server_id)
    return json_response({"server": server_view.changed(Viewer.of(call, session, row.project_id), row)})


def delete_server(call: ComputeCall, session: Session, server_id: str) -> Response:
    """DELETE /servers/{server_id}"""
    locked = find_unlocked(call, session, server_id)
    with server_operations.refused_by_machine("delete", locked.server):
        servers.delete(context_of(call, session), locked, server_requests.requester_of(call))
    return empty_response(204)


# -- shared with the resources below a server --------------------------------------------------------------------------


def find_row(call: ComputeCall, reader: Reader, server_id: str) -> ServerRow:
    """Return the row of a server that the caller sees. Raises ServerNotFound, NotAllowed."""
    canonical = canonical_uuid(server_id)
    if canonical is None:
        raise ServerNotFound(server=server_id)
    row = server_rows.find(reader, canonical, call.viewer)
    call.require_for(row.project_id)
    return row


def find(call: ComputeCall, session: Session, server_id: str) -> Server:
    """Return a server that the caller sees. Raises ServerNotFound, NotAllowed."""
    server = servers.find(session, server_id, call.viewer)
    call.require_for(server.project_id)
    return server


def find_unlocked(call: ComputeCall, session: Session, server_id: str, *, own_lock: bool = False) -> Locked:
    """Return a server that the caller may change, and its node, locked until the transaction ends.

    Raises ServerNotFound, NotAllowed; ServerLocked, but not with ``own_lock``, for a request about the lock itself.
    """
    locked = servers.find_for_change(session, server_id, call.viewer)
    call.require_for(locked.server.project_id)
    if not own_lock:
        server_operations.require_unlocked(locked.server, is_admin=call.is_admin)
    return locked


def context_of(call: ComputeCall, session: Session) -> MachineContext:
    """Return the context of a change of a machine."""
    return MachineContext(session, call.settings)


def address(call: ComputeCall, server_id: str) -> str:
    """Return the address of a server."""
    return f"{call.base_url}{PREFIX}/servers/{server_id}"
