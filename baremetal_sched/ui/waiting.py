"""/waiting: who waits for a machine, since when, and why."""

from datetime import UTC, datetime

from flask import Response
from sqlalchemy import select
from sqlalchemy.orm import Session, defer

from baremetal_sched import commands
from baremetal_sched.compute.api.policies import name_of
from baremetal_sched.db.models import WaitingRequest
from baremetal_sched.placement.waiting_requests import ALLOCATION, CLAIM, IS_WAITING, SERVER
from baremetal_sched.scheduling import claims
from baremetal_sched.scheduling.api.claims import visible_to
from baremetal_sched.scheduling.api.policies import DELETE_CLAIM
from baremetal_sched.scheduling.claims import ClaimStatus
from baremetal_sched.ui.actions import ACTIONS
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.rendering import page

#: The number of claims on the page: the ones that have waited for longest.
MOST_CLAIMS = 200

#: The commands that end the waiting, by kind.
_COMMANDS = {
    CLAIM: commands.CANCEL_CLAIM,
    ALLOCATION: commands.DELETE_ALLOCATION,
    SERVER: commands.DELETE_SERVER,
}


def show_waiting(call: UiCall, session: Session) -> Response:
    """GET /waiting"""
    call.refuse_query()
    visible = visible_to(call)
    query = select(WaitingRequest).options(defer(WaitingRequest.secret)).where(IS_WAITING)
    if visible is not None:
        query = query.where(visible)
    longest = query.order_by(WaitingRequest.asked_at, WaitingRequest.id).limit(MOST_CLAIMS + 1)
    statuses = claims.statuses_of(session, session.scalars(longest).all())
    mine = {each.claim.uuid for each in statuses if _may_cancel(call, each)}
    return page(
        call,
        "waiting.html",
        everything=visible is None,
        rows=[(each, *_times(each), _command(each)) for each in statuses[:MOST_CLAIMS]],
        mine=mine,
        offers=[("cancel", ACTIONS["cancel"].label)] if mine else [],
        has_more=len(statuses) > MOST_CLAIMS,
        most=MOST_CLAIMS,
    )


def _times(status: ClaimStatus) -> tuple[datetime, datetime]:
    """Return since when and until when it waits, in UTC."""
    claim = status.claim
    since, until = (datetime.fromtimestamp(seconds, UTC) for seconds in (claim.asked_at, claim.deadline))
    return since, until


def _may_cancel(call: UiCall, status: ClaimStatus) -> bool:
    """Return whether the API that was asked for the machine lets the caller end the waiting."""
    project = status.claim.consumer_project
    match status.claim.kind:
        case "allocation":
            return call.allows("baremetal:allocation:delete", call.target_of("allocation", owner=project))
        case "server":
            is_visible = call.compute.viewer in (None, project)
            return is_visible and call.compute.allows(name_of("servers", "delete"), {"project_id": project})
        case _:
            return call.allows(DELETE_CLAIM, {"project_id": project})


def _command(status: ClaimStatus) -> str:
    return _COMMANDS[status.claim.kind].of(uuid=status.claim.uuid)
