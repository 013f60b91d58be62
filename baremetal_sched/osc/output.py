"""How answers are shown: texts for people, the API's own documents for programs; and the exit status."""

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

from cliff.columns import FormattableColumn

#: The exit status if nothing fits; 1 is an error, 2 a mistake in the command line.
NOTHING_FITS = 3


def plain(value: Any) -> str:
    """Return the text of a value for one line of a terminal: what cannot be printed is shown by its code."""
    if value is None:
        return ""
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in str(value))


def lines(texts: Iterable[str]) -> str:
    """Return texts as the lines of one cell."""
    return "\n".join(texts)


class TextColumn(FormattableColumn[Any]):
    """A text, in which nothing that a terminal would obey is left."""

    def human_readable(self) -> str:
        return plain(self._value)


class CountsColumn(FormattableColumn[Mapping[str, int]]):
    """How many there are of each: the most frequent first."""

    def human_readable(self) -> str:
        ordered = sorted(self._value.items(), key=lambda pair: (-pair[1], pair[0]))
        return lines(f"{count} {plain(name)}" for name, count in ordered)


class ListColumn(FormattableColumn[list[str]]):
    """Names, one after the other."""

    def human_readable(self) -> str:
        return ", ".join(plain(each) for each in self._value)


class FitsOrNot:
    """A command whose exit status is 0 if something fits (``fits``), and NOTHING_FITS otherwise."""

    fits = True

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command, and return its exit status."""
        status: int = super().run(parsed_args)  # type: ignore[misc]
        return status or (0 if self.fits else NOTHING_FITS)
