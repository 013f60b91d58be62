"""/v2/images/{image}/members"""

from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.db.models import ImageMember
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.image import members
from baremetal_sched.image.api.call import ImageCall
from baremetal_sched.image.api.images import moment
from baremetal_sched.image.schemas import load_new, load_status
from baremetal_sched.web.responses import empty_response, json_response


def _document(ident: str, member: ImageMember) -> dict[str, Any]:
    return {
        "member_id": member.member,
        "image_id": canonical_uuid(ident),
        "status": member.status,
        "created_at": moment(member.created_at),
        "updated_at": moment(member.updated_at),
        "schema": "/v2/schemas/member",
    }


def list_members(call: ImageCall, session: Session, ident: str) -> Response:
    """GET /v2/images/{image}/members"""
    found = members.list_all(session, ident, call.requester)
    return json_response({"members": [_document(ident, member) for member in found], "schema": "/v2/schemas/members"})


def add_member(call: ImageCall, session: Session, ident: str) -> Response:
    """POST /v2/images/{image}/members"""
    return json_response(_document(ident, members.add(session, ident, load_new(call.body()), call.requester)))


def show_member(call: ImageCall, session: Session, ident: str, member: str) -> Response:
    """GET /v2/images/{image}/members/{member}"""
    return json_response(_document(ident, members.get(session, ident, member, call.requester)))


def update_member(call: ImageCall, session: Session, ident: str, member: str) -> Response:
    """PUT /v2/images/{image}/members/{member}"""
    status = load_status(call.body())
    return json_response(_document(ident, members.set_status(session, ident, member, status, call.requester)))


def remove_member(call: ImageCall, session: Session, ident: str, member: str) -> Response:
    """DELETE /v2/images/{image}/members/{member}"""
    members.remove(session, ident, member, call.requester)
    return empty_response(204)
