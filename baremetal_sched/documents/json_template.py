"""JSON texts that differ in few places: written once, and filled many times.

An answer may have tens of thousands of documents that are alike. Writing each of them takes longer than filling in what
differs.
"""

import re
from operator import itemgetter
from secrets import token_hex
from typing import Any

import orjson

#: It is random and never shown, so that no document contains it.
_MARK = token_hex(16)
_PLACES = re.compile(rf'"{_MARK}value(\d+)"|{_MARK}part(\d+)')


def value(number: int) -> str:
    """Return the placeholder of a value or a key in the document of a template: ``fill`` gets its JSON."""
    return f"{_MARK}value{number}"


def part(number: int) -> str:
    """Return the placeholder of a part of a string: ``fill`` gets text that JSON does not escape, for example a
    UUID."""
    return f"{_MARK}part{number}"


class Template:
    """The JSON text of ``document``, which may have ``value`` and ``part`` in several places.

    Without ``braces`` it is the text of the members of an object.
    """

    def __init__(self, document: Any, *, braces: bool = True) -> None:
        text = orjson.dumps(document).decode()
        text = text if braces else text[1:-1]
        places = []
        self._pieces: list[str] = []
        last = 0
        for found in _PLACES.finditer(text):
            places.append(int(found[1] or found[2]))
            self._pieces += [text[last : found.start()], ""]
            last = found.end()
        self._pieces.append(text[last:])
        self._chosen = itemgetter(*places) if len(places) > 1 else lambda texts: [texts[place] for place in places]

    def fill(self, *texts: str) -> str:
        """Return the text with ``texts`` in their places, by number."""
        pieces = self._pieces.copy()
        pieces[1::2] = self._chosen(texts)
        return "".join(pieces)
