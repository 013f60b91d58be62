"""/os-quota-sets and /limits: there are no quotas; usage is counted all the same"""

from collections.abc import Mapping
from typing import Any, NoReturn

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.compute.api.call import ComputeCall, NotImplementedHere
from baremetal_sched.compute.servers import server_rows
from baremetal_sched.web.query import Query
from baremetal_sched.web.responses import empty_response, json_response

#: The limit that means "unlimited".
UNLIMITED = -1

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


def _known(call: ComputeCall) -> list[str]:
    """The names of the quotas that the microversion has."""
    return [name for name, until in QUOTAS.items() if until is None or call.version <= until]


def show_quotas(call: ComputeCall, session: None, project_id: str) -> Response:
    """GET /os-quota-sets/{project_id}"""
    call.require_for(project_id)
    Query(call, ("user_id",))
    return _answer(project_id, dict.fromkeys(_known(call), UNLIMITED))


def show_defaults(call: ComputeCall, session: None, project_id: str) -> Response:
    """GET /os-quota-sets/{project_id}/defaults"""
    call.require_for(project_id)
    return _answer(project_id, dict.fromkeys(_known(call), UNLIMITED))


def show_details(call: ComputeCall, session: Session, project_id: str) -> Response:
    """GET /os-quota-sets/{project_id}/detail"""
    call.require_for(project_id)
    Query(call, ("user_id",))
    used = server_rows.usage(session, project_id)
    return _answer(
        project_id,
        {name: {"in_use": used.get(name, 0), "limit": UNLIMITED, "reserved": 0} for name in _known(call)},
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


def show_limits(call: ComputeCall, session: Session) -> Response:
    """GET /limits"""
    query = Query(call, ("tenant_id", "reserved"))
    project = call.acting_for(query.text("tenant_id"), "os_compute_api:limits:other_project")
    known, used = _known(call), server_rows.usage(session, project)
    absolute = {name: UNLIMITED for name, quota in LIMITS.items() if quota in known}
    if call.version <= _IMAGE_METADATA_UNTIL:
        absolute["maxImageMeta"] = UNLIMITED
    absolute |= {name: used.get(quota, 0) for name, quota in USED.items() if quota in known}
    return json_response({"limits": {"rate": [], "absolute": absolute}})
