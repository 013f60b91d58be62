"""The demo's output on the terminal, and the count of passed and failed checks."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.status import Status
from rich.table import Table
from rich.text import Text


class Show:
    """Chapters, requests, checks and tables on a console. ``right`` and ``wrong`` count the checks."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._ascii = not console.encoding.lower().startswith("utf")
        self._chapters = 0
        self.right = 0
        self.wrong = 0

    def opening(self, text: str) -> None:
        """Announce the next steps."""
        self._console.print(Panel(Text(text), title="baremetal-sched demo", border_style="cyan"))

    def started(self, url: str, seconds: float) -> None:
        """Print that the service is ready."""
        self._console.print()
        self.check(f"The service is ready at {url} ({seconds:.1f} s)", True)

    def busy(self, text: str) -> Status:
        """Return a context manager that shows ``text`` on a terminal while it is active."""
        return self._console.status(text, spinner="line")

    def chapter(self, title: str) -> None:
        """Begin a new chapter."""
        self._chapters += 1
        self._console.print()
        self._console.print(Rule(Text(f"{self._chapters}  {title}", "bold cyan"), align="left", style="cyan"))

    def request(self, method: str, path: str) -> None:
        """Print a request that is about to be made. A query that is too long for the line is split by parameter."""
        line = Text.assemble((method, "bold"), " ", path, style="dim")
        path, _, query = path.partition("?")
        if query and line.cell_len > self._console.width - 2:
            parameters = "".join(f"\n    {'&' if i else '?'}{text}" for i, text in enumerate(query.split("&")))
            line = Text.assemble((method, "bold"), " ", path, parameters, style="dim")
        self._print(line)

    def check(self, said: str, right: bool, otherwise: str = "") -> bool:
        """Print and count one check: ``said`` if it is right, else ``otherwise``. Returns ``right``."""
        if right:
            self.right += 1
        else:
            self.wrong += 1
        text = said if right or not otherwise else f"{said}\nbut: {otherwise}"
        grid = Table.grid(padding=(0, 1))
        grid.add_row(self.mark(right), Text(text, "" if right else "bold red"))
        self._print(grid)
        return right

    def mark(self, right: bool) -> Text:
        """Return a tick or a cross."""
        tick, cross = ("ok", "WRONG") if self._ascii else ("✓", "✗")
        return Text(tick, "bold green") if right else Text(cross, "bold red")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
        """Print a table."""
        table = Table(*columns, box=box.SIMPLE_HEAD, padding=0, header_style="bold")
        for column in table.columns:
            column.overflow = "fold"
        for row in rows:
            table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
        self._print(table)

    def closing(self, failure: str | None = None) -> bool:
        """Print the result; ``failure`` is the reason for an early end. Return whether all checks passed."""
        good = failure is None and not self.wrong
        checks = self.right + self.wrong
        said = [f"All {checks} checks passed."] if good else []
        if failure:
            reason, _, details = failure.partition("\n")
            said.append(f"The demo could not continue: {reason}")
            if details:
                self.plain(f"\n{details}")
        if self.wrong:
            said.append(f"{self.wrong} of {checks} checks failed.")
        self._console.print()
        content = Text.assemble(self.mark(good), " ", "\n".join(said))
        self._console.print(Panel(content, border_style="green" if good else "red"))
        return good

    def plain(self, text: str) -> None:
        """Print text to be copied: unchanged and never wrapped."""
        self._console.print(Text(text), soft_wrap=True)

    def _print(self, content: RenderableType) -> None:
        self._console.print(Padding(content, (0, 0, 0, 2), expand=False))
