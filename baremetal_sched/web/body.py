"""Request bodies: size, JSON, depth, and characters that no database column can hold."""

import json
from math import isfinite
from typing import Any, NoReturn

from flask import Request

from baremetal_sched.web.http_errors import BadRequest, BodyTooDeep, BodyTooLarge


def read(request: Request, limit: int) -> bytes:
    """Return the raw body. Raises BodyTooLarge, without reading on, if it has more than ``limit`` bytes."""
    if request.content_length is not None and request.content_length > limit:
        raise BodyTooLarge(limit=limit)
    raw = request.stream.read(limit + 1)
    if len(raw) > limit:
        raise BodyTooLarge(limit=limit)
    return raw


def parse_json(raw: bytes, max_depth: int) -> Any:
    """Return the JSON document in ``raw``.

    Raises ValueError with the parser's message if it is not valid JSON (other encodings than UTF-8 and numbers that are
    not finite are invalid, too), BodyTooDeep if it is nested deeper than ``max_depth``, BadRequest if a string has a
    character that cannot be stored.
    """
    try:
        document = json.loads(raw.decode(), parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise BodyTooDeep(limit=max_depth) from None
    except ValueError as error:
        if type(error) is ValueError and "digits" in str(error):  # Python's message is advice for programmers
            raise ValueError("a number has too many digits") from None
        raise
    # What is wrong with a text has to be escaped in JSON, and each level has a bracket of its own.
    if b"\\u" in raw or raw.count(b"{") + raw.count(b"[") > max_depth:
        _check(document, max_depth)
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError("a number is out of range")
    return number


def _check(document: Any, max_depth: int) -> None:
    level, depth = [document], 0
    while level:
        below: list[Any] = []
        for value in level:
            if isinstance(value, str):
                check_text(value)
            elif isinstance(value, dict):
                below.extend(value.keys())
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
        depth += any(isinstance(value, dict | list) for value in level)
        if depth > max_depth:
            raise BodyTooDeep(limit=max_depth)
        level = below


def check_text(text: str) -> None:
    """Raise BadRequest if ``text`` holds a NUL or half a surrogate pair."""
    if "\x00" in text:
        raise BadRequest(message="Text must not contain the character NUL.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadRequest(message="Text must not contain unpaired surrogates.") from None
