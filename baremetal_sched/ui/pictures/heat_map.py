"""A heat map: how many machines of all are free, by two things that tell them apart."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from baremetal_sched.ui.pictures.markup import compact, element, image, shortened

#: The number of rows and columns that are shown, the ones with the most machines.
MOST_ROWS = 30
MOST_COLUMNS = 12

#: Steps of the colour scale: nothing is free, up to a quarter, up to half, up to three quarters, more.
LEVELS = ("none free", "up to 25 %", "up to 50 %", "up to 75 %", "more")

_CELL_WIDTH, _CELL_HEIGHT = 92, 36
_LABEL_WIDTH, _HEADER_HEIGHT = 170, 40
_LEGEND_HEIGHT, _LEGEND_ENTRY = 34, 104
_LABEL, _HEADER = 20, 12


@dataclass(frozen=True)
class Cell:
    """How many machines there are, and how many of them are free."""

    free: int
    total: int

    @property
    def level(self) -> int:
        """The step of the colour scale, from 0."""
        return min(-(-self.free * 4 // self.total), 4) if self.total else 0


@dataclass(frozen=True)
class Grid:
    """The cells by row and column that are shown, and how many rows and columns are not."""

    rows: list[str]
    columns: list[str]
    cells: Mapping[tuple[str, str], Cell]
    more_rows: int = 0
    more_columns: int = 0

    @property
    def left_out(self) -> str | None:
        """A sentence about what is not shown; None if everything is."""
        parts = [_more(self.more_rows, "row"), _more(self.more_columns, "column")]
        said = " and ".join(part for part in parts if part)
        return f"{said} with fewer machines are not shown." if said else None


def _more(number: int, noun: str) -> str:
    return f"{number} more {noun}{'' if number == 1 else 's'}" if number else ""


def grid(cells: Mapping[tuple[str, str], Cell]) -> Grid:
    """Return what of ``cells``, by row and column, is shown: the largest rows and columns, sorted by name."""
    rows: Counter[str] = Counter()
    columns: Counter[str] = Counter()
    for (row, column), cell in cells.items():
        rows[row] += cell.total
        columns[column] += cell.total
    shown_rows = sorted(sorted(rows, key=lambda name: (-rows[name], name))[:MOST_ROWS])
    shown_columns = sorted(sorted(columns, key=lambda name: (-columns[name], name))[:MOST_COLUMNS])
    return Grid(shown_rows, shown_columns, cells, len(rows) - len(shown_rows), len(columns) - len(shown_columns))


def heat_map(ident: str, title: str, shown: Grid) -> Markup:
    """Return the picture of the grid: a cell has the numbers of the free and of all machines, and a colour."""
    width = max(_LABEL_WIDTH + _CELL_WIDTH * len(shown.columns), _LEGEND_ENTRY * len(LEVELS))
    body = _HEADER_HEIGHT + _CELL_HEIGHT * len(shown.rows)
    drawn = [
        _label(column, _HEADER, "column-label", _LABEL_WIDTH + _CELL_WIDTH * (place + 0.5), _HEADER_HEIGHT - 14)
        for place, column in enumerate(shown.columns)
    ]
    for line, row in enumerate(shown.rows):
        top = _HEADER_HEIGHT + _CELL_HEIGHT * line
        drawn.append(_label(row, _LABEL, "row-label", _LABEL_WIDTH - 10, top + _CELL_HEIGHT / 2 + 5))
        for place, column in enumerate(shown.columns):
            cell = shown.cells.get((row, column), Cell(0, 0))
            drawn.append(_cell(row, column, cell, _LABEL_WIDTH + _CELL_WIDTH * place, top))
    drawn += _legend(body + 10)
    return image(ident, title, _description(shown), width, body + _LEGEND_HEIGHT, *drawn)


def _label(name: str, most: int, class_: str, x: float, y: float) -> Markup:
    text = shortened(name, most)
    children = [text] if text == name else [element("title", name), text]
    return element("text", *children, class_=class_, x=x, y=y)


def _cell(row: str, column: str, cell: Cell, left: int, top: int) -> Markup:
    level = f"heat-{cell.level}" if cell.total else "heat-empty"
    box = element("rect", class_=level, x=left + 1, y=top + 1, width=_CELL_WIDTH - 2, height=_CELL_HEIGHT - 2, rx=3)
    if not cell.total:
        return box
    numbers = element(
        "text",
        f"{compact(cell.free)} / {compact(cell.total)}",
        class_=f"cell-label on-{level}",
        x=left + _CELL_WIDTH / 2,
        y=top + _CELL_HEIGHT / 2 + 5,
    )
    said = element("title", f"{row}, {column}: {cell.free} free of {cell.total}")
    return element("g", said, box, numbers)


def _legend(top: int) -> list[Markup]:
    drawn = []
    for level, text in enumerate(LEVELS):
        left = _LEGEND_ENTRY * level
        drawn.append(element("rect", class_=f"heat-{level}", x=left + 1, y=top, width=16, height=16, rx=3))
        drawn.append(element("text", text, class_="legend", x=left + 22, y=top + 13))
    return drawn


def _description(shown: Grid) -> str:
    free = sum(cell.free for cell in shown.cells.values())
    total = sum(cell.total for cell in shown.cells.values())
    size = f"{len(shown.rows)} rows and {len(shown.columns)} columns, {free} of {total} machines free."
    return " ".join(
        filter(None, (size, "Each cell has the free and all machines; the table has the same.", shown.left_out))
    )


_WIDTH, _HEIGHT = 160, 14


def bar(part: int, whole: int, *, alone: int = 0) -> Markup:
    """Return a bar that is as long as ``part`` of ``whole``; ``alone``, of the part, is a second bar within it.

    It is hidden from screen readers, which read the numbers in the same row of the table. What is more than nothing is
    seen, however small.
    """
    return element(
        "svg",
        element("rect", class_="bar-ground", width=_WIDTH, height=_HEIGHT, rx=2),
        element("rect", class_="bar", width=_length(part, whole), height=_HEIGHT, rx=2),
        element("rect", class_="bar-alone", y=_HEIGHT - 5, width=_length(min(alone, part), whole), height=5),
        xmlns="http://www.w3.org/2000/svg",
        class_="bar-picture",
        aria_hidden="true",
        focusable="false",
        width=_WIDTH,
        height=_HEIGHT,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
    )


def _length(part: int, whole: int) -> float:
    if part <= 0 or whole <= 0:
        return 0.0
    return max(1.0, min(part / whole, 1.0) * _WIDTH)
