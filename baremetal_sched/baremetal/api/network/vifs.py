"""/v1/nodes/{node}/vifs, /v1/events"""

from typing import Any

import structlog
from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.nodes.nodes import canonical_or_lookup, node_with_conductor
from baremetal_sched.baremetal.network import vifs
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.schemas.hardware import VIF
from baremetal_sched.baremetal.schemas.network import EVENTS_POSTED
from baremetal_sched.db.models import Node
from baremetal_sched.documents.schema import load
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.responses import empty_response, json_response

log = structlog.get_logger(__name__)

PORTS_SINCE = 67


def list_vifs(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/vifs"""
    call.refuse_query()
    node = node_with_conductor(call, session, ident)
    return json_response({"vifs": vifs.list_vifs(session, node, call.membership(session))})


def attach_vif(call: BaremetalCall, session: Session, ident: str) -> Response:
    """POST /v1/nodes/{node}/vifs"""
    call.refuse_query()
    body = call.body()
    vif = load(VIF, body, "vif")
    for name in ("port_uuid", "portgroup_uuid"):
        if name in vif and call.version < PORTS_SINCE:
            raise InvalidValue(message=f"{name} can be given since 1.{PORTS_SINCE}")
    if "port_uuid" in vif and "portgroup_uuid" in vif:
        raise InvalidValue(message="Cannot specify both port_uuid and portgroup_uuid")
    call.ident(vif["id"], "id")
    vifs.attach(_node(call, session, ident), call.membership(session), vif, _done)


def detach_vif(call: BaremetalCall, session: Session, ident: str, vif: str) -> Response:
    """DELETE /v1/nodes/{node}/vifs/{vif}"""
    call.refuse_query()
    vifs.detach(_node(call, session, ident), call.membership(session), call.ident(vif, "vif_id"), _done)


def _done(_said: Any) -> Response:
    return empty_response(204)


def _node(call: BaremetalCall, session: Session, ident: str) -> Node:
    return nodes.find_to_change_by(session, canonical_or_lookup(call, session, ident), call.membership(session))


def receive_events(call: BaremetalCall, session: None) -> Response:
    """POST /v1/events: they are written to the log, as Ironic does, and nothing follows from them."""
    call.refuse_query()
    for event in load(EVENTS_POSTED, call.body(), "events")["events"]:
        log.info("external event", **{("kind" if name == "event" else name): value for name, value in event.items()})
    return empty_response(204)
