"""What a client accepts: its Accept header, read as Placement reads it."""

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
    """The header that counts: that of JSON for a client that does not care."""
    header = given.strip()
    return JSON if header in ("", "*/*") else header


def takes_json(header: str) -> bool:
    """May a document be sent to a client with this header (as of ``header_of``)?"""
    return _quality(header, JSON) > 0


def form_of_errors(header: str) -> str | None:
    """HTML or JSON, whichever the client likes better, HTML if it likes both as much; None if it likes neither."""
    page, document = _quality(header, HTML), _quality(header, JSON)
    if page and page >= document:
        return HTML
    return JSON if document else None


@lru_cache(maxsize=200)
def _quality(header: str, media_type: str) -> float:
    if not _WELL_FORMED.fullmatch(header):
        return 1.0  # a malformed header says nothing, so everything will do
    return parse_accept_header(header, MIMEAccept).quality(media_type)
