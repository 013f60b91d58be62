"""/v1/nodes/{node}/validate"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.nodes.nodes import node_with_conductor
from baremetal_sched.baremetal.api.resources.query import Query
from baremetal_sched.baremetal.provisioning import validation
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.responses import json_response


def validate_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/validate"""
    call.refuse_query()
    return _report(call, session, ident)


def validate_named_node(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/nodes/validate"""
    return _report(call, session, named(call))


def named(call: BaremetalCall) -> str:
    """The UUID or name of the node that the query string names. Raises InvalidValue."""
    query = Query(call, ("node", "node_uuid"))
    ident = query.uuid("node_uuid") or query.text("node")
    if ident is None:
        raise InvalidValue(message="Missing mandatory parameter: node or node_uuid")
    return ident


def _report(call: BaremetalCall, session: Session, ident: str) -> Response:
    node = node_with_conductor(call, session, ident)
    return json_response(validation.report(session, node, call.membership(session)))
