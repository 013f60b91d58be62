"""JSON documents as such: how deep they are."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy.exc import DontWrapMixin

from baremetal_sched.errors import InvalidValue

#: Most levels of a stored document, whatever made it: what goes out is written by orjson, which takes 254 of all.
MAX_DEPTH = 100


class DocumentTooDeep(InvalidValue, DontWrapMixin):
    """A document that could be stored, and could not be shown."""

    template = "The document would be nested too deeply: at most {limit} levels are accepted."


def depth(document: Any) -> int:
    """How many objects and arrays are within each other: 0 for a number, 1 for ``{}``, 2 for ``[{}]``."""
    return sum(1 for _ in _levels(document))


def require_depth(document: Any, limit: int = MAX_DEPTH) -> None:
    """Raise DocumentTooDeep if the document has more than ``limit`` levels."""
    for level, _ in enumerate(_levels(document), start=1):
        if level > limit:
            raise DocumentTooDeep(limit=limit)


def _levels(document: Any) -> Iterator[list[Any]]:
    """The objects and arrays of a document, level by level."""
    level = [document] if isinstance(document, dict | list) else []
    while level:
        yield level
        level = [
            value
            for container in level
            for value in (container.values() if isinstance(container, dict) else container)
            if isinstance(value, dict | list)
        ]
