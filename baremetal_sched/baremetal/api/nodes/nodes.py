"""/v1/nodes"""

import json
from collections.abc import Collection
from functools import lru_cache
from typing import Any

import orjson
from flask import Response
from sqlalchemy import Connection
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import NAMES, BaremetalCall
from baremetal_sched.baremetal.api.nodes.node_filters import PARAMETERS, parse_filters
from baremetal_sched.baremetal.api.nodes.node_view import INSPECT_WAIT_SINCE, NODES, NodeView, redacted
from baremetal_sched.baremetal.api.resources import owners
from baremetal_sched.baremetal.api.resources.collection import load_patch, page_response, parse_page
from baremetal_sched.baremetal.api.resources.query import Query
from baremetal_sched.baremetal.conductors.ownership import LiveMembers, Membership
from baremetal_sched.baremetal.nodes import node_list, node_update, nodes, shared_machines
from baremetal_sched.baremetal.nodes.node_fields import FIELDS
from baremetal_sched.baremetal.nodes.node_list import select_nodes
from baremetal_sched.baremetal.nodes.redaction import Redaction
from baremetal_sched.baremetal.provider import projection
from baremetal_sched.baremetal.schemas.nodes import MAINTENANCE, NODE_CREATE
from baremetal_sched.db.models import Node
from baremetal_sched.db.transaction import Reader
from baremetal_sched.documents import patch
from baremetal_sched.documents.schema import canonical_uuid, load
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import NodeNotFound
from baremetal_sched.machines import states
from baremetal_sched.web.listing import Selection, require_field, select_fields, selected_fields
from baremetal_sched.web.responses import empty_response, json_response

ENROLL_SINCE = 11
RESET_INTERFACES_SINCE = 45
CHASSIS_REMOVAL_SINCE = 25
CONDUCTOR_GROUP = "conductor_group"


