"""/v1/nodes/{node}/availability"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors.ownership import live_members
from baremetal_sched.baremetal.matching.explanation import Finding, explain
from baremetal_sched.scheduling.api import visible_node
from baremetal_sched.scheduling.api.policies import NODE_AVAILABILITY, SHOW_WORKERS
from baremetal_sched.web.call import Call
from baremetal_sched.web.responses import json_response


def show_availability(call: Call, session: Session, node: str) -> Response:
    """GET /v1/nodes/{node}/availability"""
    call.refuse_query()
    found, target = visible_node.find(call, session, node, NODE_AVAILABILITY)
    explained = explain(
        session, found.uuid, live_members(session, call.settings), names_others=call.allows(SHOW_WORKERS, target)
    )
    return json_response(
        {
            "node": explained.uuid,
            "name": explained.name,
            "resource_class": explained.resource_class,
            "offered": explained.is_offered,
            "reasons": findings(explained.reasons),
            "remarks": findings(explained.remarks),
        }
    )


def findings(found: list[Finding]) -> list[dict[str, str]]:
    """Return the findings as clients see them."""
    return [{"label": each.label, "reason": each.reason, "remedy": each.remedy} for each in found]
