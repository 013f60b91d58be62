"""Responses with JSON or without a body."""

from functools import lru_cache
from typing import Any

import orjson
from flask import Response
from werkzeug.datastructures import MIMEAccept
from werkzeug.http import parse_accept_header

#: The media type of nearly all bodies.
JSON = "application/json"

_HTML = "text/html"
_OPTIONS = orjson.OPT_NON_STR_KEYS
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1


def json_response(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return ``document`` as JSON. It may contain ``orjson.Fragment`` for parts that are JSON already."""
    try:
        text = orjson.dumps(document, option=_OPTIONS)
    except TypeError:
        # JSON has integers of any size; orjson writes only 64-bit ones.
        text = orjson.dumps(_with_written_integers(document), option=_OPTIONS)
    return Response(text, status, headers, content_type=JSON)


def _with_written_integers(document: Any) -> Any:
    match document:
        case dict():
            return {key: _with_written_integers(value) for key, value in document.items()}
        case list() | tuple():
            return [_with_written_integers(value) for value in document]
        case int() if not _SMALLEST <= document <= _LARGEST:
            return orjson.Fragment(str(document))
        case _:
            return document


def empty_response(status: int = 204, headers: dict[str, str] | None = None) -> Response:
    """Return a response without a body, and hence without a content type."""
    response = Response(b"", status, headers)
    del response.headers["Content-Type"]
    return response


@lru_cache(maxsize=200)
def prefers_html(accept: str) -> bool:
    """Return whether a client with this Accept header would rather have a page than JSON, as browsers do."""
    return parse_accept_header(accept, MIMEAccept).best_match([JSON, _HTML]) == _HTML
