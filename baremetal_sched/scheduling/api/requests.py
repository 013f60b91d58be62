"""/v1/requests"""

from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.scheduling import dry_run
from baremetal_sched.scheduling.api.policies import SHOW_NODES
from baremetal_sched.scheduling.api.request_bodies import require_levels
from baremetal_sched.scheduling.schemas.requests import MOST_CANDIDATES, REQUEST
from baremetal_sched.web.call import Call
from baremetal_sched.web.responses import json_response


def create_request(call: Call, session: Session) -> Response:
    """POST /v1/requests"""
    shows_nodes = call.allows(SHOW_NODES)
    body = call.json
    REQUEST.check(body)
    request = dry_run.DryRunRequest(
        body["flavor"],
        body.get("image"),
        body.get("boot_from_volume", False),
        body.get("limit", MOST_CANDIDATES),
        # Nothing belongs to the project of a caller that has none.
        None if shows_nodes else call.caller.project_id or "",
        Several.of(body),
    )
    require_levels(call, session, request.several, request.project)
    consumer = call.caller.project_id or call.settings.placement.incomplete_consumer_project_id
    result = dry_run.run(session, call.settings, request, consumer)
    document: dict[str, Any] = {"placement_query": result.query}
    if shows_nodes:
        # In the form in which placement takes allocations.
        document["candidates"] = [
            {"node": node, "allocations": {uuid: {"resources": amounts} for uuid, amounts in claim.items()}}
            for node, claim in result.candidates
        ]
    else:
        document["count"] = len(result.candidates)
    if result.reason is not None:
        document["reason"] = result.reason
    return json_response(document)
