"""A request and its answer as text, the same in every run."""

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from uuid import NAMESPACE_URL, uuid5

#: Stands for what an example leaves out.
ELLIPSIS = "…"

_UUID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b")
#: A cursor with the mark of its last event, and the mark of one that no example shows.
_CURSOR, _MARK = re.compile(r"(\b[0-9a-f]{8}-[0-9a-f-]{27}:\d+:)([0-9a-f]{8})\b"), "5e0f3c1a"
_NIL = "00000000-0000-0000-0000-000000000000"
#: What differs from run to run, and what the examples have in its place.
_CONSTANTS = [
    (re.compile(r"\b20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d"), "2026-01-31T12:00:00"),
    (re.compile(r"(?<=T12:00:00)\.\d{6}"), ".000000"),
    (re.compile(r'(?<="adminPass": ")[^"]+'), "kT9vbhd3sLmQ"),
    (re.compile(r'(?<="agent_token": ")[^"]+'), "k0JrZ3uYx4gq1cT7wBvN9eLhMdSaPfRi"),
    (re.compile(r"whsec_[A-Za-z0-9+/=]+"), "whsec_b3duZXJzIG9mIG1hY2hpbmVzIHJlYWQgZXZlbnRzIQ=="),
    (re.compile(r"\br-[0-9a-z]{8}\b"), "r-4kq0x2mz"),
    (re.compile(r'(?<="duration_seconds": )\d+'), "0"),
    (re.compile(r'(?<="duration": )\d+(\.\d+)?'), "0.042"),
]


class Constants:
    """Replaces what differs from run to run: each UUID by another in order of appearance, each time by the same."""

    def __init__(self) -> None:
        self._uuids = {_NIL: _NIL}

    def replace(self, text: str) -> str:
        """Return ``text`` as it is in every run."""
        text = _UUID.sub(lambda found: self._constant(found[0]), text)
        text = _CURSOR.sub(lambda found: found[1] + self._mark(found[2]), text)
        for pattern, constant in _CONSTANTS:
            text = pattern.sub(constant, text)
        return text

    def _constant(self, uuid: str) -> str:
        number = len(self._uuids)
        return self._uuids.setdefault(uuid, str(uuid5(NAMESPACE_URL, f"example {number}")))

    def _mark(self, mark: str) -> str:
        return next((known[:8] for uuid, known in self._uuids.items() if uuid.startswith(mark)), _MARK)


def request_text(method: str, path: str, headers: Mapping[str, str], body: Any) -> str:
    """Return a request as it goes over the wire."""
    return _message(f"{method} {path} HTTP/1.1", headers, body)


def answer_text(status: int, headers: Mapping[str, str], body: Any) -> str:
    """Return an answer as it goes over the wire, with the headers that an example needs."""
    shown = {name: headers[name] for name in ("Content-Type", "Location") if name in headers}
    if body is None:
        shown.pop("Content-Type", None)
    return _message(f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", shown, body)


def shortened(document: Any, longest: int) -> Any:
    """Return ``document`` with at most ``longest`` entries of each list and object, and a mark where others were."""
    if isinstance(document, list):
        rows = [shortened(each, longest) for each in document[:longest]]
        return [*rows, ELLIPSIS] if len(document) > longest else rows
    if isinstance(document, dict):
        entries = {name: shortened(value, longest) for name, value in [*document.items()][:longest]}
        return {**entries, ELLIPSIS: ELLIPSIS} if len(document) > longest else entries
    return document


def _message(first: str, headers: Mapping[str, str], body: Any) -> str:
    lines = [first, *(f"{name}: {value}" for name, value in headers.items())]
    if body not in (None, ""):
        lines += ["", body if isinstance(body, str) else json.dumps(body, indent=2, ensure_ascii=False)]
    return "\n".join(lines) + "\n"
