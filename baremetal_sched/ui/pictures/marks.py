"""The machines of a domain: a mark for each, in the colour of its state; of many, a bar of their numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from baremetal_sched.ui.pictures.drawing import draw

#: With more machines there is a bar instead of marks.
MOST_MARKS = 2000

#: The colours of the style sheet.
KINDS = ("free", "allocated", "held", "failed", "other")

#: The distance from a mark to the next one, and the size of a mark.
_PITCH, _SIZE = 12, 10
#: Marks in a row: of few, and of many machines.
_SHORT, _LONG = 25, 50
_BAR_WIDTH, _BAR_HEIGHT = 300, 24


@dataclass(frozen=True)
class MarkGroup:
    """Machines in the same state: one of KINDS, the word for it, and how many."""

    kind: str
    word: str
    number: int


def marks(ident: str, title: str, groups: Sequence[MarkGroup]) -> Markup:
    """Return the picture of the machines of ``groups``, in this order. ``title`` is its name for screen readers."""
    total = sum(each.number for each in groups)
    said = [(each, f"{each.word}: {each.number}") for each in groups if each.number]
    values = {"ident": ident, "title": title, "description": f"{', '.join(text for _, text in said) or 'No machines'}."}
    if total > MOST_MARKS:
        bars = list(_bars(said, total))
        return draw("marks_bar", bars=bars, width=_BAR_WIDTH, height=_BAR_HEIGHT, **values)
    columns = _SHORT if total <= _SHORT * 10 else _LONG
    rows = max(1, -(-total // columns))
    paths = list(_paths(said, columns))
    return draw("marks", paths=paths, width=columns * _PITCH, height=rows * _PITCH, size=_SIZE, **values)


def _paths(said: Sequence[tuple[MarkGroup, str]], columns: int) -> Iterator[tuple[str, str, str]]:
    """Yield kind, text and outline of each group: a dashed line for each row, in which a mark is a dash."""
    start = 0
    for group, text in said:
        lines, end = [], start + group.number
        while start < end:
            row, column = divmod(start, columns)
            number = min(end - start, columns - column)
            lines.append(f"M{column * _PITCH + 1} {row * _PITCH + _PITCH // 2}h{number * _PITCH - 2}")
            start += number
        yield group.kind, text, "".join(lines)


def _bars(said: Sequence[tuple[MarkGroup, str]], total: int) -> Iterator[tuple[str, str, float, float]]:
    """Yield kind, text, place and length of each group's part of the bar. However few machines it has, it is seen."""
    place = 0.0
    for group, text in said:
        length = max(2.0, (_BAR_WIDTH - 2.0 * len(said)) * group.number / total)
        yield group.kind, text, round(place, 2), round(min(length, _BAR_WIDTH - place), 2)
        place += length
