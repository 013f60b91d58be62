"""/static/{name}: the style sheets of the pages, and their scripts: one keeps them up to date, one copies commands.
Nothing in them is secret."""

from functools import cache
from hashlib import sha256
from importlib.resources import files

from flask import Response

from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import PathNotFound

_CSS = "text/css; charset=utf-8"
_SCRIPT = "text/javascript; charset=utf-8"
#: The files, with their media types.
_FILES = {
    "ui.css": _CSS,
    "rows.css": _CSS,
    "pictures.css": _CSS,
    "icon.svg": "image/svg+xml",
    "live.js": _SCRIPT,
    "copy.js": _SCRIPT,
}


def show_asset(call: Call, session: None, name: str) -> Response:
    """GET /static/{name}. Raises PathNotFound."""
    call.refuse_query()
    if name not in _FILES:
        raise PathNotFound
    content, tag = _read(name)
    response = Response(content, content_type=_FILES[name])
    response.set_etag(tag)
    # It may change with the service: browsers ask whether it has.
    response.headers["Cache-Control"] = "no-cache"
    response.make_conditional(call.http)
    response.headers.pop("Date", None)  # the server adds it, and two of them are no date
    return response


@cache
def _read(name: str) -> tuple[bytes, str]:
    content = (files("baremetal_sched.ui") / "static" / name).read_bytes()
    return content, sha256(content).hexdigest()[:16]
