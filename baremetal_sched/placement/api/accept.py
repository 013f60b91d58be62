"""The Accept header of a client, interpreted as Placement does."""

import re
from functools import lru_cache

from werkzeug.datastructures import MIMEAccept
from werkzeug.http import parse_accept_header

HTML = "text/html"
JSON = "application/json"

_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = r'"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"'
_PART = rf"[ \t]*;[ \t]*{_WORD}=(?:{_WORD}|{_QUOTED})"
_QUALITY = r"[ \t]*;[ \t]*[qQ]=(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)"
_EXTENSION = rf"[ \t]*;[ \t]*{_WORD}(?:=(?:{_WORD}|{_QUOTED}))?"
_RANGE = rf"{_WORD}/{_WORD}(?:(?![ \t]*;[ \t]*[qQ]=){_PART})*(?:{_QUALITY}(?:{_EXTENSION})*)?"
_WELL_FORMED = re.compile(rf"(?:{_RANGE})?(?:[ \t]*,(?:[ \t]*{_RANGE})?)*")


def header_of(given: str) -> str:
    """Return the effective header: JSON for a client without a preference."""
    header = given.strip()
    return JSON if header in ("", "*/*") else header


def takes_json(header: str) -> bool:
    """Return whether a client with this header (as of ``header_of``) accepts JSON."""
    return _quality(header, JSON) > 0


def form_of_errors(header: str) -> str | None:
    """Return the client's preferred type among HTML and JSON, HTML if it has no preference; None if it accepts
    neither."""
    page, document = _quality(header, HTML), _quality(header, JSON)
    if page and page >= document:
        return HTML
    return JSON if document else None


@lru_cache(maxsize=200)
def _quality(header: str, media_type: str) -> float:
    if not _WELL_FORMED.fullmatch(header):
        return 1.0  # a malformed header is ignored, so everything is accepted
    return parse_accept_header(header, MIMEAccept).quality(media_type)
