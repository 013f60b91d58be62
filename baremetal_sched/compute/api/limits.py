"""/limits"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.compute import quotas
from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.web.query import Query
from baremetal_sched.web.responses import json_response

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
