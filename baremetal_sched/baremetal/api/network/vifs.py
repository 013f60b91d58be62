"""/v1/nodes/{node}/vifs, /v1/events"""

import structlog
from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.resources.driver_views import answering, order
from baremetal_sched.baremetal.schemas.hardware import VIF
from baremetal_sched.baremetal.schemas.network import EVENTS_POSTED
from baremetal_sched.documents.schema import load
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.responses import empty_response

log = structlog.get_logger(__name__)

PORTS_SINCE = 67


list_vifs = answering("network.vif_list", "vifs")


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
    order(call, session, ident, "network.vif_attach", {"vif": vif})


def detach_vif(call: BaremetalCall, session: Session, ident: str, vif: str) -> Response:
    """DELETE /v1/nodes/{node}/vifs/{vif}"""
    call.refuse_query()
    order(call, session, ident, "network.vif_detach", {"vif_id": call.ident(vif, "vif_id")})


def receive_events(call: BaremetalCall, session: None) -> Response:
    """POST /v1/events: they are written to the log, as Ironic does, and nothing follows from them."""
    call.refuse_query()
    for event in load(EVENTS_POSTED, call.body(), "events")["events"]:
        log.info("external event", **{("kind" if name == "event" else name): value for name, value in event.items()})
    return empty_response(204)
