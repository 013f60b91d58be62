"""/v2/images/{image}/file, import and actions"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.errors.image import ImageDataRefused
from baremetal_sched.image import data, images
from baremetal_sched.image.api.call import ImageCall
from baremetal_sched.web import body
from baremetal_sched.web.http_errors import BadRequest, BodyTooLarge
from baremetal_sched.web.responses import empty_response, json_response


def upload_image(call: ImageCall, session: Session, ident: str) -> Response:
    """PUT /v2/images/{image}/file"""
    _refuse_data(call, ident)
    data.upload_nothing(session, ident, call.requester)
    return empty_response(204)


def stage_image(call: ImageCall, session: None, ident: str) -> Response:
    """PUT /v2/images/{image}/stage: as in a Glance that imports from the web only."""
    raise StagingNotServed(
        message=f"'glance-direct' method is not available at this site. {ImageDataRefused(image=ident)}"
    )


class StagingNotServed(BadRequest):
    """There is nothing that data could be staged for."""

    status = 404


def _refuse_data(call: ImageCall, ident: str) -> None:
    """Raise ImageDataRefused if the request has a body. It is read no further."""
    try:
        body.read(call.http, 0)
    except BodyTooLarge:
        raise ImageDataRefused(image=ident) from None


def download_image(call: ImageCall, session: Session, ident: str) -> Response:
    """GET /v2/images/{image}/file"""
    data.require_download(session, ident, call.requester)
    return empty_response(204)


def import_image(call: ImageCall, session: Session, ident: str) -> Response:
    """POST /v2/images/{image}/import"""
    data.import_location(session, ident, call.body(), call.requester)
    return empty_response(202)


def list_tasks(call: ImageCall, session: Session, ident: str) -> Response:
    """GET /v2/images/{image}/tasks: an import is done when it is answered, so there are never any."""
    images.get(session, ident, call.requester)
    return json_response({"tasks": []})


def deactivate_image(call: ImageCall, session: Session, ident: str) -> Response:
    """POST /v2/images/{image}/actions/deactivate"""
    call.refuse_body()
    data.deactivate(session, ident, call.requester)
    return empty_response(204)


def reactivate_image(call: ImageCall, session: Session, ident: str) -> Response:
    """POST /v2/images/{image}/actions/reactivate"""
    call.refuse_body()
    data.reactivate(session, ident, call.requester)
    return empty_response(204)
