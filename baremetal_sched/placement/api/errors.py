"""Errors in the format of the Placement API: JSON, HTML or text, as the client prefers; codes from 1.23 on."""

import html
import json
import re
from collections.abc import Callable
from http import HTTPStatus

from flask import Response

from baremetal_sched.errors import InvalidError, NotAuthenticated, SchedulerError, TooManyConflicts
from baremetal_sched.errors.placement import (
    BadQueryValue,
    ConsumerConflict,
    DuplicateProvider,
    DuplicateQueryKey,
    GenerationConflict,
    InventoryExists,
    InventoryInUse,
    InventoryInUseOnDelete,
    MirrorsNode,
    MissingQueryValue,
    OneInventoryInUse,
    ProviderHasChildren,
    ProviderInUse,
    RaceLost,
    ReshapedProviderNotFound,
)
from baremetal_sched.masking import mask_text
from baremetal_sched.placement.api.accept import HTML, JSON
from baremetal_sched.web.http_errors import (
    MethodNotAllowed,
    MicroversionMalformed,
    MicroversionNotServed,
    PathNotFound,
)

CODES_SINCE = 23
UNDEFINED = "placement.undefined_code"

#: Codes of errors with a code of their own; all others are undefined.
CODES: dict[type[SchedulerError], str] = {
    BadQueryValue: "placement.query.bad_value",
    ConsumerConflict: "placement.concurrent_update",
    DuplicateProvider: "placement.duplicate_name",
    DuplicateQueryKey: "placement.query.duplicate_key",
    GenerationConflict: "placement.concurrent_update",
    InventoryExists: "placement.concurrent_update",
    InventoryInUse: "placement.inventory.inuse",
    InventoryInUseOnDelete: "placement.inventory.inuse",
    MirrorsNode: "placement.resource_provider.mirrors_node",
    MissingQueryValue: "placement.query.missing_value",
    OneInventoryInUse: "placement.concurrent_update",
    ProviderHasChildren: "placement.resource_provider.cannot_delete_parent",
    ProviderInUse: "placement.resource_provider.inuse",
    RaceLost: "placement.concurrent_update",
    ReshapedProviderNotFound: "placement.resource_provider.not_found",
}

#: Messages of this API for errors that all APIs share.
_MESSAGES: dict[type[SchedulerError], str] = {
    PathNotFound: "",
    MethodNotAllowed: "The method specified is not allowed for this resource.",
    MicroversionMalformed: "Invalid microversion: invalid version string: {given}",
    MicroversionNotServed: "Invalid microversion: Unacceptable version header: {given}",
}

#: Title, and text before the message, by status.
_EXPLANATIONS = {
    400: (
        "Bad Request",
        "The server could not comply with the request since it is either malformed or otherwise incorrect.",
    ),
    403: ("Forbidden", "Access was denied to this resource."),
    404: ("Not Found", "The resource could not be found."),
    405: ("Method Not Allowed", "The method {method} is not allowed for this resource. "),
    406: (
        "Not Acceptable",
        "The resource could not be generated that was acceptable to your browser\n(content of type {accept}. ",
    ),
    409: ("Conflict", "There was a conflict when trying to complete your request."),
    413: ("Request Entity Too Large", "The body of your request was too large for this server."),
    415: ("Unsupported Media Type", "The request media type {media_type} is not supported by this server.\n"),
    500: (
        "Internal Server Error",
        "The server has either erred or is incapable of performing the requested operation.",
    ),
    503: ("Service Unavailable", "The server is currently unavailable. Please try again at a later time."),
}

_TAG = re.compile(r"<[^>]*>")


class UnknownTraitInQuery(InvalidError):
    """A TraitNotFound caused by the client's query: 400 instead of 404."""


def race_lost(error: TooManyConflicts, path: str) -> RaceLost:
    """Return ``error`` in the form that clients of this API know, after which they read again and retry."""
    allocates = path.startswith(("/allocations", "/reshaper"))
    before = "Inventory and/or allocations changed while attempting to allocate: " if allocates else ""
    return RaceLost(message=f"{before}{error}")


def message_of(error: Exception) -> str:
    """Return the message itself."""
    if not isinstance(error, SchedulerError):
        return "An internal error occurred; the log says more."
    own_words = _MESSAGES.get(type(error))
    return mask_text(str(error)) if own_words is None else own_words.format(**error.details)


def render(
    error: Exception,
    status: int,
    *,
    request_id: str,
    version: int | None,
    method: str,
    accept: str,
    media_type: str,
    wants: str | None,
) -> Response:
    """Return the answer to ``error``. ``version`` is None if none was negotiated; ``wants`` is the client's preferred
    media type among those of errors, None if it accepts none."""
    title, explanation = _EXPLANATIONS.get(status) or _standard_explanation(status)
    return _respond(
        wants,
        f"{status} {title}",
        explanation.format(method=method, accept=accept, media_type=media_type),
        message_of(error),
        has_end=status not in (405, 406, 415),
        document=lambda detail: _document(error, status, title, detail, request_id, version),
    )


def _standard_explanation(status: int) -> tuple[str, str]:
    """Return title and text for statuses that Placement itself never answers, but its server does."""
    standard = HTTPStatus(status)
    return standard.phrase, f"{standard.description or standard.phrase}."


def unauthorized(error: NotAuthenticated, *, wants: str | None) -> Response:
    """Return the answer to a caller without credentials. Its JSON differs from that of other errors."""
    document: dict[str, object] = {"message": str(error), "code": "401 Unauthorized", "title": "Unauthorized"}
    return _respond(wants, "401 Unauthorized", str(error), "", has_end=True, document=lambda _: document)


def _respond(
    wants: str | None,
    headline: str,
    explanation: str,
    message: str,
    *,
    has_end: bool,
    document: Callable[[str], dict[str, object]],
) -> Response:
    """Return an error in the client's preferred form; ``document`` creates the JSON from the whole text."""
    if wants == HTML:
        end = "\n\n" if has_end else ""
        page = (
            f"<html>\n <head>\n  <title>{headline}</title>\n </head>\n <body>\n  <h1>{headline}</h1>\n"
            f"  {html.escape(explanation)}<br /><br />\n{html.escape(message)}{end}\n </body>\n</html>"
        )
        return Response(page, headline, content_type="text/html; charset=UTF-8")
    if wants == JSON:
        message = message.replace("\n", " ")
    text = explanation.replace("\n", " ") + f"\n\n {message}" + ("  " if has_end else "")
    detail = _TAG.sub("", text)
    if wants == JSON:
        return Response(json.dumps(document(detail)), headline, content_type=JSON)
    return Response(f"{headline}\n\n{detail}", headline, content_type="text/plain; charset=UTF-8")


def _document(
    error: Exception, status: int, title: str, detail: str, request_id: str, version: int | None
) -> dict[str, object]:
    item: dict[str, object] = {"status": status, "title": title, "detail": detail}
    if version is not None and version >= CODES_SINCE:
        item["code"] = CODES.get(type(error), UNDEFINED) if isinstance(error, SchedulerError) else UNDEFINED
    item["request_id"] = request_id
    if isinstance(error, MicroversionNotServed):
        item |= {"max_version": error.details["maximum"], "min_version": error.details["minimum"]}
    return {"errors": [item]}
