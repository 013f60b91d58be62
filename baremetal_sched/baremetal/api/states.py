"""/v1/nodes/{node}/states"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import power, states
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.errors import TooNew
from baremetal_sched.baremetal.api.node_view import NODES, NodeView
from baremetal_sched.baremetal.api.nodes import uuid_of
from baremetal_sched.baremetal.node_fields import FIELDS, STATES
from baremetal_sched.baremetal.schemas.base import load
from baremetal_sched.baremetal.schemas.nodes import POWER
from baremetal_sched.web.responses import empty_response, json_response

SOFT_POWER_SINCE = 27


def show_states(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/states"""
    call.refuse_query()
    shown = [name for name in STATES if FIELDS[name].since <= call.version]
    view = NodeView(NODES, shown, call.version, call.base_url, with_links=False)
    return json_response(view.fetch(session, uuid_of(call, session, ident)))


def set_power(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PUT /v1/nodes/{node}/states/power"""
    call.refuse_query()
    body = load(POWER, call.body(), "power")
    target, timeout = body["target"], body.get("timeout")
    soft = target in (states.SOFT_POWER_OFF, states.SOFT_REBOOT)
    if call.version < SOFT_POWER_SINCE and (soft or timeout is not None):
        raise TooNew
    power.request(session, uuid_of(call, session, ident), target, timeout, call.membership(session))
    return empty_response(202, {"Location": f"{call.base_url}/v1/nodes/{ident}/states"})
