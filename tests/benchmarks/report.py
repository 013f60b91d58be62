"""The measurements, as a table for people."""

from rich.console import Group
from rich.table import Table
from rich.text import Text

from tests.benchmarks.measuring import Row

_STYLES = {True: "green", False: "red", None: ""}


def table(rows: list[Row]) -> Group:
    """The table, and the notes below it."""
    result = Table("world", "case", title="Milliseconds")
    for heading in ("us median", "p99", "original median", "p99", "ratio", "of best", "target"):
        result.add_column(heading, justify="right")
    result.add_column("met")
    notes: list[Text] = []
    for before, row in zip([None, *rows], rows, strict=False):
        same_world = before is not None and before.world == row.world
        if before is not None and not same_world:
            result.add_section()
        mark = ""
        if row.notes:
            if not (before is not None and before.notes == row.notes):
                notes.append(Text(f"[{len(notes) + 1}] " + "; ".join(row.notes)))
            mark = f" [{len(notes)}]"
        result.add_row("" if same_world else row.world, Text(row.title + mark), *_numbers(row), style=_STYLES[row.met])
    return Group(result, *notes)


def _numbers(row: Row) -> list[str]:
    numbers = []
    for side in ("us", "original"):
        timing = row.timings.get(side)
        numbers += [f"{timing.median:.1f}", f"{timing.p99:.1f}"] if timing else ["-", "-"]
    ratios = ["-" if ratio is None else f"{ratio:.1f}x" for ratio in (row.ratio, row.ratio_of_best)]
    target = "-" if row.target is None else f"{'<=' if row.growth else ''}{row.target:g}x"
    return [*numbers, *ratios, target, {True: "yes", False: "no", None: ""}[row.met]]
