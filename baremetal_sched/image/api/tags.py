"""/v2/images/{image}/tags"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.image import tags
from baremetal_sched.image.api.call import ImageCall
from baremetal_sched.web.responses import empty_response


def add_tag(call: ImageCall, session: Session, ident: str, tag: str) -> Response:
    """PUT /v2/images/{image}/tags/{tag}"""
    call.refuse_query()
    call.refuse_body()
    tags.add(session, ident, tag, call.requester)
    return empty_response(204)


def remove_tag(call: ImageCall, session: Session, ident: str, tag: str) -> Response:
    """DELETE /v2/images/{image}/tags/{tag}"""
    call.refuse_query()
    call.refuse_body()
    tags.remove(session, ident, tag, call.requester)
    return empty_response(204)
