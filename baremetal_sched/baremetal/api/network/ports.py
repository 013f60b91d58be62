"""/v1/ports, and the ports of nodes and of portgroups"""

import json
from functools import partial
from typing import Any

import orjson
from flask import Response
from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.network.port_filters import PortFilters
from baremetal_sched.baremetal.api.nodes.node_view import INSPECT_WAIT_SINCE
from baremetal_sched.baremetal.api.nodes.nodes import uuid_of as uuid_of_node
from baremetal_sched.baremetal.api.resources import collection
from baremetal_sched.baremetal.api.resources.query import Query
from baremetal_sched.baremetal.api.resources.view import View, resource
from baremetal_sched.baremetal.network import portgroups, ports
from baremetal_sched.baremetal.nodes.node_list import contains
from baremetal_sched.baremetal.schemas.network import PORT_CREATE, VTEP
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.models import Node, Port, Portgroup
from baremetal_sched.db.types import as_text
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import OperationNotPermitted
from baremetal_sched.web import listing
from baremetal_sched.web.responses import empty_response
from baremetal_sched.web.view import EMPTY_OBJECT, Column, Resource, uuid_of_parent

NAMES_SINCE = 88
NODE_IDENT_SINCE = 94
NETWORK_TYPE_SINCE = 64
VTEP_SINCE = 90
GROUP_NETWORK_SINCE = 102

#: Filters, with the first microversion (minor) that has each.
FILTERS = {
    "node": 1,
    "node_uuid": 1,
    "address": 1,
    "portgroup": 24,
    "shard": 82,
    "description_contains": 1,
    "conductor_groups": 1,
}


def _link(version: int, text: str | None) -> Any:
    """Clients below 1.90 do not know links to an OVN gateway: they see an empty link."""
    if not text or (version < VTEP_SINCE and set(VTEP) & set(json.loads(text))):
        return EMPTY_OBJECT
    return orjson.Fragment(text)


class PortView(View):
    """A port as JSON."""

    @classmethod
    def column(cls, name: str, resource: Resource, version: int) -> Column | None:
        match name:
            case "node_uuid":
                return uuid_of_parent(Node, Port.node_id), None
            case "portgroup_uuid":
                return uuid_of_parent(Portgroup, Port.portgroup_id), None
            case "local_link_connection":
                return as_text(Port.local_link_connection.expression), partial(_link, version)
            case _:
                return super().column(name, resource, version)


PORTS = resource(
    path="ports",
    plural="ports",
    model=Port,
    fields=ports.FIELDS,
    list_default=ports.LIST_DEFAULT,
    missing=ports.missing,
    view=PortView,
)


