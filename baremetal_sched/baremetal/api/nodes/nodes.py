"""/v1/nodes"""

import json
from collections.abc import Collection
from functools import lru_cache
from typing import Any

import orjson
from flask import Response
from sqlalchemy import Connection
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.nodes.node_filters import FILTERS, parse_filters
from baremetal_sched.baremetal.api.nodes.node_view import INSPECT_WAIT_SINCE, NODES, NodeView, redacted
from baremetal_sched.baremetal.api.resources import owners
from baremetal_sched.baremetal.api.resources.collection import (
    list_query,
    load_patch,
    page_response,
    parse_page,
    selected,
)
from baremetal_sched.baremetal.api.resources.hold_actors import actor_of
from baremetal_sched.baremetal.api.resources.query import BaremetalQuery
from baremetal_sched.baremetal.conductors.ownership import LiveMembers, Membership
from baremetal_sched.baremetal.holds import holds
from baremetal_sched.baremetal.nodes import node_list, node_update, nodes, shared_machines
from baremetal_sched.baremetal.nodes.node_fields import FIELDS
from baremetal_sched.baremetal.nodes.node_list import select_nodes
from baremetal_sched.baremetal.nodes.redaction import Redaction
from baremetal_sched.baremetal.provider import projection
from baremetal_sched.baremetal.schemas.nodes import MAINTENANCE, NODE_CREATE
from baremetal_sched.db.models import Node
from baremetal_sched.documents import patch
from baremetal_sched.documents.schema import load
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines import states
from baremetal_sched.web.listing import require_field, selected_fields
from baremetal_sched.web.responses import empty_response, json_response

ENROLL_SINCE = 11
RESET_INTERFACES_SINCE = 45
CHASSIS_REMOVAL_SINCE = 25
CONDUCTOR_GROUP = "conductor_group"


def list_nodes(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/nodes, GET /v1/nodes/detail"""
    return _page(call, session)


def list_nodes_of_chassis(call: BaremetalCall, session: Session, uuid: str) -> Response:
    """GET /v1/chassis/{uuid}/nodes, GET /v1/chassis/{uuid}/nodes/detail"""
    return _page(call, session, call.uuid(uuid, "chassis_uuid"))


def _page(call: BaremetalCall, session: Session, chassis_uuid: str | None = None) -> Response:
    """A page of the nodes; with ``chassis_uuid`` only of the nodes in that chassis."""
    query = list_query(call, NODES, FILTERS)
    selection = selected(call, query, NODES)
    visible = call.listed("node", "project")
    filters = parse_filters(call, session, query, visible, detailed=call.in_detail)
    if chassis_uuid is not None:
        filters.chassis_uuid = chassis_uuid
    page = parse_page(call, query, FIELDS)
    needed = filters.conductor is not None or "conductor" in selection.shown
    membership = call.membership(session) if needed else Membership({}, 0)
    view = redacted(NodeView, call.redaction)(NODES, selection.shown, call.version, call.base_url, membership)
    rows = select_nodes(session, filters, page, view.query, membership, visible, call.redaction_values)
    only = query.has("instance_uuid")
    return page_response(call, query, view, rows, page, selection, only=only)


def show_node(call: BaremetalCall, connection: Connection, ident: str) -> Response:
    """GET /v1/nodes/{node}"""
    shown = selected_fields(call, NODES)
    node_uuid = call.node_uuid(connection, ident)
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
    """Raise TooNew for fields that the client cannot know, InvalidValue for an invalid name."""
    given = [name for name, value in body.items() if value != ("" if name == CONDUCTOR_GROUP else None)]
    require_field(call, FIELDS, given)
    if body.get("name") is not None:
        nodes.check_name(
            body["name"], hostname_only=call.hostname_names, refusal="Cannot create node with invalid name"
        )


def update_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PATCH /v1/nodes/{node}"""
    query = BaremetalQuery(call, ("reset_interfaces",))
    query_reset = query.flag("reset_interfaces")
    if query.has("reset_interfaces"):
        call.require_version(RESET_INTERFACES_SINCE)
    operations = load_patch(call, NODES, lambda: call.node(session, ident), finds_from="values")
    if query_reset and not any(patch.root(operation) == "driver" for operation in operations):
        raise InvalidValue(message="The reset_interfaces parameter can only be used when changing the node's driver.")
    _check_patch(call, ident, operations)
    node = call.locked_node(session, ident)
    membership = call.membership(session)
    node_update.update(
        session,
        node,
        operations,
        membership=membership,
        reset_interfaces=bool(query_reset),
        hides_inspect_wait=call.version < INSPECT_WAIT_SINCE,
        access=call.access("baremetal:node:update:owner"),
        actor=lambda node: actor_of(call, node.owner, node.lessee),
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
    """Return a header with warnings about surprising values of the fields ``given``. The body cannot have them: it is
    the same as Ironic's."""
    texts = [projection.class_warning(node.resource_class)] if "resource_class" in given else []
    if "driver_info" in given:
        others = shared_machines.others(session, node)
        shared_machines.log_warning(node, others)
        texts.append(shared_machines.warning(others, names_others=call.visible.everything))
    found = [f'299 - "{text}"' for text in texts if text]
    return {"Warning": ", ".join(found)} if found else {}


def _check_patch(call: BaremetalCall, ident: str, operations: patch.Patch) -> None:
    """Raise TooNew or InvalidValue for a change of the chassis or the name that the client may not make."""
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
    call.refuse_arguments()
    node = call.node_to_change(session, ident)
    nodes.destroy(session, node, call.membership(session), call.settings)
    return empty_response(204)


def set_maintenance(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PUT /v1/nodes/{node}/maintenance"""
    given = {} if call.body() is None else call.arguments(MAINTENANCE.fields)
    body = load(MAINTENANCE, given, "maintenance")
    node = call.node_to_change(session, ident)
    holds.set_legacy(session, node, body.get("reason"), actor_of(call, node.owner, node.lessee))
    return empty_response(202)


def clear_maintenance(call: BaremetalCall, session: Session, ident: str) -> Response:
    """DELETE /v1/nodes/{node}/maintenance"""
    call.refuse_arguments()
    node = call.node_to_change(session, ident)
    holds.leave_maintenance(session, node, actor_of(call, node.owner, node.lessee))
    return empty_response(202)


def list_children(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/children"""
    call.refuse_query()
    parent = call.node(session, ident).uuid
    link = {"href": f"{call.base_url}/v1/nodes?parent_node={parent}", "rel": "children"}
    return json_response({"children": node_list.children(session, parent, call.listed("node")), "links": link})
