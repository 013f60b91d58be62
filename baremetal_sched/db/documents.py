"""The nesting depth of JSON documents, and texts that no database can hold."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy.exc import DontWrapMixin

from baremetal_sched.errors import InvalidValue

#: Maximum nesting depth of a stored document: responses are written by orjson, which allows 254 levels in total.
MAX_DEPTH = 100


class DocumentTooDeep(InvalidValue, DontWrapMixin):
    """A document that could be stored, but not shown."""

    template = "The document would be nested too deeply: at most {limit} levels are accepted."


def text_fault(text: str) -> str | None:
    """Return what a text has that no column can hold; None if it can be stored."""
    if "\x00" in text:
        return "the character NUL"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "unpaired surrogates"
    return None


def fault_of(document: Any) -> str | None:
    """Return what the texts in a document have that no column can hold; None if they can be stored."""
    for container in (container for level in _levels([document]) for container in level):
        for value in (*container, *container.values()) if isinstance(container, dict) else container:
            if isinstance(value, str) and (fault := text_fault(value)):
                return fault
    return None


def depth(document: Any) -> int:
    """Return the nesting depth: 0 for a number, 1 for ``{}``, 2 for ``[{}]``."""
    return sum(1 for _ in _levels(document))


def require_depth(document: Any, limit: int = MAX_DEPTH) -> None:
    """Raise DocumentTooDeep if the document has more than ``limit`` levels."""
    for level, _ in enumerate(_levels(document), start=1):
        if level > limit:
            raise DocumentTooDeep(limit=limit)


def _levels(document: Any) -> Iterator[list[Any]]:
    """Yield the objects and arrays of a document, level by level."""
    level = [document] if isinstance(document, dict | list) else []
    while level:
        yield level
        level = [
            value
            for container in level
            for value in (container.values() if isinstance(container, dict) else container)
            if isinstance(value, dict | list)
        ]
