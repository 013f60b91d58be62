"""Seconds of a processor that pages take, beside those of another version: ``python -m tests.benchmarks.pages_beside``.

    python -m tests.benchmarks.pages_beside ../before

The other version is a checkout. Each version has a database of its own (SQLite, within the process, so that its work
counts), filled by its own benchmark of pages, and answers each page in turn, in one process without a server. Pages
that took more than ``--above`` milliseconds must take at most 0.7 times as long as before, all others at most 1.1
times.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

import click

from tests.benchmarks.pages import PAGES

#: The most times as long as before that pages may take: the ones that were slow, and the others.
MOST_OF_SLOW, MOST = 0.7, 1.1
#: Pages whose time depends on a search that is not the pages' own.
EXEMPT = ("/find", "/capacity?traits")

#: Runs in a checkout, so it must work with each version: answers paths of stdin with seconds.
_PROBE = """
import json, sys, time
from pathlib import Path
from tests.benchmarks import pages
from tests.benchmarks.explanations import fill
from tests.benchmarks.stores import DEFAULT_URLS, Store

nodes, folder = int(sys.argv[1]), Path(sys.argv[2])
store = Store("sqlite", DEFAULT_URLS["sqlite"], "pages", folder)
out, sys.stdout = sys.stdout, sys.stderr
if nodes:
    fill(store, nodes, 10)
    pages.fill_more(store)

import structlog
from webtest import TestApp
from baremetal_sched.app import create_app
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
settings = {"api": {"auth_strategy": "none"}, "scheduling": {"explain_time_limit": 0}}
app = TestApp(create_app({**settings, "database": {"connection": store.url_of()}}))
print("ready", file=out, flush=True)
for line in sys.stdin:
    began = time.process_time()
    answer = app.get("/ui" + line.strip())
    taken = time.process_time() - began
    assert answer.status_int in (200, 303), answer
    print(json.dumps(taken), file=out, flush=True)
"""


class Version:
    """A checkout that answers pages in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]", asked: TextIO, answers: TextIO) -> None:
        self._process, self._asked, self._answers = process, asked, answers
        answers.readline()

    def milliseconds(self, path: str) -> float:
        """Return how long a processor worked on the page."""
        print(path, file=self._asked, flush=True)
        return 1000 * float(json.loads(self._answers.readline()))


@contextmanager
def version(checkout: Path, nodes: int, folder: Path) -> Iterator[Version]:
    """Fill a database, and answer pages from it; with 0 nodes the database of ``folder`` is used as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", _PROBE, str(nodes), str(folder.absolute())]
    environment = os.environ | {"PYTHONPATH": str(checkout.absolute())}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=checkout, env=environment, text=True, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Version(process, process.stdin, process.stdout)
        process.stdin.close()


def verdict(path: str, before: float, after: float, above: float) -> str:
    """Return the line of a page."""
    most = MOST_OF_SLOW if before > above else MOST
    missed = after > most * before and not path.startswith(EXEMPT)
    return f"  {path[:60]:60} {before:9.1f} {after:9.1f} {after / before:6.2f}" + (f"  limit {most}: missed" * missed)


@click.command(help=__doc__)
@click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--nodes", default=50_000, show_default=True)
@click.option("--times", default=7, show_default=True, help="How often each page is asked for.")
@click.option("--above", default=300.0, show_default=True, help="Milliseconds above which a page was slow.")
@click.option("--only", default="", help="Only pages whose address begins so.")
@click.option("--folder", type=click.Path(file_okay=False, path_type=Path), help="For the databases, which are kept.")
@click.option("--kept", is_flag=True, help="Measure the databases that are in --folder.")
def main(checkout: Path, nodes: int, times: int, above: float, only: str, folder: Path | None, kept: bool) -> None:
    here = Path(__file__).parents[2]
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        own = folder or Path(name)
        both = [
            stack.enter_context(version(each, 0 if kept else nodes, own / title))
            for title, each in (("before", checkout), ("after", here))
        ]
        print(f"  {'milliseconds of a processor, the best':60} {'before':>9} {'after':>9}  ratio", flush=True)
        missed = 0
        for path in PAGES:
            if not path.startswith(only):
                continue
            taken: list[list[float]] = [[], []]
            for number in range(times + 1):
                for each, found in zip(both, taken, strict=True):
                    milliseconds = each.milliseconds(path)
                    if number:
                        found.append(milliseconds)
            line = verdict(path, min(taken[0]), min(taken[1]), above)
            missed += "missed" in line
            print(line, flush=True)
        print(f"{missed} pages missed their limits", flush=True)


if __name__ == "__main__":
    main()
