"""Every ``openstack baremetal`` command of the installed client, once, against ``serve``: a table of what came of it.

``python -m tests.clients.commands`` prints the table, as Markdown, and fails if a command does anything else than
``commands.txt`` says, or is not in there.
"""

import json
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from tests.clients.suites.run import fork_openstack, hurry, load_openstack, wait_for_conductors
from tests.processes import serve

STORY = Path(__file__).with_suffix(".txt")
_CHILD = {"uuid": "22222222-0000-4000-8000-000000000002", "parent_node": "22222222-0000-4000-8000-000000000001"}
FLEET = {
    "nodes": [
        {"name": "gold-1-child", "driver": "fake-hardware", **_CHILD},
        {"name": "adopted", "driver": "fake-hardware"},
    ]
}


@dataclass(frozen=True)
class Line:
    """A line of the story: ``name`` is given to what it prints; ``words`` are in that, or in why it is refused."""

    command: str
    words: str
    refused: bool
    name: str

    @classmethod
    def parse(cls, text: str) -> "Line":
        """Read ``[name <-] command [=> words | =! words]``."""
        name, arrow, rest = text.rpartition(" <- ")
        command, refusal, words = rest.partition(" =! ")
        if not refusal:
            command, _, words = rest.partition(" => ")
        return cls(command.strip(), words.strip(), bool(refusal), name.strip() if arrow else "")


@dataclass(frozen=True)
class Result:
    """The result of a line."""

    line: Line
    status: int
    printed: str
    complaint: str

    @property
    def is_right(self) -> bool:
        """Is it what the line says?"""
        said = self.complaint if self.line.refused else self.printed
        return (self.status != 0) == self.line.refused and self.line.words in said

    @property
    def row(self) -> str:
        """A row of the table."""
        if not self.is_right:
            verdict = f"**wrong**: status {self.status}, {_short(self.complaint or self.printed)}"
        elif self.line.refused:
            verdict = f"refused, as by Ironic: {_short(self.complaint)}"
        else:
            verdict = f"done: {_short(self.line.words or self.printed or 'nothing to print')}"
        return f"| `{self.line.command.replace('|', chr(92) + '|')}` | {verdict} |"


def _short(text: str) -> str:
    line = " ".join(text.split()).partition(" (HTTP")[0].replace("|", "\\|")
    return line if len(line) <= 100 else f"{line[:99]}…"


def story() -> list[Line]:
    """The lines of ``commands.txt``."""
    return [Line.parse(line) for line in STORY.read_text().splitlines() if line and not line.startswith("#")]


def released() -> set[str]:
    """The commands that the client has, without the word baremetal."""
    names = (entry.name for entry in entry_points(group="openstack.baremetal.v1"))
    return {" ".join(name.removeprefix("baremetal_").split("_")) for name in names}


def tell(url: str, folder: Path) -> Iterator[Result]:
    """Run the story against the bare metal API at ``url``."""
    (folder / "fleet.json").write_text(json.dumps(FLEET))
    options = ["--os-auth-type", "none", "--os-endpoint", url, "baremetal"]
    names = {"folder": str(folder)}
    _, names["conductor"], _ = fork_openstack([*options, *["conductor", "list", "-f", "value", "-c", "hostname"]])
    for line in story():
        command = line.command
        for name, value in names.items():
            command = command.replace(f"{{{name}}}", value.split("\n")[0])
        status, printed, complaint = fork_openstack([*options, *shlex.split(command)])
        wait_for_conductors(url)
        if line.name:
            names[line.name] = printed
        yield Result(line, status, printed, complaint)


def main() -> int:
    """Tell the story, print the table; 1 if something is wrong."""
    hurry()
    load_openstack()
    # What the service prints at its end is not a part of the table.
    with redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as name, serve(Path(name)) as (_, url):
        results = list(tell(f"{url}/baremetal", Path(name)))
    missing = {name for name in released() if not any(f"{line.command} ".startswith(f"{name} ") for line in story())}
    print("| command | result |\n|---|---|", *(result.row for result in results), sep="\n")
    wrong = [result for result in results if not result.is_right]
    print(f"\n{len(results)} lines, {len(released())} commands; wrong: {len(wrong)}, missing: {sorted(missing) or 0}")
    return 1 if wrong or missing else 0


if __name__ == "__main__":
    sys.exit(main())
