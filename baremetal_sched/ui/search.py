"""/search: the one box that finds a node by its name, its UUID, a port's address, its instance or a consumer."""

from flask import Response
from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.nodes.node_list import contains
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.models import (
    Allocation,
    Consumer,
    GroupMember,
    Node,
    NodeAllocation,
    Port,
    ResourceProvider,
    Server,
)
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import NotAllowed, WrongScope
from baremetal_sched.ui import exports
from baremetal_sched.ui.actions import OF_NODES, offers
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.rendering import page, url_of

#: The number of nodes that are listed; if there are more, the page says so.
MOST = 50

_LONGEST = 255

_COLUMNS = ("uuid", "name", "provision_state", "resource_class", "conductor_group", "owner")


def show_search(call: UiCall, session: Session) -> Response:
    """GET /search. Raises InvalidValue for an unknown format."""
    wanted = exports.format_of(call)
    call.refuse_unknown(("q",))
    visible = call.listed("node")
    text = next((value.strip() for _, value in call.query if value.strip()), "")
    uuids = _find(call, session, text, visible) if 0 < len(text) <= _LONGEST else []
    if len(uuids) == 1 and not wanted:
        return Response("", 303, {"Location": url_of(call.mount)("nodes", uuids[0])})
    query = select(*(getattr(Node, name) for name in _COLUMNS))
    rows = session.execute(query.where(Node.uuid.in_(uuids[:MOST])).order_by(Node.name, Node.id)).all() if uuids else ()
    if wanted:
        return exports.export(call, wanted, "nodes", exports.attributes(*_COLUMNS), rows)
    offered = offers(call, *OF_NODES) if rows else []
    return page(call, "search.html", asked=text, rows=rows, has_more=len(uuids) > MOST, most=MOST, offers=offered)


def _find(call: UiCall, session: Session, text: str, visible: Visibility) -> list[str]:
    """The UUIDs of nodes that are meant exactly; without any, of those whose name or instance contains the text."""
    exact = _selected(session, or_(*_exact(call, text, visible)), visible)
    if exact:
        return exact
    return _selected(session, or_(*(contains(each, text) for each in (Node.name, Node.instance_name))), visible)


def _exact(call: UiCall, text: str, visible: Visibility) -> list[ColumnElement[bool]]:
    uuid = canonical_uuid(text)
    conditions: list[ColumnElement[bool]] = [Node.name == text, Node.instance_name == text]
    if visible.everything:
        # Others' servers and allocations have names that the owner of a node may not know.
        conditions += [
            Node.instance_uuid.in_(select(Server.uuid).where(Server.name == text)),
            Node.id.in_(select(NodeAllocation.node_id).where(NodeAllocation.name == text)),
        ]
    if uuid is not None:
        held = select(ResourceProvider.uuid).join(Allocation, Allocation.provider_id == ResourceProvider.id)
        held = held.join(Consumer, Consumer.id == Allocation.consumer_id).where(Consumer.uuid == uuid)
        conditions += [Node.uuid == uuid, Node.instance_uuid == uuid, Node.allocation_uuid == uuid, Node.uuid.in_(held)]
        # What a claim of several machines has.
        members = select(ResourceProvider.uuid).join(Allocation, Allocation.provider_id == ResourceProvider.id)
        members = members.join(GroupMember, GroupMember.consumer_id == Allocation.consumer_id)
        conditions.append(Node.uuid.in_(members.where(GroupMember.claim == uuid)))
    address = text.lower().replace("-", ":")
    if _sees_ports(call):
        conditions.append(Node.id.in_(select(Port.node_id).where(Port.address == address)))
    return conditions


def _sees_ports(call: UiCall) -> bool:
    try:
        call.listed("port")
    except (NotAllowed, WrongScope):
        return False
    return True


def _selected(session: Session, condition: ColumnElement[bool], visible: Visibility) -> list[str]:
    query = select(Node.uuid).where(condition, *visible.conditions())
    return list(session.scalars(query.order_by(Node.id).limit(MOST + 1)))
