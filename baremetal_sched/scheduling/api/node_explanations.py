"""/v1/explanations/nodes/{node}, /v1/nodes/{node}/availability"""

from collections.abc import Mapping
from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.resources.hold_actors import view_of
from baremetal_sched.baremetal.conductors.ownership import Membership, live_members
from baremetal_sched.baremetal.matching.explanation import Explanation
from baremetal_sched.baremetal.matching.node_explanation import Finding, NodeExplanation
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db.models import Node
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import NodeNotFound
from baremetal_sched.explain.explanations import explain_request
from baremetal_sched.scheduling.api import explanations
from baremetal_sched.scheduling.api.explanations import document_of_node
from baremetal_sched.scheduling.api.policies import EXPLAIN_NODE, GET_BOOKING, NODE_AVAILABILITY, SHOW_WORKERS
from baremetal_sched.scheduling.api.request_bodies import body_of
from baremetal_sched.scheduling.queue import explain_node
from baremetal_sched.scheduling.schemas.explanations import ASKED
from baremetal_sched.web.call import Call
from baremetal_sched.web.responses import json_response


def find(call: Call, session: Session, ident: str, rule: str) -> tuple[Node, Mapping[str, Any]]:
    """Return the node with this UUID or name, and the facts about it for policy rules.

    Raises NodeNotFound if it does not exist, or if the caller does not meet ``rule``.
    """
    found = nodes.find(session, ident)
    projects = {"node.owner": found.owner, "node.lessee": found.lessee}
    target = {**call.target, **{name: project for name, project in projects.items() if project is not None}}
    if not call.allows(rule, target):
        raise NodeNotFound(node=ident)
    return found, target


def show_availability(call: Call, session: Session, node: str) -> Response:
    """GET /v1/nodes/{node}/availability"""
    found, target = find(call, session, node, NODE_AVAILABILITY)
    members = live_members(session, call.settings)
    explained = explain_to(call, session, found, members, names_others=call.allows(SHOW_WORKERS, target))
    return json_response(
        {
            "node": explained.uuid,
            "name": explained.name,
            "resource_class": explained.resource_class,
            "offered": explained.is_offered,
            "next_booking": explained.booking and explained.booking.document(),
            "reasons": documents_of_findings(explained.reasons),
            "remarks": documents_of_findings(explained.remarks),
        }
    )


def explain_to(call: Call, session: Session, node: Node, members: Membership, *, names_others: bool) -> NodeExplanation:
    """Explain to the caller whether the node is offered: of its holds, those are told that the caller may see."""
    return explain_node(
        session,
        node,
        members,
        call.settings,
        names_others=names_others,
        project=call.caller.project_id,
        view=view_of(call, node.owner, node.lessee),
        sees_booking=lambda project: call.allows(GET_BOOKING, {"project_id": project}),
    )


def documents_of_findings(findings: list[Finding]) -> list[dict[str, str]]:
    """Return the findings as clients see them."""
    return [{"label": each.label, "reason": each.reason, "remedy": each.remedy} for each in findings]


def show_node_explanation(call: Call, session: Session, node: str) -> Response:
    """GET /v1/explanations/nodes/{node}"""
    found, names_others = _find(call, session, node)
    context = explanations.context_of(call, session, found.uuid)
    return _answer(call, context, found, explanations.of_query(context, list(call.query)), names_others)


def create_node_explanation(call: Call, session: Session, node: str) -> Response:
    """POST /v1/explanations/nodes/{node}"""
    body = body_of(call)
    for name in ASKED:
        if name in body:
            raise InvalidValue(message=f"The explanation is about one machine, now: leave {name} out.")
    found, names_others = _find(call, session, node)
    context = explanations.context_of(call, session, found.uuid)
    return _answer(call, context, found, explain_request(*explanations.request_of(call, context, body)), names_others)


def _find(call: Call, session: Session, ident: str) -> tuple[Node, bool]:
    """Return the node, and whether the caller may see the names of consumers and conductors that use it."""
    found, target = find(call, session, ident, EXPLAIN_NODE)
    return found, call.allows(SHOW_WORKERS, target)


def _answer(call: Call, context: MachineContext, node: Node, explained: Explanation, names_others: bool) -> Response:
    why = explain_to(call, context.session, node, context.membership, names_others=names_others)
    return json_response(
        {
            "node": node.uuid,
            "name": node.name,
            **document_of_node(explained),
            "reasons": documents_of_findings(why.reasons),
            "remarks": documents_of_findings(why.remarks),
        }
    )
