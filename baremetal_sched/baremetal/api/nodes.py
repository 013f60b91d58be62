"""/v1/nodes"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import node_update, nodes, patch, states
from baremetal_sched.baremetal.api.call import NAMES, BaremetalCall
from baremetal_sched.baremetal.api.errors import TooNew
from baremetal_sched.baremetal.api.node_filters import PARAMETERS, parse_filters, parse_page
from baremetal_sched.baremetal.api.node_view import INSPECT_WAIT_SINCE, NodeView
from baremetal_sched.baremetal.api.query import Query
from baremetal_sched.baremetal.identifiers import canonical_uuid
from baremetal_sched.baremetal.node_fields import FIELDS, LIST_DEFAULT, PATCHABLE, visible
from baremetal_sched.baremetal.node_list import select_nodes
from baremetal_sched.baremetal.ownership import Membership
from baremetal_sched.baremetal.schemas.base import load
from baremetal_sched.baremetal.schemas.nodes import MAINTENANCE, NODE_CREATE
from baremetal_sched.db.models import Node
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import ChassisNotFound, NodeNotFound, NoValidHost
from baremetal_sched.web.responses import empty_response, json_response

FIELDS_SINCE = 8
DETAIL_SINCE = 43
ENROLL_SINCE = 11
RESET_INTERFACES_SINCE = 45
CHASSIS_REMOVAL_SINCE = 25
PATCH_ESCAPES_SINCE = 98
CONDUCTOR_GROUP = "conductor_group"


def list_nodes(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/nodes"""
    query = Query(call, (*PARAMETERS, "fields", "detail"))
    names = query.names("fields")
    detail = query.flag("detail")
    if query.has("detail") and call.version < DETAIL_SINCE:
        raise InvalidValue(message=f"Invalid query parameter ?detail={detail} received.")
    if detail and names:
        raise InvalidValue(message="Can not specify ?detail=True and fields in the same request.")
    if names:
        _check_fields(call, names)
    shown = visible(call.version) if detail else names or [f for f in LIST_DEFAULT if FIELDS[f].since <= call.version]
    return _page(call, session, query, shown, f"{call.base_url}/v1/nodes", None if detail else shown)


