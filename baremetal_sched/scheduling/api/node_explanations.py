"""/v1/explanations/nodes/{node}"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.explanation import explain
from baremetal_sched.db.models import Node
from baremetal_sched.errors import InvalidValue
from baremetal_sched.explain.explanation import Context, Explained
from baremetal_sched.scheduling.api import explained_requests, visible_node
from baremetal_sched.scheduling.api.explanation_view import document_of_node
from baremetal_sched.scheduling.api.node_availability import findings
from baremetal_sched.scheduling.api.policies import EXPLAIN_NODE, SHOW_WORKERS
from baremetal_sched.web.call import Call
from baremetal_sched.web.responses import json_response


def show_node_explanation(call: Call, session: Session, node: str) -> Response:
    """GET /v1/explanations/nodes/{node}"""
    found, names_others = _find(call, session, node)
    context = explained_requests.context_of(call, session, found.uuid)
    return _answer(context, found, explained_requests.of_query(context, list(call.query)), names_others)


def create_node_explanation(call: Call, session: Session, node: str) -> Response:
    """POST /v1/explanations/nodes/{node}"""
    asked = explained_requests.body_of(call)
    if "wanted" in asked:
        raise InvalidValue(message="One machine is asked about: leave wanted out.")
    found, names_others = _find(call, session, node)
    context = explained_requests.context_of(call, session, found.uuid)
    return _answer(context, found, explained_requests.of_body(context, asked), names_others)


def _find(call: Call, session: Session, ident: str) -> tuple[Node, bool]:
    """Return the node, and whether the caller may see the names of consumers and conductors that use it."""
    found, target = visible_node.find(call, session, ident, EXPLAIN_NODE)
    return found, call.allows(SHOW_WORKERS, target)


def _answer(context: Context, node: Node, explained: Explained, names_others: bool) -> Response:
    why = explain(context.session, node.uuid, context.membership(), names_others=names_others)
    return json_response(
        {
            "node": node.uuid,
            "name": node.name,
            **document_of_node(explained),
            "reasons": findings(why.reasons),
            "remarks": findings(why.remarks),
        }
    )
