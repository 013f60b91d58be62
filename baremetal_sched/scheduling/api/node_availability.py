"""/v1/nodes/{node}/availability"""

from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import nodes
from baremetal_sched.baremetal.explanation import Finding, explain
from baremetal_sched.baremetal.ownership import live_members
from baremetal_sched.errors.baremetal import NodeNotFound
from baremetal_sched.scheduling.api.policies import NODE_AVAILABILITY, SHOW_WORKERS
from baremetal_sched.web.call import Call
from baremetal_sched.web.responses import json_response


def show_availability(call: Call, session: Session, node: str) -> Response:
    """GET /v1/nodes/{node}/availability"""
    call.refuse_query()
    found = nodes.find(session, node)
    whose = {"node.owner": found.owner, "node.lessee": found.lessee}
    target = {**call.target, **{name: project for name, project in whose.items() if project is not None}}
    # To others there is no such node.
    if not call.allows(NODE_AVAILABILITY, target):
        raise NodeNotFound(node=node)
    explained = explain(
        session, found.uuid, live_members(session, call.settings), names_others=call.allows(SHOW_WORKERS, target)
    )
    return json_response(
        {
            "node": explained.uuid,
            "name": explained.name,
            "resource_class": explained.resource_class,
            "offered": explained.is_offered,
            "reasons": [_finding(each) for each in explained.reasons],
            "remarks": [_finding(each) for each in explained.remarks],
        }
    )


def _finding(finding: Finding) -> dict[str, Any]:
    return {"label": finding.label, "reason": finding.reason, "remedy": finding.remedy}