def list_nodes(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/nodes"""
    query = Query(call, (*PARAMETERS, "fields", "detail"))
    return _page(call, session, query, select_fields(call, query, NODES), "nodes")


def list_nodes_in_detail(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/nodes/detail"""
    return _page(call, session, Query(call, PARAMETERS), Selection(FIELDS.visible(call.version)), "nodes/detail")


def list_nodes_of_chassis(call: BaremetalCall, session: Session, uuid: str) -> Response:
    """GET /v1/chassis/{uuid}/nodes"""
    query = Query(call, (*PARAMETERS, "fields", "detail"))
    chassis_uuid = call.uuid(uuid, "chassis_uuid")
    selection = select_fields(call, query, NODES)
    return _page(call, session, query, selection, f"chassis/{chassis_uuid}/nodes", chassis_uuid)


def list_nodes_of_chassis_in_detail(call: BaremetalCall, session: Session, uuid: str) -> Response:
    """GET /v1/chassis/{uuid}/nodes/detail"""
    chassis_uuid = call.uuid(uuid, "chassis_uuid")
    selection = Selection(FIELDS.visible(call.version))
    return _page(
        call, session, Query(call, PARAMETERS), selection, f"chassis/{chassis_uuid}/nodes/detail", chassis_uuid
    )


def _page(
    call: BaremetalCall,
    session: Session,
    query: Query,
    selection: Selection,
    path: str,
    chassis_uuid: str | None = None,
) -> Response:
    """A page of the nodes; with ``chassis_uuid`` only of those in that chassis."""
    visible = call.listed("node", "project")
    filters = parse_filters(call, query, detailed=path.endswith("/detail"))
    if chassis_uuid is not None:
        filters.chassis_uuid = chassis_uuid
    page = parse_page(call, query, FIELDS)
    needed = filters.conductor is not None or "conductor" in selection.shown
    membership = call.membership(session) if needed else Membership({}, 0)
    view = redacted(NodeView, call.redaction)(NODES, selection.shown, call.version, call.base_url, membership)
    rows = select_nodes(session, filters, page, view.query, membership, visible, call.redaction_values)
    only = query.has("instance_uuid")
    return page_response(call, query, view, rows, page, path, selection, only=only)


def show_node(call: BaremetalCall, connection: Connection, ident: str) -> Response:
    """GET /v1/nodes/{node}"""
    shown = selected_fields(call, NODES)
    node_uuid = canonical_or_lookup(call, connection, ident)
    live = LiveMembers.of(call.settings)
    view = _view_of_one(tuple(shown), call.version, call.base_url, live, call.redaction)
    return json_response(view.fetch(connection, node_uuid, values=call.redaction_values))


@lru_cache(maxsize=200)
def _view_of_one(shown: tuple[str, ...], version: int, base: str, live: LiveMembers, redaction: Redaction) -> NodeView:
    """Kept, because it is the same for every node."""
    return redacted(NodeView, redaction)(NODES, shown, version, base, live)


def whole_text(call: BaremetalCall, session: Session, node_uuid: str, membership: Membership) -> str:
    """All that the client knows of a node, as JSON."""
    view = redacted(NodeView, call.redaction)
    whole = view(NODES, FIELDS.visible(call.version), call.version, call.base_url, membership)
    return whole.fetch_text(session, node_uuid, values=call.redaction_values)


def create_node(call: BaremetalCall, session: Session) -> Response:
    """POST /v1/nodes"""
    call.refuse_query()
    body = call.body()
    values = load(NODE_CREATE, body, "node")
    _check_creation(call, body)
    values["owner"] = owners.owner_of_new_node(call, values.get("owner"))
    membership = call.membership(session)
    initial_state = states.ENROLL if call.version >= ENROLL_SINCE else states.AVAILABLE
    node = nodes.create(
        session,
        values,
        initial_state=initial_state,
        membership=membership,
        settings=call.settings,
        visible=call.visible,
    )
    session.flush()
    document = orjson.Fragment(whole_text(call, session, node.uuid, membership))
    location = f"{call.base_url}/v1/nodes/{node.uuid}"
    return json_response(document, 201, {"Location": location, **_warnings(call, session, node)})


def _check_creation(call: BaremetalCall, body: dict[str, Any]) -> None:
    given = [name for name, value in body.items() if value != ("" if name == CONDUCTOR_GROUP else None)]
    require_field(call, FIELDS, given)
    if body.get("name") is not None:
        nodes.check_name(
            body["name"], hostname_only=call.hostname_names, refusal="Cannot create node with invalid name"
        )


def update_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PATCH /v1/nodes/{node}"""
    query = Query(call, ("reset_interfaces",))
    query_reset = query.flag("reset_interfaces")
    if query.has("reset_interfaces"):
        call.require_version(RESET_INTERFACES_SINCE)
    operations = load_patch(call, FIELDS, lambda: node_of(call, session, ident), found_for="values")
    if query_reset and not any(patch.root(operation) == "driver" for operation in operations):
        raise InvalidValue(message="The reset_interfaces parameter can only be used when changing the node's driver.")
    _check_patch(call, ident, operations)
    membership = call.membership(session)
    node_uuid = canonical_or_lookup(call, session, ident)
    node = node_update.update(
        session,
        node_uuid,
        operations,
        membership=membership,
        reset_interfaces=bool(query_reset),
        hides_inspect_wait=call.version < INSPECT_WAIT_SINCE,
        access=call.access("baremetal:node:update:owner"),
    )
    session.flush()
    document = json.loads(whole_text(call, session, node.uuid, membership))
    # The reservation under which it was changed, as Ironic shows it; it is gone with this transaction.
    hidden = call.redaction.of("reservation")
    if hidden is None or not hidden.hides(node.owner, node.lessee, call.caller.project_id):
        document["reservation"] = membership.owner(node.uuid, node.conductor_group, node.driver)
    given = {patch.root(operation) for operation in operations}
    return json_response(document, headers=_warnings(call, session, node, given))


def _warnings(
    call: BaremetalCall, session: Session, node: Node, given: Collection[str] = ("resource_class", "driver_info")
) -> dict[str, str]:
    """What is surprising about the fields ``given``, as a header: bodies are those of the original. 299 is what it is
    for."""
    texts = [projection.class_warning(node.resource_class)] if "resource_class" in given else []
    if "driver_info" in given:
        others = shared_machines.others(session, node)
        shared_machines.log_warning(node, others)
        texts.append(shared_machines.warning(others, names_others=call.visible.everything))
    found = [f'299 - "{text}"' for text in texts if text]
    return {"Warning": ", ".join(found)} if found else {}


def _check_patch(call: BaremetalCall, ident: str, operations: patch.Patch) -> None:
    for operation in operations:
        name = patch.root(operation)
        if not patch.is_whole(operation):
            continue
        removes = operation["op"] == "remove"
        if name == "chassis_uuid" and removes:
            call.require_version(CHASSIS_REMOVAL_SINCE)
        if name == "name" and not removes:
            nodes.check_name(
                str(operation["value"]),
                hostname_only=call.hostname_names,
                refusal=f"Node {ident}: Cannot change name to invalid name",
            )
            if operation["value"] is None:
                raise InvalidValue(
                    message=f"Node {ident}: Cannot change name to invalid name 'None'; to clear it, remove it."
                )


def delete_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """DELETE /v1/nodes/{node}"""
    call.refuse_query()
    call.refuse_body()
    node_uuid = canonical_or_lookup(call, session, ident)
    membership = call.membership(session)
    nodes.destroy(session, node_uuid, membership, call.settings)
    return empty_response(204)


def set_maintenance(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PUT /v1/nodes/{node}/maintenance"""
    given = {} if call.body() is None else call.arguments(MAINTENANCE.fields)
    body = load(MAINTENANCE, given, "maintenance")
    return _maintenance(call, session, ident, maintenance=True, reason=body.get("reason"))


def clear_maintenance(call: BaremetalCall, session: Session, ident: str) -> Response:
    """DELETE /v1/nodes/{node}/maintenance"""
    call.refuse_query()
    call.refuse_body()
    return _maintenance(call, session, ident, maintenance=False, reason=None)


def _maintenance(
    call: BaremetalCall, session: Session, ident: str, *, maintenance: bool, reason: str | None
) -> Response:
    membership = call.membership(session)
    node_uuid = canonical_or_lookup(call, session, ident)
    node = nodes.find_to_change_by(session, node_uuid, membership)
    nodes.set_maintenance(session, node, maintenance=maintenance, reason=reason)
    return empty_response(202)


def uuid_of(call: BaremetalCall, reader: Reader, ident: str) -> str:
    """The UUID of the node that the path names. Raises NodeNotFound; RoutingError or InvalidValue for a bad name."""
    call.node_ident(ident)
    if call.version < NAMES and canonical_uuid(ident) is None:
        raise NodeNotFound(node=ident)
    try:
        return nodes.uuid_of(reader, ident)
    except NodeNotFound:
        if call.stripped_json:
            return nodes.uuid_of(reader, f"{ident}.json")
        raise


def canonical_or_lookup(call: BaremetalCall, reader: Reader, ident: str) -> str:
    """``uuid_of`` for those who look the node up with it at once: what is a UUID already is not looked up twice."""
    canonical = canonical_uuid(ident)
    return canonical if canonical and not call.stripped_json else uuid_of(call, reader, ident)


def node_of(call: BaremetalCall, session: Session, ident: str) -> Node:
    """The node that the path names, for reading. Raises like ``uuid_of``."""
    return nodes.find(session, canonical_or_lookup(call, session, ident))


def node_with_conductor(call: BaremetalCall, session: Session, ident: str) -> Node:
    """The node that the path names, for reading, if a live conductor serves it. Raises NoValidHost, NoConductors."""
    node = node_of(call, session, ident)
    call.membership(session).require(node.conductor_group, node.driver)
    return node


def list_children(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/children"""
    call.refuse_query()
    parent = node_of(call, session, ident).uuid
    link = {"href": f"{call.base_url}/v1/nodes?parent_node={parent}", "rel": "children"}
    return json_response({"children": node_list.children(session, parent, call.listed("node")), "links": link})
