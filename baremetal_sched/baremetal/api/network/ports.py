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
from baremetal_sched.baremetal.api.resources import collection
from baremetal_sched.baremetal.api.resources.query import BaremetalQuery
from baremetal_sched.baremetal.api.resources.standard_views import StandardViews
from baremetal_sched.baremetal.api.resources.view import BaremetalView, resource
from baremetal_sched.baremetal.network import portgroups, ports
from baremetal_sched.baremetal.nodes.node_list import contains
from baremetal_sched.baremetal.schemas.network import PORT_CREATE, VTEP
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.json_rows import uuid_of_parent
from baremetal_sched.db.models import Port, Portgroup
from baremetal_sched.db.types import as_text
from baremetal_sched.documents.patch import Patch
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import OperationNotPermitted
from baremetal_sched.web.view import EMPTY_OBJECT, Column, Resource

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


class PortView(BaremetalView):
    """A port as JSON."""

    @classmethod
    def column(cls, name: str, resource: Resource, version: int) -> Column | None:
        match name:
            case "portgroup_uuid":
                return uuid_of_parent(Portgroup, Port.portgroup_id), None
            case "local_link_connection":
                return as_text(Port.local_link_connection.expression), partial(_link, version)
            case _:
                return super().column(name, resource, version)


RESOURCE = resource(
    path="ports",
    plural="ports",
    model=Port,
    fields=ports.FIELDS,
    list_default=ports.LIST_DEFAULT,
    missing=ports.missing,
    view=PortView,
)


def list_ports(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/ports, GET /v1/ports/detail"""
    return _list(call, session)


def list_ports_of_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/ports, GET /v1/nodes/{node}/ports/detail"""
    return _list(call, session, node=call.existing_node_uuid(session, ident))


def list_ports_of_portgroup(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/portgroups/{portgroup}/ports, GET /v1/portgroups/{portgroup}/ports/detail"""
    return _list(call, session, portgroup=call.portgroup_ident(ident))


def refuse_creation(call: BaremetalCall, session: None, ident: str) -> Response:
    """POST /v1/nodes/{node}/ports, POST /v1/portgroups/{portgroup}/ports"""
    raise InvalidValue(message="Ports are created at /v1/ports; these are lists only.")


def _list(call: BaremetalCall, session: Session, *, node: str | None = None, portgroup: str | None = None) -> Response:
    """A page of the ports; with ``node`` or ``portgroup``, which come from the path, of the ports that belong to it."""
    visible = call.listed("port")
    return collection.list_all(
        call,
        session,
        RESOURCE,
        filters=FILTERS,
        narrow=lambda query: _conditions(call, session, query, node, portgroup, visible),
        within=visible.conditions_behind(Port.node_id),
    )


def _conditions(
    call: BaremetalCall,
    session: Session,
    query: BaremetalQuery,
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


def _create(call: BaremetalCall, session: Session, values: dict[str, Any]) -> Port:
    if "node_ident" in values:
        call.require_version(NODE_IDENT_SINCE)
    _check_link(call, values.get("local_link_connection"))
    return ports.create(session, values, call.membership(session), call.access("baremetal:port:create"))


def _update(call: BaremetalCall, session: Session, uuid: str, operations: Patch) -> None:
    for operation in operations:
        if operation["path"] == "/local_link_connection":
            _check_link(call, operation.get("value"))
        elif operation["path"].startswith("/local_link_connection/"):
            _check_link(call, {operation["path"].split("/")[2]: operation.get("value")})
    ports.update(
        session,
        uuid,
        operations,
        call.membership(session),
        hides_inspect_wait=call.version < INSPECT_WAIT_SINCE,
        group_has_network=call.version >= GROUP_NETWORK_SINCE,
        access=call.access("baremetal:port:update"),
    )


def _check_link(call: BaremetalCall, link: Any) -> None:
    """Raise TooNew for parts of a link that the client cannot know."""
    if not isinstance(link, dict):
        return
    if "network_type" in link:
        call.require_version(NETWORK_TYPE_SINCE)
    if VTEP[0] in link:
        call.require_version(VTEP_SINCE)


class PortViews(StandardViews):
    """The views of ports: older clients do not know their names, and no client deletes a port by its name."""

    def identify(self, call: BaremetalCall, ident: str) -> str:
        if call.route is not None and call.route.method == "DELETE":
            return call.uuid(ident, "port_uuid")
        call.ident(ident, self.parameter)
        if call.version < NAMES_SINCE and canonical_uuid(ident) is None:
            raise ports.missing(ident)
        return ident


PORTS = PortViews(
    resource=RESOURCE,
    parameter="port_ident",
    schema=PORT_CREATE,
    body_name="port",
    do_create=_create,
    do_update=_update,
    do_delete=lambda call, session, uuid: ports.destroy(session, uuid, call.membership(session)),
)
