"""/v1/nodes/{node}/children"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.nodes.nodes import node_of
from baremetal_sched.baremetal.nodes import node_list
from baremetal_sched.web.responses import json_response


def list_children(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/children"""
    call.refuse_query()
    parent = node_of(call, session, ident).uuid
    link = {"href": f"{call.base_url}/v1/nodes?parent_node={parent}", "rel": "children"}
    return json_response({"children": node_list.children(session, parent, call.listed("node")), "links": link})
