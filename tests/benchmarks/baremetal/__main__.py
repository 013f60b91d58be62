"""The bare metal API, ours and the original's, side by side: ``python -m tests.benchmarks.baremetal``."""

import argparse
import sys
from pathlib import Path

from tests.benchmarks import bench, servers
from tests.benchmarks.baremetal import cases, original, seeding
from tests.benchmarks.baremetal.fleet import Fleet
from tests.benchmarks.measuring import Row
from tests.benchmarks.servers import Server
from tests.benchmarks.stores import Store

SMALL = 1_000
LARGE = 100_000
#: A page takes at most so many times what it takes in a small fleet.
GROWTH = 1.3
FEW = 10
HEADERS = {"X-OpenStack-Ironic-API-Version": "1.115"}


def arguments() -> argparse.Namespace:
    parser = bench.parser("baremetal", __doc__, sizes="1000,10000")
    parser.add_argument("--grown", type=int, default=LARGE, help="nodes of the large fleet, us alone; 0 for none")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.sizes, chosen.grown = [1100], 2200
    return chosen


class BaremetalBench(bench.Bench):
    name = "baremetal"
    original = original.REQUIREMENT

    def run(self) -> None:
        for size in self.options.sizes:
            fleet = Fleet(size)
            self.measure_all(f"{size:,} nodes", fleet, cases.of_fleet(fleet))
        if self.options.grown:
            self._growth(self.options.grown)

    def _growth(self, nodes: int) -> None:
        """Pages, and the search by traits, in a small fleet, in one of ten times the size, and in a large one."""
        small = min(SMALL, nodes // 2)
        before = self._alone(Fleet(small), [])
        for size in sorted({min(10 * small, nodes), nodes}):
            self._alone(Fleet(size), before)

    def _alone(self, fleet: Fleet, before: list[Row]) -> list[Row]:
        """The rows of a fleet that only we serve; ``before`` are those of the small one."""
        name = f"{fleet.nodes:,} nodes, us alone"
        with self.serving(name, fleet, alone=True) as clients:
            first = [row for case in cases.pages() for row in self.measure(name, case, clients)]
            last = [row for case in cases.pages(fleet) for row in self.measure(name, case, clients)] if before else []
            few = self.measure(name, cases.by_traits(FEW), clients)
            self.measure(name, cases.by_traits(cases.PAGE), clients)
        for rows in (first + few, last):
            for row, small in zip(rows, before, strict=False):
                self.grown(row, small.timings.get("us"), GROWTH)
        return first + few

    def seed_ours(self, store: Store, world: Fleet) -> None:
        seeding.seed_ours(store, world)

    def serve_ours(self, store: Store) -> Server:
        return servers.ours(store, self.folder, "/baremetal", HEADERS)

    def seed_original(self, world: Fleet, python: Path) -> None:
        original.make_schema(self.theirs, self.folder, python)
        seeding.seed_original(self.theirs, world)

    def serve_original(self, python: Path) -> Server:
        return original.server(self.theirs, self.folder, python, HEADERS)


if __name__ == "__main__":
    sys.exit(bench.run(BaremetalBench, arguments()))
