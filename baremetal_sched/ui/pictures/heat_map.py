"""A heat map: how many machines of all are free, by two things that tell them apart."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from baremetal_sched.ui.pictures.drawing import draw

#: The number of rows and columns that are shown, the ones with the most machines.
MOST_ROWS = 30
MOST_COLUMNS = 12

#: Steps of the colour scale: nothing is free, up to a quarter, up to half, up to three quarters, more.
LEVELS = ("none free", "up to 25 %", "up to 50 %", "up to 75 %", "more")

_BAR_WIDTH = 160


Addresses = Callable[[str, str], str | None]


def _nowhere(row: str, column: str) -> None:
    """No cell is a link."""


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
        """A sentence about the rest, which is not shown; None if everything is."""
        phrases = [_more(self.more_rows, "row"), _more(self.more_columns, "column")]
        said = " and ".join(phrase for phrase in phrases if phrase)
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


def heat_map(ident: str, title: str, table: Grid, addresses: Addresses = _nowhere) -> Markup:
    """Return the picture of the grid: a cell has the numbers of the free and of all machines, and a colour.

    ``addresses`` returns where a cell leads, by its row and column, or None.
    """
    return draw(
        "heat_map",
        ident=ident,
        title=title,
        description=_description(table),
        width=max(170 + 92 * len(table.columns), 104 * len(LEVELS)),
        height=74 + 36 * len(table.rows),
        grid=table,
        levels=LEVELS,
        addresses=addresses,
        # Keyboards and screen readers do not reach the inside of an image.
        role="img" if addresses is _nowhere else "group",
    )


def _description(table: Grid) -> str:
    free = sum(cell.free for cell in table.cells.values())
    total = sum(cell.total for cell in table.cells.values())
    size = f"{len(table.rows)} rows and {len(table.columns)} columns, {free} of {total} machines free."
    return " ".join(
        filter(None, (size, "Each cell has the free and all machines; the table has the same.", table.left_out))
    )


def bar(part: int, whole: int, *, alone: int = 0) -> Markup:
    """Return a bar that is as long as ``part`` of ``whole``; ``alone``, of the part, is a second bar within it.

    Everything above zero is visible, however small.
    """
    return draw("bar", length=_length(part, whole), alone=_length(min(alone, part), whole))


def _length(part: int, whole: int) -> float:
    if part <= 0 or whole <= 0:
        return 0.0
    return max(1.0, min(part / whole, 1.0) * _BAR_WIDTH)
