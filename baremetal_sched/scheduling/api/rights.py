"""Who may delete what a claim belongs to: the API that was asked for its machine decides."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.api.policies import name_of
from baremetal_sched.compute.servers import server_operations
from baremetal_sched.db.models import Server, WaitingRequest
from baremetal_sched.errors import NotAllowed
from baremetal_sched.placement.waiting_requests import ALLOCATION, SERVER
from baremetal_sched.scheduling.api.policies import DELETE_CLAIM
from baremetal_sched.scheduling.api.request_bodies import SchedulingCall
from baremetal_sched.web.call import Call

_RULES = {ALLOCATION: "baremetal:allocation:delete", SERVER: name_of("servers", "delete")}


def may_delete(call: Call, baremetal: BaremetalCall, compute: ComputeCall, claim: WaitingRequest) -> bool:
    """Return whether the caller may delete a claim, an allocation or a server. ``baremetal`` and ``compute``: the same
    request as one to these APIs."""
    project = claim.consumer_project
    if claim.kind == ALLOCATION:
        return baremetal.allows(_RULES[ALLOCATION], baremetal.target_of("allocation", owner=project))
    if claim.kind == SERVER:
        is_visible = compute.viewer in (None, project)
        return is_visible and compute.allows(_RULES[SERVER], {"project_id": project})
    return call.allows(DELETE_CLAIM, {"project_id": project})


def require_delete(call: SchedulingCall, session: Session, claim: WaitingRequest) -> None:
    """Raise NotAllowed unless the caller may delete what the claim belongs to, ServerLocked if it is a server that is
    locked, except for administrators."""
    if not may_delete(call, call.baremetal, call.compute, claim):
        raise NotAllowed(policy=_RULES.get(claim.kind, DELETE_CLAIM))
    if claim.kind == SERVER:
        server = session.scalars(select(Server).where(Server.uuid == claim.uuid)).first()
        if server is not None:
            server_operations.require_unlocked(server, is_admin=call.compute.is_admin)
