"""The Placement API, ours and the original's, side by side: ``python -m tests.benchmarks.placement``."""

import argparse
import json
import logging
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from tests.benchmarks import cases, seeding, servers
from tests.benchmarks.cases import Case
from tests.benchmarks.measuring import Row, measure
from tests.benchmarks.report import table
from tests.benchmarks.servers import Client
from tests.benchmarks.stores import DEFAULT_URLS, Store
from tests.benchmarks.worlds import Fleet, Numa, Sharing, World

MILLION = 1_000_000
SMALL = 1_000
GROWTH = 1.5
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "baremetal-sched"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.placement", description=__doc__)
    parser.add_argument("--database", choices=sorted(DEFAULT_URLS), default="mariadb")
    parser.add_argument("--url", help="server on which two databases are made; by default the local one")
    parser.add_argument("--sizes", default="1000,10000,50000", help="nodes of the flat fleets; may be empty")
    parser.add_argument("--trees", type=int, default=1000, help="trees, and hosts with shared disks; 0 for none")
    parser.add_argument("--million", action="store_true", help=f"growth: us alone with {MILLION:,} nodes")
    parser.add_argument("--only", default="", help="only cases with this in their title")
    parser.add_argument("--us-alone", action="store_true", help="do not measure the original")
    parser.add_argument("--quick", action="store_true", help="smoke run: 200 nodes, 20 trees, 3 repetitions")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    parser.add_argument("--venv", type=Path, default=_CACHE / "benchmarks" / "original", help="venv of the original")
    parser.add_argument("--keep", action="store_true", help="leave databases, settings and logs behind")
    chosen = parser.parse_args()
    chosen.sizes = [int(size) for size in chosen.sizes.split(",") if size]
    if chosen.quick:
        chosen.sizes, chosen.trees = [200], 20
    return chosen


class Bench:
    """Worlds come and go; what is measured stays in ``rows``."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options = options
        self.folder = folder
        self.rows: list[Row] = []
        url = options.url or DEFAULT_URLS[options.database]
        self.us = Store(options.database, url, "bench_us", folder)
        self.original = Store(options.database, url, "bench_original", folder)
        self.python = None if options.us_alone else servers.install_original(options.venv)
        self.console = Console(stderr=True)

    def run(self) -> None:
        for size in self.options.sizes:
            fleet = Fleet(size)
            self._measure(f"{size:,} nodes", fleet, cases.of_fleet(fleet))
        if self.options.trees:
            self._measure(f"{self.options.trees:,} trees", Numa(self.options.trees), cases.of_numa())
            self._measure(f"{self.options.trees:,} hosts", Sharing(self.options.trees), cases.of_sharing())
        if self.options.million:
            self._growth(5 * self.options.sizes[0] if self.options.quick else MILLION)

    def drop(self) -> None:
        for store in (self.us, self.original):
            store.drop()

    def _measure(self, name: str, world: World, wanted: Iterable[Case]) -> None:
        with self._serving(name, world, alone=self.python is None) as clients:
            for case in wanted:
                self._case(name, case, clients)

    def _case(self, name: str, case: Case, clients: dict[str, Client]) -> list[Row]:
        if not any(self.options.only in title for title in case.titles):
            return []
        rows = measure(name, case, clients, quick=self.options.quick)
        for row in rows:
            times = ", ".join(f"{side} {timing.median:.1f} ms" for side, timing in row.timings.items())
            self.console.print(f"  {row.title}: {times}", *row.notes, sep="\n    ", highlight=False, markup=False)
        self.rows += rows
        return rows

    def _growth(self, nodes: int) -> None:
        """limit=1 with a million nodes against a thousand; then again when all but one of a thousand are taken."""
        small = min(SMALL, nodes // 5)
        with self._serving(f"{small:,} nodes, us alone", Fleet(small), alone=True) as clients:
            (base,) = measure("", cases.limit_one(), clients, quick=self.options.quick)
        fleet = Fleet(nodes)
        with self._serving(f"{nodes:,} nodes, us alone", fleet, alone=True) as clients:
            self._grown(f"{nodes:,} nodes", base, clients)
            self._timed("taking more", lambda: seeding.take_more_of_ours(self.us, fleet, 0.999))
            self._grown(f"{nodes:,}, 99.9 % taken", base, clients)

    def _grown(self, name: str, base: Row, clients: dict[str, Client]) -> None:
        for row in self._case(name, cases.limit_one(), clients):
            row.target, row.growth = (None if self.options.quick else GROWTH), True
            if row.timings and base.timings:
                small, grown = base.timings["us"], row.timings["us"]
                row.ratio, row.ratio_of_best = grown.median / small.median, grown.best / small.best
                row.notes.append(f"{small.median:.1f} ms when small")

    @contextmanager
    def _serving(self, name: str, world: World, *, alone: bool) -> Iterator[dict[str, Client]]:
        """The world in the database, and who serves it."""
        self.console.print(name, style="bold")
        self.us.create()
        seeding.make_schema_of_ours(self.us)
        self._timed("seeding us", lambda: seeding.seed_ours(self.us, world))
        started = {"us": servers.ours(self.us, self.folder)}
        if not alone and self.python is not None:
            self.original.create()
            servers.make_schema_of_original(self.original, self.folder, self.python)
            self._timed("seeding the original", lambda: seeding.seed_original(self.original, world))
            started["original"] = servers.original(self.original, self.folder, self.python)
        with ExitStack() as stack:
            yield {side: stack.enter_context(server).client for side, server in started.items()}

    def _timed(self, what: str, work: Callable[[], None]) -> None:
        started = time.monotonic()
        work()
        self.console.print(f"  {what}: {time.monotonic() - started:.1f} s", highlight=False)

    def document(self) -> dict[str, Any]:
        """Everything, for a machine to read."""
        return {
            "database": f"{self.options.database} {self.us.version()}",
            "original": servers.ORIGINAL,
            "python": platform.python_version(),
            "processors": os.cpu_count(),
            "unit": "ms",
            "rows": [row.document() for row in self.rows],
        }


def main() -> int:
    options = arguments()
    logging.getLogger("alembic").setLevel(logging.WARNING)
    folder = Path(tempfile.mkdtemp(prefix="placement-benchmark-"))
    bench = Bench(options, folder)
    try:
        bench.run()
        if options.json:
            options.json.write_text(json.dumps(bench.document(), indent=2) + "\n")
    finally:
        if bench.rows:
            Console(width=None if sys.stdout.isatty() else 150).print(table(bench.rows))
        if options.keep:
            print(f"Kept: bench_us, bench_original and {folder}", file=sys.stderr)
        else:
            bench.drop()
            shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
