"""/os-quota-sets and /limits"""

from typing import Any, NoReturn

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.compute import quotas
from baremetal_sched.compute.api.call import ComputeCall, NotImplementedHere
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


#: Limits by the quota that each shows, with the last minor version that has it.
LIMITS: dict[str, tuple[str, int | None]] = {
    "maxTotalRAMSize": ("ram", None),
    "maxTotalInstances": ("instances", None),
    "maxTotalCores": ("cores", None),
    "maxTotalKeypairs": ("key_pairs", None),
    "maxTotalFloatingIps": ("floating_ips", 35),
    "maxServerMeta": ("metadata_items", None),
    "maxImageMeta": ("metadata_items", 38),
    "maxPersonality": ("injected_files", 56),
    "maxPersonalitySize": ("injected_file_content_bytes", 56),
    "maxSecurityGroups": ("security_groups", 35),
    "maxSecurityGroupRules": ("security_group_rules", 35),
    "maxServerGroups": ("server_groups", None),
    "maxServerGroupMembers": ("server_group_members", None),
}
USED: dict[str, tuple[str, int | None]] = {
    "totalRAMUsed": ("ram", None),
    "totalCoresUsed": ("cores", None),
    "totalInstancesUsed": ("instances", None),
    "totalFloatingIpsUsed": ("floating_ips", 35),
    "totalSecurityGroupsUsed": ("security_groups", 35),
    "totalServerGroupsUsed": ("server_groups", None),
}


def show_limits(call: ComputeCall, session: Session) -> Response:
    """GET /limits"""
    query = Query(call, ("tenant_id", "reserved"))
    project = call.acting_for(query.text("tenant_id"), "os_compute_api:limits:other_project")
    used = quotas.used(session, project)
    absolute = {name: quotas.UNLIMITED for name, (_, until) in LIMITS.items() if _has(call, until)}
    absolute |= {name: used.get(quota, 0) for name, (quota, until) in USED.items() if _has(call, until)}
    return json_response({"limits": {"rate": [], "absolute": absolute}})


def _has(call: ComputeCall, until: int | None) -> bool:
    return until is None or call.version <= until
