"""Errors in the format of the image API: HTML, JSON or text, as the client likes."""

import html
from http import HTTPStatus

from flask import Response

from baremetal_sched.placement.api.accept import HTML, form_of_errors
from baremetal_sched.web.http_errors import MethodNotAllowed, PathNotFound, message_of
from baremetal_sched.web.responses import JSON, json_response

_TITLES = {413: "Request Entity Too Large"}
_PATH_NOT_FOUND = "The resource could not be found."


def render(error: Exception, status: int, accept: str) -> Response:
    """The answer to ``error`` for a client with this Accept header.

    One that says nothing gets HTML: the SDK sends an empty header with uploads and changes, and shows no plain text.
    Quotation marks stay as they are: it does not undo their escapes.
    """
    title = _TITLES.get(status) or HTTPStatus(status).phrase
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
        return _PATH_NOT_FOUND
    if isinstance(error, MethodNotAllowed):
        return f"The method {error.details['method']} is not allowed for this resource."
    return message_of(error)
