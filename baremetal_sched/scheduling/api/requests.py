"""/v1/requests"""

from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.request import Amounts
from baremetal_sched.scheduling import dry_run
from baremetal_sched.scheduling.api.policies import SHOW_NODES
from baremetal_sched.scheduling.schemas.requests import MOST_CANDIDATES, REQUEST
from baremetal_sched.web.call import Call
from baremetal_sched.web.responses import json_response


def create_request(call: Call, session: Session) -> Response:
    """POST /v1/requests"""
    call.refuse_query()
    shows_nodes = call.allows(SHOW_NODES)
    # Nothing belongs to the project of a caller that has none.
    found = dry_run.run(session, call.settings, _asked(call, None if shows_nodes else call.caller.project_id or ""))
    document: dict[str, Any] = {"placement_query": found.query}
    if shows_nodes:
        document["candidates"] = [_candidate(node, claim) for node, claim in found.candidates]
    else:
        document["count"] = len(found.candidates)
    if found.reason is not None:
        document["reason"] = found.reason
    return json_response(document)


def _asked(call: Call, project: str | None) -> dry_run.DryRunRequest:
    document = call.json
    REQUEST.check(document)
    return dry_run.DryRunRequest(
        document["flavor"],
        document.get("image"),
        document.get("boot_from_volume", False),
        document.get("limit", MOST_CANDIDATES),
        project,
    )


def _candidate(node: str, claim: Amounts) -> dict[str, Any]:
    """A node with what would be claimed, in the form in which placement takes allocations."""
    return {"node": node, "allocations": {uuid: {"resources": amounts} for uuid, amounts in claim.items()}}
