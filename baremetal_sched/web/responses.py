"""Responses: JSON, or nothing."""

from typing import Any

import orjson
from flask import Response

_OPTIONS = orjson.OPT_NON_STR_KEYS


def json_response(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """``document`` as JSON. It may contain ``orjson.Fragment`` for what is JSON already."""
    return Response(orjson.dumps(document, option=_OPTIONS), status, headers, content_type="application/json")


def empty_response(status: int = 204, headers: dict[str, str] | None = None) -> Response:
    """No body, and hence no content type."""
    response = Response(b"", status, headers)
    del response.headers["Content-Type"]
    return response
