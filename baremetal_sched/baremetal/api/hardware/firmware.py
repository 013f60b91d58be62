"""/v1/nodes/{node}/firmware"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.nodes.nodes import node_of
from baremetal_sched.baremetal.api.resources.query import Query
from baremetal_sched.baremetal.api.resources.view import listing
from baremetal_sched.baremetal.hardware import bios
from baremetal_sched.baremetal.hardware.bios import COMPONENT_FIELDS
from baremetal_sched.web.listing import select_fields
from baremetal_sched.web.responses import json_response
from baremetal_sched.web.view import document

_LISTING = listing(fields=COMPONENT_FIELDS, list_default=tuple(COMPONENT_FIELDS), newer_is_unknown=True)


def list_components(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/firmware"""
    shown = select_fields(call, Query(call, ("fields", "detail")), _LISTING).shown
    node = node_of(call, session, ident)
    found = bios.components(session, node)
    return json_response({"firmware": [document(each, ("created_at", "updated_at", *shown)) for each in found]})
