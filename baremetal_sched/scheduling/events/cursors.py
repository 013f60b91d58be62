"""Cursors: which events of which stream a reader has seen."""

from dataclasses import dataclass

from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import InvalidValue

_MOST = 2**63 - 1


@dataclass(frozen=True)
class Cursor:
    """All events of ``stream`` (a UUID) up to ``number`` have been read."""

    stream: str
    number: int

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        """Return the cursor that ``str`` wrote: ``<UUID of the stream>:<number>``. Raises InvalidValue."""
        stream, _, number = text.partition(":")
        uuid = canonical_uuid(stream)
        if uuid is None or not (number.isascii() and number.isdigit()) or len(number) > 19 or int(number) > _MOST:
            raise InvalidValue(message=f"{text!r} is no cursor. Take one from an answer, or begin with after=now.")
        return cls(uuid, int(number))

    def __str__(self) -> str:
        return f"{self.stream}:{self.number}"
