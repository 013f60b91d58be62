"""/os-quota-sets and /limits: only server groups have quotas, the same for all projects; usage is counted"""

from collections.abc import Mapping
from typing import Any, NoReturn

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.compute.api.call import ComputeCall, NotImplementedHere
from baremetal_sched.compute.server_groups import UNLIMITED
from baremetal_sched.compute.servers import server_rows
from baremetal_sched.web.query import Query
from baremetal_sched.web.responses import empty_response, json_response

#: What Nova limits, with the minor part of the last microversion that has it: what networks had was dropped with 2.36,
#: what injected files had with 2.57.
QUOTAS: Mapping[str, int | None] = {
    "cores": None,
    **dict.fromkeys(("fixed_ips", "floating_ips"), 35),
    **dict.fromkeys(("injected_file_content_bytes", "injected_file_path_bytes", "injected_files"), 56),
    **dict.fromkeys(("instances", "key_pairs", "metadata_items", "ram"), None),
    **dict.fromkeys(("security_group_rules", "security_groups"), 35),
    **dict.fromkeys(("server_group_members", "server_groups"), None),
}

#: What the limits of a project are called, by the quota that each shows.
LIMITS = {
    "maxTotalRAMSize": "ram",
    "maxTotalInstances": "instances",
    "maxTotalCores": "cores",
    "maxTotalKeypairs": "key_pairs",
    "maxTotalFloatingIps": "floating_ips",
    "maxServerMeta": "metadata_items",
    "maxPersonality": "injected_files",
    "maxPersonalitySize": "injected_file_content_bytes",
    "maxSecurityGroups": "security_groups",
    "maxSecurityGroupRules": "security_group_rules",
    "maxServerGroups": "server_groups",
    "maxServerGroupMembers": "server_group_members",
}
USED = {
    "totalRAMUsed": "ram",
    "totalCoresUsed": "cores",
    "totalInstancesUsed": "instances",
    "totalFloatingIpsUsed": "floating_ips",
    "totalSecurityGroupsUsed": "security_groups",
    "totalServerGroupsUsed": "server_groups",
}
#: The last microversion that limits the metadata of images, which is no quota.
_IMAGE_METADATA_UNTIL = 38


def _quotas(call: ComputeCall) -> dict[str, int]:
    """Return the quotas that the microversion has, by their names."""
    known = (name for name, until in QUOTAS.items() if until is None or call.version <= until)
    return {name: getattr(call.settings.quota, name, UNLIMITED) for name in known}


def show_quotas(call: ComputeCall, session: None, project_id: str) -> Response:
    """GET /os-quota-sets/{project_id}"""
    call.require_for(project_id)
    Query(call, ("user_id",))
    return _answer(project_id, _quotas(call))


def show_defaults(call: ComputeCall, session: None, project_id: str) -> Response:
    """GET /os-quota-sets/{project_id}/defaults"""
    call.require_for(project_id)
    return _answer(project_id, _quotas(call))


def show_details(call: ComputeCall, session: Session, project_id: str) -> Response:
    """GET /os-quota-sets/{project_id}/detail"""
    call.require_for(project_id)
    Query(call, ("user_id",))
    used = server_rows.usage(session, project_id)
    return _answer(
        project_id,
        {name: {"in_use": used.get(name, 0), "limit": most, "reserved": 0} for name, most in _quotas(call).items()},
    )


def refuse_update(call: ComputeCall, session: None, project_id: str) -> NoReturn:
    """PUT /os-quota-sets/{project_id}"""
    call.require_for(project_id)
    said = "There are no quotas for single projects: [quota] server_groups and server_group_members are for all."
    raise NotImplementedHere(message=said)


def delete_quotas(call: ComputeCall, session: None, project_id: str) -> Response:
    """DELETE /os-quota-sets/{project_id}: back to the defaults, which no project ever leaves."""
    call.require_for(project_id)
    Query(call, ("user_id",))
    return empty_response(202)


def _answer(project_id: str, values: dict[str, Any]) -> Response:
    return json_response({"quota_set": {"id": project_id, **values}})


def show_limits(call: ComputeCall, session: Session) -> Response:
    """GET /limits"""
    query = Query(call, ("tenant_id", "reserved"))
    project = call.acting_for(query.text("tenant_id"), "os_compute_api:limits:other_project")
    known, used = _quotas(call), server_rows.usage(session, project)
    absolute = {name: known[quota] for name, quota in LIMITS.items() if quota in known}
    if call.version <= _IMAGE_METADATA_UNTIL:
        absolute["maxImageMeta"] = UNLIMITED
    absolute |= {name: used.get(quota, 0) for name, quota in USED.items() if quota in known}
    return json_response({"limits": {"rate": [], "absolute": absolute}})