def list_nodes_in_detail(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/nodes/detail"""
    query = Query(call, PARAMETERS)
    return _page(call, session, query, visible(call.version), f"{call.base_url}/v1/nodes/detail", None)


def _page(
    call: BaremetalCall,
    session: Session,
    query: Query,
    shown: Iterable[str],
    url: str,
    next_fields: Sequence[str] | None,
) -> Response:
    filters = parse_filters(call, query, detailed=url.endswith("/detail"))
    page = parse_page(call, query)
    view = NodeView(shown, call.version, call.base_url)
    membership = _membership_if(view.needs_membership or filters.conductor is not None, call, session)
    rows = select_nodes(session, filters, page, view.columns, membership)
    document: dict[str, Any] = {"nodes": [view.render(row, membership) for row in rows]}
    if len(rows) == page.limit and filters.instance_uuid is None:
        document["next"] = query.next_url(url, rows[-1][0], page.limit, next_fields)
    return json_response(document)


def _membership_if(needed: bool, call: BaremetalCall, session: Session) -> Membership:
    return call.membership(session) if needed else Membership({}, 0)


def _check_fields(call: BaremetalCall, names: Iterable[str]) -> None:
    if call.version < FIELDS_SINCE:
        raise TooNew
    for name in names:
        if name not in FIELDS or not FIELDS[name].selectable:
            raise InvalidValue(message=f"Field {name} is not a valid field.")
        if FIELDS[name].since > call.version:
            raise TooNew


def show_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}"""
    query = Query(call, ("fields",))
    names = query.names("fields")
    if query.has("fields"):
        _check_fields(call, names)
    node_uuid = uuid_of(call, session, ident)
    view = NodeView(names or visible(call.version), call.version, call.base_url)
    return json_response(view.fetch(session, node_uuid, _membership_if(view.needs_membership, call, session)))


def create_node(call: BaremetalCall, session: Session) -> Response:
    """POST /v1/nodes"""
    call.refuse_query()
    body = call.body()
    values = load(NODE_CREATE, body, "node")
    _check_creation(call, body)
    membership = call.membership(session)
    initial_state = states.ENROLL if call.version >= ENROLL_SINCE else states.AVAILABLE
    node = recoded(
        lambda: nodes.create(
            session, values, initial_state=initial_state, membership=membership, settings=call.settings
        )
    )
    session.flush()
    document = NodeView(visible(call.version), call.version, call.base_url).fetch(session, node.uuid, membership)
    return json_response(document, 201, {"Location": f"{call.base_url}/v1/nodes/{node.uuid}"})


def _check_creation(call: BaremetalCall, body: dict[str, Any]) -> None:
    for name, value in body.items():
        if FIELDS[name].since > call.version and value != ("" if name == CONDUCTOR_GROUP else None):
            raise TooNew
    if body.get("name") is not None:
        nodes.check_name(
            body["name"], hostname_only=call.hostname_names, refusal="Cannot create node with invalid name"
        )
    if body.get("owner") is not None:
        # Without authentication nobody has the system's scope.
        raise InvalidValue(
            message="Cannot create a node as a project scoped admin with an owner other than your own project."
        )


def update_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PATCH /v1/nodes/{node}"""
    query = Query(call, ("reset_interfaces",))
    query_reset = query.flag("reset_interfaces")
    if query.has("reset_interfaces") and call.version < RESET_INTERFACES_SINCE:
        raise TooNew
    operations = patch.parse(call.body(), escapes=call.version >= PATCH_ESCAPES_SINCE)
    patch.require_roots(operations, PATCHABLE)
    if query_reset and not any(patch.root(operation) == "driver" for operation in operations):
        raise InvalidValue(message="The reset_interfaces parameter can only be used when changing the node's driver.")
    _check_patch(call, ident, operations)
    membership = call.membership(session)
    node_uuid = uuid_of(call, session, ident)
    node = recoded(
        lambda: node_update.update(
            session,
            node_uuid,
            operations,
            membership=membership,
            reset_interfaces=bool(query_reset),
            hides_inspect_wait=call.version < INSPECT_WAIT_SINCE,
        )
    )
    session.flush()
    document = NodeView(visible(call.version), call.version, call.base_url).fetch(session, node.uuid, membership)
    return json_response(document)


def _check_patch(call: BaremetalCall, ident: str, operations: patch.Patch) -> None:
    for operation in operations:
        name = patch.root(operation)
        if not patch.is_whole(operation):
            continue
        removes = operation["op"] == "remove"
        if FIELDS[name].since > call.version and not removes:
            raise TooNew
        if name == "chassis_uuid" and removes and call.version < CHASSIS_REMOVAL_SINCE:
            raise TooNew
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
    node_uuid = uuid_of(call, session, ident)
    membership = call.membership(session)
    recoded(lambda: nodes.destroy(session, node_uuid, membership))
    return empty_response(204)


def refuse_missing_ident(call: BaremetalCall, session: None) -> Response:
    """PATCH and DELETE /v1/nodes, GET /v1/nodes//"""
    raise InvalidValue(message="Missing mandatory parameter: node_ident")


def set_maintenance(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PUT /v1/nodes/{node}/maintenance"""
    call.refuse_query()
    body = load(MAINTENANCE, call.body(), "maintenance")
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
    node_uuid = uuid_of(call, session, ident)
    node: Node = recoded(lambda: nodes.find_to_change_by(session, node_uuid, membership))
    nodes.set_maintenance(session, node, maintenance=maintenance, reason=reason)
    return empty_response(202)


def uuid_of(call: BaremetalCall, session: Session, ident: str) -> str:
    """The UUID of the node that the path names. Raises NodeNotFound; RoutingError or InvalidValue for a bad name."""
    call.node_ident(ident)
    if call.version < NAMES and canonical_uuid(ident) is None:
        raise NodeNotFound(node=ident)
    try:
        return nodes.find(session, ident).uuid
    except NodeNotFound:
        if call.stripped_json:
            return nodes.find(session, f"{ident}.json").uuid
        raise


def recoded(action: Callable[[], Any]) -> Any:
    """Run ``action``; what it does not find besides the node itself is the client's mistake (400) and not a 404."""
    try:
        return action()
    except (NoValidHost, ChassisNotFound) as error:
        raise _Recoded(message=str(error)) from error


class _Recoded(InvalidValue):
    """A NotFoundError that this API answers with 400."""
