"""The parts of the edge that each API implements, for the image API, and its format of errors."""

import html
from http import HTTPStatus

from flask import Response

from baremetal_sched.errors.image import ImageDataRefused, TooManyOfAnImage
from baremetal_sched.image.api import policies
from baremetal_sched.image.api.call import ImageCall
from baremetal_sched.image.api.routes import ROUTES
from baremetal_sched.image.patch import MEDIA_TYPES
from baremetal_sched.placement.api.accept import HTML, form_of_errors
from baremetal_sched.web.api import Api
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import BodyTooLarge, HttpError, MethodNotAllowed, PathNotFound, message_of
from baremetal_sched.web.responses import JSON, json_response


def render(error: Exception, status: int, accept: str) -> Response:
    """The answer to ``error`` for a client with this Accept header.

    One that says nothing gets HTML: the SDK sends an empty header with uploads and changes, and shows no plain text.
    Quotation marks stay as they are: it does not undo their escapes.
    """
    title = {413: "Request Entity Too Large"}.get(status) or HTTPStatus(status).phrase
    headline = f"{status} {title}"
    form = form_of_errors(accept) if accept.strip() else HTML
    if form == HTML:
        page = (
            f"<html>\n <head>\n  <title>{headline}</title>\n </head>\n <body>\n  <h1>{headline}</h1>\n"
            f"  {html.escape(_message(error), quote=False)}<br /><br />\n\n\n\n </body>\n</html>"
        )
        return Response(page, headline, content_type=f"{HTML}; charset=UTF-8")
    if form == JSON:
        response = json_response({"message": _message(error), "code": headline, "title": title})
        response.status = headline
        return response
    return Response(f"{headline}\n\n{_message(error)}\n\n", headline, content_type="text/plain; charset=UTF-8")


def _message(error: Exception) -> str:
    if isinstance(error, PathNotFound):
        return "The resource could not be found."
    if isinstance(error, MethodNotAllowed):
        return f"The method {error.details['method']} is not allowed for this resource."
    return message_of(error)


class ImageApi(Api):
    """The image API (Glance v2, without image data)."""

    name = "image"
    is_of_projects = True
    routes = ROUTES
    call = ImageCall
    rules = policies.RULES
    statuses = {TooManyOfAnImage: 413}

    def failure(self, call: Call, error: Exception) -> Response:
        segments = call.http.path.split("/")
        if (
            isinstance(error, HttpError)
            and error.status == BodyTooLarge.status
            and segments[-1] == "file"
            and len(segments) == 5
        ):
            # However many bytes they are: the server itself refuses very many.
            error = ImageDataRefused(image=segments[3])
        response = super().failure(call, error)
        if response.status_code == 415 and call.http.method == "PATCH":
            response.headers["Accept-Patch"] = ", ".join(sorted(MEDIA_TYPES))
        return response

    def error_body(self, call: Call, error: Exception, status: int) -> Response:
        return render(error, status, call.http.headers.get("Accept", ""))
