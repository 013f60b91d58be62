"""/os-server-groups"""

from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.compute import server_groups
from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.api.policies import name_of
from baremetal_sched.compute.schemas import server_groups as forms
from baremetal_sched.compute.schemas.form import LARGEST_INTEGER, to_integer
from baremetal_sched.compute.server_groups import ANTI_AFFINITY
from baremetal_sched.db.models import ServerGroup
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.query import Query
from baremetal_sched.web.responses import empty_response, json_response

_MOST = "max_server_per_host"


def list_groups(call: ComputeCall, session: Session) -> Response:
    """GET /os-server-groups"""
    query = Query(call, ("all_projects", "limit", "offset"))
    project: str | None = call.project_id
    if query.has("all_projects") and call.is_admin:  # others see their own groups, as with Nova
        call.require(name_of("os-server-groups", "index:all_projects"))
        project = None
    limit = query.limit(least=0) or call.settings.api.max_limit
    groups = server_groups.list_page(session, project, limit, query.integer("offset") or 0)
    members = server_groups.members_of(session, groups)
    return json_response({"server_groups": [_document(call, group, members[group.id]) for group in groups]})


def create_group(call: ComputeCall, session: Session) -> Response:
    """POST /os-server-groups"""
    values = call.body(forms.create(call.version))["server_group"]
    policy = values["policies"][0] if "policies" in values else values["policy"]
    rules = values.get("rules") or {}
    if rules and policy != ANTI_AFFINITY:
        raise InvalidValue(message="Only anti-affinity policy supports rules.")
    most = to_integer(_MOST, min(int(rules[_MOST]), LARGEST_INTEGER), 1) if rules else None
    owner = {"project_id": call.project_id, "user_id": call.user_id}
    quota = call.settings.quota.server_groups
    group = server_groups.create(session, values["name"], policy, max_server_per_host=most, quota=quota, **owner)
    return json_response({"server_group": _document(call, group, [])})


def show_group(call: ComputeCall, session: Session, group_id: str) -> Response:
    """GET /os-server-groups/{group_id}"""
    group = _find(call, session, group_id)
    members = server_groups.members_of(session, [group])[group.id]
    return json_response({"server_group": _document(call, group, members)})


def delete_group(call: ComputeCall, session: Session, group_id: str) -> Response:
    """DELETE /os-server-groups/{group_id}"""
    server_groups.delete(session, _find(call, session, group_id))
    return empty_response(204)


def _find(call: ComputeCall, session: Session, group_id: str) -> ServerGroup:
    """Return a group that the caller sees. Raises ServerGroupNotFound, NotAllowed."""
    group = server_groups.find(session, canonical_uuid(group_id) or group_id, call.viewer)
    call.require_for(group.project_id)
    return group


def _document(call: ComputeCall, group: ServerGroup, members: list[str]) -> dict[str, Any]:
    document: dict[str, Any] = {"id": group.uuid, "name": group.name, "members": members}
    if call.version >= forms.OWNER_SINCE:
        document |= {"project_id": group.project_id, "user_id": group.user_id}
    if call.version >= forms.RULES_SINCE:
        rules = {} if group.max_server_per_host is None else {_MOST: group.max_server_per_host}
        return document | {"policy": group.policy, "rules": rules}
    return document | {"policies": [group.policy], "metadata": {}}