def list_ports(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/ports"""
    return _list(call, session, "ports")


def list_ports_in_detail(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/ports/detail"""
    return _list(call, session, "ports/detail")


def list_ports_of_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/ports"""
    return _list(call, session, f"nodes/{ident}/ports", node=uuid_of_node(call, session, ident))


def list_ports_of_node_in_detail(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/ports/detail"""
    return _list(call, session, f"nodes/{ident}/ports/detail", node=uuid_of_node(call, session, ident))


def list_ports_of_portgroup(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/portgroups/{portgroup}/ports"""
    return _list(call, session, f"portgroups/{ident}/ports", portgroup=call.portgroup_ident(ident))


def list_ports_of_portgroup_in_detail(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/portgroups/{portgroup}/ports/detail"""
    return _list(call, session, f"portgroups/{ident}/ports/detail", portgroup=call.portgroup_ident(ident))


def refuse_creation(call: BaremetalCall, session: None, ident: str) -> Response:
    """POST /v1/nodes/{node}/ports, POST /v1/portgroups/{portgroup}/ports"""
    raise InvalidValue(message="Ports are created at /v1/ports; these are lists only.")


def _list(
    call: BaremetalCall, session: Session, path: str, *, node: str | None = None, portgroup: str | None = None
) -> Response:
    def narrow(query: Query) -> list[ColumnElement[bool]]:
        return _conditions(call, session, query, node, portgroup, visible)

    visible = call.listed("port")
    return collection.list_all(
        call,
        session,
        PORTS,
        detailed=path.endswith("/detail"),
        path=path,
        filters=FILTERS,
        narrow=narrow,
        within=visible.conditions_behind(Port.node_id),
    )


def _conditions(
    call: BaremetalCall,
    session: Session,
    query: Query,
    node: str | None,
    portgroup: str | None,
    visible: Visibility,
) -> list[ColumnElement[bool]]:
    """The filters as conditions; ``node`` and ``portgroup`` come from the path and win."""
    filters = PortFilters.parse(call, query, node or query.uuid("node_uuid"))
    portgroup = portgroup or query.ident("portgroup")
    if sum(filter_ is not None for filter_ in (filters.node, portgroup, filters.shards)) > 1:
        raise OperationNotPermitted
    if filters.groups and (filters.node or portgroup or filters.address):
        raise InvalidValue(
            message="Filtering by conductor_groups cannot be combined with node_ident, portgroup_ident, or node "
            "address filters."
        )
    conditions = filters.conditions(session, Port, visible)
    if portgroup is not None:
        of_nodes = visible.conditions_behind(Portgroup.node_id)
        group_id = records.id_of(session, Portgroup, portgroup, portgroups.missing, *of_nodes)
        conditions.append(Port.portgroup_id == group_id)
    if query.has("description_contains"):
        conditions.append(contains(Port.description, query.text("description_contains") or ""))
    return conditions


def show_port(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/ports/{port}"""
    return listing.show(call, session, PORTS, _uuid_of(call, session, ident))


def create_port(call: BaremetalCall, session: Session) -> Response:
    """POST /v1/ports"""
    values = collection.load_creation(call, PORTS, PORT_CREATE, "port")
    if "node_ident" in values:
        call.require_version(NODE_IDENT_SINCE)
    _check_link(call, values.get("local_link_connection"))
    port = ports.create(session, values, call.membership(session), call.access("baremetal:port:create"))
    return collection.created(call, session, PORTS, port.uuid)


def update_port(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PATCH /v1/ports/{port}"""
    call.refuse_query()
    operations = collection.load_patch(call, ports.FIELDS, lambda: _uuid_of(call, session, ident))
    for operation in operations:
        if operation["path"] == "/local_link_connection":
            _check_link(call, operation.get("value"))
        elif operation["path"].startswith("/local_link_connection/"):
            _check_link(call, {operation["path"].split("/")[2]: operation.get("value")})
    port = ports.update(
        session,
        _uuid_of(call, session, ident),
        operations,
        call.membership(session),
        hides_inspect_wait=call.version < INSPECT_WAIT_SINCE,
        group_has_network=call.version >= GROUP_NETWORK_SINCE,
        access=call.access("baremetal:port:update"),
    )
    return collection.updated(call, session, PORTS, port.uuid)


def delete_port(call: BaremetalCall, session: Session, ident: str) -> Response:
    """DELETE /v1/ports/{port}, which takes no name"""
    call.refuse_query()
    call.refuse_body()
    ports.destroy(session, call.uuid(ident, "port_uuid"), call.membership(session))
    return empty_response(204)


def _check_link(call: BaremetalCall, link: Any) -> None:
    """Raise TooNew for parts of a link that the client cannot know."""
    if not isinstance(link, dict):
        return
    if "network_type" in link:
        call.require_version(NETWORK_TYPE_SINCE)
    if VTEP[0] in link:
        call.require_version(VTEP_SINCE)


def _uuid_of(call: BaremetalCall, session: Session, ident: str) -> str:
    if call.version < NAMES_SINCE and canonical_uuid(ident) is None:
        call.ident(ident, "port_ident")
        raise ports.missing(ident)
    return records.uuid_of(session, Port, call.ident(ident, "port_ident"), ports.missing)
