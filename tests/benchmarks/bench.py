"""A run of a benchmark: worlds come and go, measurements stay."""

import argparse
import json
import logging
import os
import platform
import shutil
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from rich.console import Console

from tests.benchmarks import servers
from tests.benchmarks.cases import Case
from tests.benchmarks.measuring import Row, Timing, measure
from tests.benchmarks.report import table
from tests.benchmarks.servers import Client, Server
from tests.benchmarks.stores import DEFAULT_URLS, MARIADB_DRIVERS, Store
from tests.originals import CACHE


class Bench(ABC):
    """One API of ours beside the original's. ``rows`` is what was measured so far."""

    #: Of the command.
    name: ClassVar[str]
    #: The folder of the original's virtual environment: the name, unless it is another benchmark's too.
    environment: ClassVar[str] = ""
    #: What pip installs the original by.
    original: ClassVar[str]

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options = options
        self.folder = folder
        self.rows: list[Row] = []
        self.stores: list[Store] = []
        self.us, self.theirs = self.store("us"), self.store("original")
        self.python = None
        if not options.us_alone:
            self.python = servers.install(self.original, options.venv or CACHE / (self.environment or self.name))
        self.console = Console(stderr=True)

    def store(self, name: str) -> Store:
        """A database of this benchmark's own."""
        url = self.options.url or DEFAULT_URLS[self.options.database]
        database, driver = self.options.database, self.options.driver
        self.stores.append(Store(database, url, f"bench_{self.name}_{name}", self.folder, driver))
        return self.stores[-1]

    @abstractmethod
    def run(self) -> None:
        """Everything that the options ask for."""

    @abstractmethod
    def seed_ours(self, store: Store, world: Any) -> None:
        """Write the world into a database of ours, which has its schema."""

    @abstractmethod
    def serve_ours(self, store: Store) -> Server:
        """Our service over a database, not started yet."""

    @abstractmethod
    def seed_original(self, world: Any, python: Path) -> None:
        """Make the schema of the original in its database, which is empty, and write the world into it."""

    @abstractmethod
    def serve_original(self, python: Path) -> Server:
        """The original, not started yet."""

    def measure(self, name: str, case: Case, clients: dict[str, Client], *, again: bool = False) -> list[Row]:
        """Measure one case, if the options want it; returns its rows. ``again``: twice, and the second time counts."""
        if not any(self.options.only in title for title in case.titles):
            return []
        rows = measure(name, case, clients, quick=self.options.quick, again=again)
        for row in rows:
            times = ", ".join(f"{side} {timing.median:.1f} ms" for side, timing in row.timings.items())
            self.console.print(f"  {row.title}: {times}", *row.notes, sep="\n    ", highlight=False, markup=False)
        self.rows += rows
        return rows

    def measure_all(self, name: str, world: Any, cases: Iterable[Case]) -> None:
        """Measure cases over a world."""
        with self.serving(name, world, alone=self.python is None) as clients:
            for case in cases:
                self.measure(name, case, clients)

    @contextmanager
    def serving(self, name: str, world: Any, *, alone: bool) -> Iterator[dict[str, Client]]:
        """The world in the databases, and who serves it."""
        self.console.print(name, style="bold")
        started = [self.ours(self.us, world)]
        python = self.python
        if not alone and python is not None:
            self.theirs.create()
            self.timed("seeding the original", lambda: self.seed_original(world, python))
            started.append(self.serve_original(python))
        with ExitStack() as stack:
            yield {server.name: stack.enter_context(server).client for server in started}

    def ours(self, store: Store, world: Any) -> Server:
        """Our service over a database that holds this world and nothing else, not started yet."""
        store.create()
        servers.make_schema_of_ours(store)
        self.timed("seeding us", lambda: self.seed_ours(store, world))
        return self.serve_ours(store)

    def timed(self, what: str, work: Callable[[], None]) -> None:
        """Do ``work`` and say how long it took."""
        started = time.monotonic()
        work()
        self.console.print(f"  {what}: {time.monotonic() - started:.1f} s", highlight=False)

    def grown(self, row: Row, before: Timing | None, limit: float, what: str = "when small") -> None:
        """Make ``row`` one that tells by how much it is slower than ``what``, ``limit`` times at most."""
        row.target, row.growth = (None if self.options.quick else limit), True
        now = row.timings.get("us")
        if now and before:
            row.ratio, row.ratio_of_best = now.median / before.median, now.best / before.best
            row.notes.append(f"{before.median:.1f} ms {what}")

    def document(self) -> dict[str, Any]:
        """Everything, for a machine to read."""
        return {
            "database": f"{self.options.database} {self.us.version()}",
            "driver": self.us.url.drivername,
            "original": self.original,
            "python": platform.python_version(),
            "processors": os.cpu_count(),
            "unit": "ms",
            "rows": [row.document() for row in self.rows],
        }

    def drop(self) -> None:
        """Remove the databases."""
        for store in self.stores:
            store.drop()


def parser(name: str, about: str | None, sizes: str) -> argparse.ArgumentParser:
    """The options that all benchmarks have."""
    result = argparse.ArgumentParser(prog=f"python -m tests.benchmarks.{name}", description=about)
    result.add_argument("--database", choices=sorted(DEFAULT_URLS), default="mariadb")
    result.add_argument("--url", help="server on which databases are made; by default the local one")
    result.add_argument(
        "--driver", choices=MARIADB_DRIVERS, default=MARIADB_DRIVERS[0], help="both services' driver of MariaDB"
    )
    result.add_argument("--sizes", type=_sizes, default=sizes, help=f"nodes of the fleets; may be empty ({sizes})")
    result.add_argument("--only", default="", help="only cases with this in their title")
    result.add_argument("--us-alone", action="store_true", help="do not measure the original")
    result.add_argument("--quick", action="store_true", help="smoke run: small worlds, 3 repetitions")
    result.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    result.add_argument("--venv", type=Path, help=f"virtual environment of the original (in {CACHE})")
    result.add_argument("--keep", action="store_true", help="leave databases, settings and logs behind")
    return result


def _sizes(text: str) -> list[int]:
    return [int(size) for size in text.split(",") if size]


def run(kind: type[Bench], options: argparse.Namespace) -> int:
    """Run a benchmark and print the table; returns the exit status."""
    logging.getLogger("alembic").setLevel(logging.WARNING)
    folder = Path(tempfile.mkdtemp(prefix=f"{kind.name}-benchmark-"))
    bench = kind(options, folder)
    try:
        bench.run()
        if options.json:
            options.json.write_text(json.dumps(bench.document(), indent=2) + "\n")
    finally:
        if bench.rows:
            Console(width=None if sys.stdout.isatty() else 150).print(table(bench.rows))
        if options.keep:
            print("Kept:", *(store.name for store in bench.stores), "and", folder, file=sys.stderr)
        else:
            bench.drop()
            shutil.rmtree(folder)
    return 0
