"""How answers are shown: cells and tables for people, documents for programs."""

import argparse
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cliff.columns import FormattableColumn

from baremetal_sched.members import Members

#: A document of the API.
Document = dict[str, Any]
#: Titles and rows, or names and values.
Table = tuple[Any, Iterable[Any]]

#: How wide a text in a cell of a table is, so that tables fit into 100 columns.
_WIDTH = 78

#: Where a command begins: at the begin of a line, perhaps indented, or behind the sentence that it ends.
_COMMAND = re.compile(r"(?:^|(?<=: ))\W*(?:openstack|baremetal-sched) ")


def plain(value: Any) -> str:
    """Return the text of a value for one line of a terminal: what cannot be printed is shown by its code."""
    if value is None:
        return ""
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in str(value))


def lines(texts: Iterable[str]) -> str:
    """Return texts as the lines of one cell."""
    return "\n".join(texts)


def wrapped(text: str, width: int = _WIDTH) -> str:
    """Return the lines of a cell, by default none too wide for a table of 100 columns.

    A command is never broken, so that it can be pasted: one that does not fit behind its sentence is on its own line.
    """
    return lines(part for line in text.split("\n") for part in _fitting(line, width))


def _fitting(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    command = _COMMAND.search(line)
    end = command.start() if command else len(line)
    parts = textwrap.wrap(line[:end], width, break_long_words=False, break_on_hyphens=False)
    return [*parts, line[end:]] if command else parts


class TextColumn(FormattableColumn[Any]):
    """A text, in which nothing that a terminal would obey is left."""

    def human_readable(self) -> str:
        return plain(self._value)


class TimeColumn(FormattableColumn[str | None]):
    """A time of the API, to the second, with its zone: a command takes it as it is shown."""

    def human_readable(self) -> str:
        return re.sub(r"\.\d+", "", self._value or "").replace("+00:00", "Z")


class NarrowColumn(TextColumn):
    """A text in lines of at most ``width`` characters."""

    def __init__(self, value: Any, width: int) -> None:
        super().__init__(value)
        self._width = width

    def human_readable(self) -> str:
        return lines(textwrap.wrap(super().human_readable(), self._width))


class SentenceColumn(TextColumn):
    """A long text."""

    def human_readable(self) -> str:
        return wrapped(super().human_readable())


class ResultColumn(TextColumn):
    """What became of something whose UUID and node are in the same row."""

    def human_readable(self) -> str:
        return wrapped(super().human_readable(), _WIDTH // 2)


class CountsColumn(FormattableColumn[Mapping[str, int]]):
    """How many there are of each: the most frequent first."""

    def human_readable(self) -> str:
        ordered = sorted(self._value.items(), key=lambda pair: (-pair[1], pair[0]))
        return lines(f"{count} {plain(name)}" for name, count in ordered)


class DomainsColumn(FormattableColumn[Mapping[str, str]]):
    """The domains of a machine: a line for each level."""

    def human_readable(self) -> str:
        return lines(f"{plain(level)} {plain(name)}" for level, name in self._value.items())

    def machine_readable(self) -> dict[str, str]:
        return dict(self._value)


class HeldColumn(FormattableColumn[list[dict[str, Any]]]):
    """How many machines have a hold of each type, and when the last of these ends: a line for each type."""

    def human_readable(self) -> str:
        return lines(f"{held['nodes']} {plain(held['type'])}{self._until(held['until'])}" for held in self._value)

    @staticmethod
    def _until(moment: str | None) -> str:
        return "" if moment is None else f" until {moment[:16].replace('T', ' ')} UTC"


class AttemptsColumn(FormattableColumn[list[Document]]):
    """Attempts to deliver events, a line each."""

    def human_readable(self) -> str:
        return lines(wrapped(plain(self._words(each))) for each in self._value)

    @staticmethod
    def _words(attempt: Document) -> str:
        said = attempt["error"] or f"It answered {attempt['status']}."
        return f"{attempt['time']} ({attempt['duration']:g} s) event {attempt['event']}: {said}"


class ListColumn(FormattableColumn[list[str]]):
    """Names, one after the other."""

    def human_readable(self) -> str:
        return ", ".join(plain(each) for each in self._value)


class LinesColumn(ListColumn):
    """Names, a line each."""

    def human_readable(self) -> str:
        return lines(map(plain, self._value))


_CELLS = {"string": TextColumn, "time": TimeColumn}


class NestedColumn(FormattableColumn[Any]):
    """Names and values within each other, a line each."""

    def human_readable(self) -> str:
        return wrapped(lines(_nested(self._value)))


def _nested(value: Any) -> list[str]:
    pairs = value.items() if isinstance(value, Mapping) else [("-", each) for each in value]
    texts = []
    for name, each in pairs:
        if isinstance(each, (dict, list)):
            texts += [f"{plain(name)}:" if name != "-" else "-", *(f"  {line}" for line in _nested(each))]
        else:
            texts.append(f"{plain(name)} {plain(each)}" if name == "-" else f"{plain(name)}: {plain(each)}")
    return texts


def row(members: Members, document: Document) -> tuple[Any, ...]:
    """Return the cells of a document in a list, under the titles of its columns."""
    cells = ((document[name], _CELLS.get(members.types[name])) for name in members.columns)
    return tuple(value if cell is None else cell(value) for value, cell in cells)


def shown(document: Document, **more: Any) -> Table:
    """Return the names and values of a document's members, except its links, and more."""
    members = {name: value for name, value in document.items() if name != "links"} | more
    return tuple(members), tuple(map(_cell, members.values()))


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        return NestedColumn(value)
    return SentenceColumn(value) if isinstance(value, str) else value


def without_none(value: Any) -> Any:
    """Return a cell of a table, or a row of them, in which nothing stands for None."""
    return tuple(map(without_none, value)) if isinstance(value, tuple) else "" if value is None else value


def is_table(parsed_args: argparse.Namespace) -> bool:
    """Return whether the output is a table for people, of columns that the command chooses."""
    return parsed_args.formatter == "table" and not parsed_args.columns


def chosen(
    parsed_args: argparse.Namespace, titles: Sequence[str], rows: Iterable[Sequence[Any]], table: Iterable[str]
) -> tuple[Sequence[str], list[Sequence[Any]]]:
    """Return titles and rows: in a table without ``--long`` only the columns ``table``, which fit into 100 columns."""
    if not is_table(parsed_args) or parsed_args.long:
        return titles, list(rows)
    places = [titles.index(title) for title in table]
    return [titles[place] for place in places], [[row[place] for place in places] for row in rows]


def add_long(parser: argparse.ArgumentParser) -> None:
    """Add ``--long`` to a command whose table is ``chosen``."""
    parser.add_argument("--long", action="store_true", help="Show all columns in the table; documents have them.")
