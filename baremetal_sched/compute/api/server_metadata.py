"""/servers/{server_id}/metadata"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.compute import server_metadata
from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.api.servers import find, find_unlocked
from baremetal_sched.compute.schemas.servers import REPLACE_METADATA, SET_ITEM
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.responses import empty_response, json_response


def list_metadata(call: ComputeCall, session: Session, server_id: str) -> Response:
    """GET /servers/{server_id}/metadata"""
    call.refuse_query()
    return json_response({"metadata": find(call, session, server_id).user_metadata})


def add_metadata(call: ComputeCall, session: Session, server_id: str) -> Response:
    """POST /servers/{server_id}/metadata"""
    return _set(call, session, server_id, keep=True)


def replace_metadata(call: ComputeCall, session: Session, server_id: str) -> Response:
    """PUT /servers/{server_id}/metadata"""
    return _set(call, session, server_id, keep=False)


def _set(call: ComputeCall, session: Session, server_id: str, *, keep: bool) -> Response:
    call.refuse_query()
    items = call.body(REPLACE_METADATA)["metadata"]
    after = server_metadata.replace(find_unlocked(call, session, server_id), items, keep=keep)
    return json_response({"metadata": after})


def show_item(call: ComputeCall, session: Session, server_id: str, key: str) -> Response:
    """GET /servers/{server_id}/metadata/{key}"""
    call.refuse_query()
    return json_response({"meta": {key: server_metadata.get(find(call, session, server_id), key)}})


def set_item(call: ComputeCall, session: Session, server_id: str, key: str) -> Response:
    """PUT /servers/{server_id}/metadata/{key}"""
    call.refuse_query()
    item = call.body(SET_ITEM)["meta"]
    if key not in item:
        raise InvalidValue(message="Request body and URI mismatch")
    server_metadata.replace(find_unlocked(call, session, server_id), item, keep=True)
    return json_response({"meta": item})


def delete_item(call: ComputeCall, session: Session, server_id: str, key: str) -> Response:
    """DELETE /servers/{server_id}/metadata/{key}"""
    call.refuse_query()
    server_metadata.remove(find_unlocked(call, session, server_id), key)
    return empty_response(204)
