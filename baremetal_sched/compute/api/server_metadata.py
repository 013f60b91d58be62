"""/servers/{server_id}/metadata, tags (from 2.26), ips and os-security-groups"""

from flask import Response
from sqlalchemy import Connection
from sqlalchemy.orm import Session

from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.api.servers import address, find, find_row, find_unlocked
from baremetal_sched.compute.hosts import network_addresses
from baremetal_sched.compute.schemas.form import Form
from baremetal_sched.compute.schemas.servers import REPLACE_METADATA, REPLACE_TAGS, SET_ITEM, TAG
from baremetal_sched.compute.servers import server_metadata
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.compute import NetworkNotFound
from baremetal_sched.web.responses import empty_response, json_response


def list_metadata(call: ComputeCall, session: Session, server_id: str) -> Response:
    """GET /servers/{server_id}/metadata"""
    return json_response({"metadata": find(call, session, server_id).user_metadata})


def add_metadata(call: ComputeCall, session: Session, server_id: str) -> Response:
    """POST /servers/{server_id}/metadata"""
    return _set(call, session, server_id, keep=True)


def replace_metadata(call: ComputeCall, session: Session, server_id: str) -> Response:
    """PUT /servers/{server_id}/metadata"""
    return _set(call, session, server_id, keep=False)


def _set(call: ComputeCall, session: Session, server_id: str, *, keep: bool) -> Response:
    items = call.body(REPLACE_METADATA)["metadata"]
    after = server_metadata.replace_metadata(find_unlocked(call, session, server_id), items, keep=keep)
    return json_response({"metadata": after})


def show_item(call: ComputeCall, session: Session, server_id: str, key: str) -> Response:
    """GET /servers/{server_id}/metadata/{key}"""
    return json_response({"meta": {key: server_metadata.get_metadata(find(call, session, server_id), key)}})


def set_item(call: ComputeCall, session: Session, server_id: str, key: str) -> Response:
    """PUT /servers/{server_id}/metadata/{key}"""
    item = call.body(SET_ITEM)["meta"]
    if key not in item:
        raise InvalidValue(message="Request body and URI mismatch")
    server_metadata.replace_metadata(find_unlocked(call, session, server_id), item, keep=True)
    return json_response({"meta": item})


def delete_item(call: ComputeCall, session: Session, server_id: str, key: str) -> Response:
    """DELETE /servers/{server_id}/metadata/{key}"""
    server_metadata.remove_metadata(find_unlocked(call, session, server_id), key)
    return empty_response(204)


_TAG = Form(TAG)


def list_tags(call: ComputeCall, session: Session, server_id: str) -> Response:
    """GET /servers/{server_id}/tags"""
    return json_response({"tags": server_metadata.list_tags(session, find(call, session, server_id).id)})


def replace_tags(call: ComputeCall, session: Session, server_id: str) -> Response:
    """PUT /servers/{server_id}/tags"""
    tags = call.body(REPLACE_TAGS)["tags"]
    return json_response({"tags": server_metadata.replace_tags(session, find_unlocked(call, session, server_id), tags)})


def delete_tags(call: ComputeCall, session: Session, server_id: str) -> Response:
    """DELETE /servers/{server_id}/tags"""
    server_metadata.replace_tags(session, find_unlocked(call, session, server_id), ())
    return empty_response(204)


def show_tag(call: ComputeCall, session: Session, server_id: str, tag: str) -> Response:
    """GET /servers/{server_id}/tags/{tag}"""
    server_metadata.require_tag(session, find(call, session, server_id), tag)
    return empty_response(204)


def add_tag(call: ComputeCall, session: Session, server_id: str, tag: str) -> Response:
    """PUT /servers/{server_id}/tags/{tag}"""
    _TAG.check(tag)
    if server_metadata.add_tag(session, find_unlocked(call, session, server_id), tag):
        return empty_response(201, {"Location": f"{address(call, server_id)}/tags/{tag}"})
    return empty_response(204)


def delete_tag(call: ComputeCall, session: Session, server_id: str, tag: str) -> Response:
    """DELETE /servers/{server_id}/tags/{tag}"""
    server_metadata.remove_tag(session, find_unlocked(call, session, server_id), tag)
    return empty_response(204)


def list_addresses(call: ComputeCall, connection: Connection, server_id: str) -> Response:
    """GET /servers/{server_id}/ips"""
    row = find_row(call, connection, server_id)
    return json_response({"addresses": network_addresses.document(row.network_data, extended=False)})


def show_network(call: ComputeCall, connection: Connection, server_id: str, network: str) -> Response:
    """GET /servers/{server_id}/ips/{network}"""
    row = find_row(call, connection, server_id)
    addresses = network_addresses.document(row.network_data, extended=False)
    if network not in addresses:
        raise NetworkNotFound(server=server_id, network=network)
    return json_response({network: addresses[network]})


def list_security_groups(call: ComputeCall, session: Session, server_id: str) -> Response:
    """GET /servers/{server_id}/os-security-groups: they are names, without rules"""
    server = find(call, session, server_id)
    groups = [
        {"id": name, "name": name, "description": "", "tenant_id": server.project_id, "rules": []}
        for name in sorted(set(server.security_groups))
    ]
    return json_response({"security_groups": groups})
