"""/servers/{server_id}/tags, from 2.26"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.compute import server_tags
from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.api.servers import address, find, find_unlocked
from baremetal_sched.compute.schemas.form import Form
from baremetal_sched.compute.schemas.servers import REPLACE_TAGS, TAG
from baremetal_sched.web.responses import empty_response, json_response

_TAG = Form(TAG)


def list_tags(call: ComputeCall, session: Session, server_id: str) -> Response:
    """GET /servers/{server_id}/tags"""
    call.refuse_query()
    return json_response({"tags": server_tags.list_tags(session, find(call, session, server_id).id)})


def replace_tags(call: ComputeCall, session: Session, server_id: str) -> Response:
    """PUT /servers/{server_id}/tags"""
    call.refuse_query()
    tags = call.body(REPLACE_TAGS)["tags"]
    return json_response({"tags": server_tags.replace(session, find_unlocked(call, session, server_id), tags)})


def delete_tags(call: ComputeCall, session: Session, server_id: str) -> Response:
    """DELETE /servers/{server_id}/tags"""
    call.refuse_query()
    server_tags.replace(session, find_unlocked(call, session, server_id), ())
    return empty_response(204)


def show_tag(call: ComputeCall, session: Session, server_id: str, tag: str) -> Response:
    """GET /servers/{server_id}/tags/{tag}"""
    call.refuse_query()
    server_tags.require(session, find(call, session, server_id), tag)
    return empty_response(204)


def add_tag(call: ComputeCall, session: Session, server_id: str, tag: str) -> Response:
    """PUT /servers/{server_id}/tags/{tag}"""
    call.refuse_query()
    _TAG.check(tag)
    if server_tags.add(session, find_unlocked(call, session, server_id), tag):
        return empty_response(201, {"Location": f"{address(call, server_id)}/tags/{tag}"})
    return empty_response(204)


def delete_tag(call: ComputeCall, session: Session, server_id: str, tag: str) -> Response:
    """DELETE /servers/{server_id}/tags/{tag}"""
    call.refuse_query()
    server_tags.remove(session, find_unlocked(call, session, server_id), tag)
    return empty_response(204)
