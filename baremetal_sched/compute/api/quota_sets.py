"""/os-quota-sets"""

from typing import Any, NoReturn

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.compute import quotas
from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.api.errors import NotImplementedHere
from baremetal_sched.web.query import Query
from baremetal_sched.web.responses import empty_response, json_response


def show_quotas(call: ComputeCall, session: None, project_id: str) -> Response:
    """GET /os-quota-sets/{project_id}"""
    call.require_for(project_id)
    Query(call, ("user_id",))
    return _answer(project_id, dict.fromkeys(quotas.known(call.version), quotas.UNLIMITED))


def show_defaults(call: ComputeCall, session: None, project_id: str) -> Response:
    """GET /os-quota-sets/{project_id}/defaults"""
    call.require_for(project_id)
    call.refuse_query()
    return _answer(project_id, dict.fromkeys(quotas.known(call.version), quotas.UNLIMITED))


def show_details(call: ComputeCall, session: Session, project_id: str) -> Response:
    """GET /os-quota-sets/{project_id}/detail"""
    call.require_for(project_id)
    Query(call, ("user_id",))
    used = quotas.used(session, project_id)
    return _answer(
        project_id,
        {
            name: {"in_use": used.get(name, 0), "limit": quotas.UNLIMITED, "reserved": 0}
            for name in quotas.known(call.version)
        },
    )


def refuse_update(call: ComputeCall, session: None, project_id: str) -> NoReturn:
    """PUT /os-quota-sets/{project_id}"""
    call.require_for(project_id)
    raise NotImplementedHere(message="There are no quotas here: every project may use all that is free.")


def delete_quotas(call: ComputeCall, session: None, project_id: str) -> Response:
    """DELETE /os-quota-sets/{project_id}: back to the defaults, which no project ever leaves."""
    call.require_for(project_id)
    Query(call, ("user_id",))
    return empty_response(202)


def _answer(project_id: str, values: dict[str, Any]) -> Response:
    return json_response({"quota_set": {"id": project_id, **values}})
