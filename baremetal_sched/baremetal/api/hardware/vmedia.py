"""/v1/nodes/{node}/vmedia"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.nodes.nodes import canonical_or_lookup, node_with_conductor
from baremetal_sched.baremetal.api.resources.query import Query
from baremetal_sched.baremetal.hardware import management
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.schemas.hardware import DEVICE_TYPES, VIRTUAL_MEDIA
from baremetal_sched.db.models import Node
from baremetal_sched.documents.schema import load
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.responses import empty_response, json_response


def show_media(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/vmedia"""
    call.refuse_query()
    node = node_with_conductor(call, session, ident)
    return json_response(management.show_media(session, node, call.membership(session)))


def attach_media(call: BaremetalCall, session: Session, ident: str) -> Response:
    """POST /v1/nodes/{node}/vmedia"""
    call.refuse_query()
    wanted = load(VIRTUAL_MEDIA, call.body(), "vmedia")
    node = _node(call, session, ident)
    membership = call.membership(session)
    management.attach_media(session, node, membership, wanted["device_type"], wanted["image_url"])
    return empty_response(204)


def detach_media(call: BaremetalCall, session: Session, ident: str) -> Response:
    """DELETE /v1/nodes/{node}/vmedia"""
    types = Query(call, ("device_types",)).names("device_types")
    for name in types:
        if name not in DEVICE_TYPES:
            raise InvalidValue(message=f"Invalid device type {name}. Device types are: {', '.join(DEVICE_TYPES)}")
    management.detach_media(session, _node(call, session, ident), call.membership(session), types)
    return empty_response(204)


def _node(call: BaremetalCall, session: Session, ident: str) -> Node:
    return nodes.find_to_change_by(session, canonical_or_lookup(call, session, ident), call.membership(session))
