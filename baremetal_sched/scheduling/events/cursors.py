"""Cursors: which events of which stream a reader has seen."""

import re
from dataclasses import dataclass

from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import InvalidValue

_MOST = 2**63 - 1
_DIGITS = 8
_MARK = re.compile(f"[0-9a-fA-F]{{{_DIGITS}}}")


def mark_of(uuid: str) -> str:
    """Return the mark of an event with this UUID: the first 8 hex digits."""
    return uuid[:_DIGITS]


@dataclass(frozen=True)
class Cursor:
    """All events of ``stream`` (a UUID) up to ``number`` have been read.

    ``mark`` is that of the event with this number. If a database loses transactions in a failover, another event gets
    the number, and the mark tells them apart. None: there was no such event, or the cursor was given without a mark.
    """

    stream: str
    number: int
    mark: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        """Return the cursor that ``str`` wrote: ``<UUID of the stream>:<number>``, or this and ``:<mark>``. Raises
        InvalidValue."""
        stream, number, *marks = text.split(":", 2) if ":" in text else (text, "")
        uuid = canonical_uuid(stream)
        is_number = number.isascii() and number.isdigit() and len(number) <= 19 and int(number) <= _MOST
        if uuid is None or not is_number or not all(_MARK.fullmatch(each) for each in marks):
            raise InvalidValue(message=f"{text!r} is no cursor. Take one from an answer, or begin with after=now.")
        return cls(uuid, int(number), marks[0].lower() if marks else None)

    def __str__(self) -> str:
        return ":".join(filter(None, (self.stream, str(self.number), self.mark)))
