"""/flavors/{flavor_id}/os-flavor-access, and the actions that change it"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.compute import flavor_access
from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.api.policies import name_of
from baremetal_sched.compute.schemas import flavors as forms
from baremetal_sched.web.responses import json_response


def list_access(call: ComputeCall, session: Session, flavor_id: str) -> Response:
    """GET /flavors/{flavor_id}/os-flavor-access"""
    call.refuse_query()
    return _answer(flavor_id, flavor_access.projects_of(session, flavor_id, call.viewer))


def act(call: ComputeCall, session: Session, flavor_id: str) -> Response:
    """POST /flavors/{flavor_id}/action: addTenantAccess or removeTenantAccess"""
    call.refuse_query()
    ((action, arguments),) = call.body(forms.ACTION).items()
    project = arguments["tenant"]
    operation = "add_tenant_access" if action == "addTenantAccess" else "remove_tenant_access"
    call.require(name_of("os-flavor-access", operation))
    if action == "addTenantAccess":
        public_too = call.version < forms.PUBLIC_REFUSED_SINCE
        projects = flavor_access.add(session, flavor_id, project, public_too=public_too)
    else:
        projects = flavor_access.remove(session, flavor_id, project)
    return _answer(flavor_id, projects)


def _answer(flavor_id: str, projects: list[str]) -> Response:
    return json_response({"flavor_access": [{"flavor_id": flavor_id, "tenant_id": project} for project in projects]})
