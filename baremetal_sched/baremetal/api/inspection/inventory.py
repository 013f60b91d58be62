"""/v1/nodes/{node}/inventory"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import secrets
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.nodes.nodes import node_of
from baremetal_sched.baremetal.inspection import inspection
from baremetal_sched.web.responses import json_response


def show_inventory(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/inventory"""
    call.refuse_query()
    found = inspection.find(session, node_of(call, session, ident))
    return json_response({name: secrets.mask_json(text) for name, text in found.items()})
