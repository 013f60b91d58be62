"""The Placement API, ours and the original's, side by side: ``python -m tests.benchmarks.placement``."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from tests.benchmarks import bench, servers
from tests.benchmarks.placement import cases, original, seeding, single_cases
from tests.benchmarks.placement.worlds import Fleet, Numa, Sharing, Uneven, World, Zones
from tests.benchmarks.servers import Client, Server
from tests.benchmarks.stores import Store

MILLION = 1_000_000
SMALL = 1_000
GROWTH = 1.5
HEADERS = {"OpenStack-API-Version": "placement 1.36", "X-Auth-Token": "admin"}


def arguments() -> argparse.Namespace:
    parser = bench.parser("placement", __doc__, sizes="1000,10000,50000")
    parser.add_argument("--trees", type=int, default=1000, help="trees, and hosts with shared disks; 0 for none")
    parser.add_argument("--zoned", type=int, default=20_000, help="nodes in zones; 0 for none")
    parser.add_argument("--million", action="store_true", help=f"growth: us alone with {MILLION:,} nodes")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.sizes, chosen.trees, chosen.zoned = [200], 20, 200
    return chosen


class PlacementBench(bench.Bench):
    name = "placement"
    original = original.REQUIREMENT
    #: Processes of each side.
    workers = 1

    def run(self) -> None:
        for size in self.options.sizes:
            fleet = Fleet(size)
            self.measure_all(f"{size:,} nodes", fleet, cases.of_fleet(fleet))
        if self.options.trees:
            self.measure_all(f"{self.options.trees:,} trees", Numa(self.options.trees), cases.of_numa())
            self.measure_all(f"{self.options.trees:,} hosts", Sharing(self.options.trees), cases.of_sharing())
            self.measure_all(f"{self.options.trees:,} odd trees", Uneven(self.options.trees), cases.of_uneven())
        if self.options.zoned:
            zones, self.workers = Zones(self.options.zoned), 2
            self.measure_all(f"{self.options.zoned:,} nodes in zones", zones, single_cases.of_zones(zones))
        if self.options.million:
            self._growth(5 * self.options.sizes[0] if self.options.quick else MILLION)

    def _growth(self, nodes: int) -> None:
        """limit=1 with a million nodes against a thousand; then again when all but one of a thousand are taken.

        The two fleets take turns as we and the original do.
        """
        few = min(SMALL, nodes // 5)
        self.console.print(f"{nodes:,} nodes and {few:,}, us alone", style="bold")
        fleet = Fleet(nodes)
        small = replace(self.ours(self.store("small"), Fleet(few)), name="small")
        with self.ours(self.us, fleet) as large, small:
            clients = {server.name: server.client for server in (large, small)}
            self._grown(f"{nodes:,} nodes", clients)
            self.timed("taking more", lambda: seeding.take_more_of_ours(self.us, fleet, 0.999))
            self._grown(f"{nodes:,}, 99.9 % taken", clients)

    def _grown(self, name: str, clients: dict[str, Client]) -> None:
        for row in self.measure(name, cases.limit_one(), clients, again=True):
            self.grown(row, row.timings.get("small"), GROWTH)

    def seed_ours(self, store: Store, world: World) -> None:
        seeding.seed_ours(store, world)

    def serve_ours(self, store: Store) -> Server:
        return replace(servers.ours(store, self.folder, "/placement", HEADERS), workers=self.workers)

    def seed_original(self, world: World, python: Path) -> None:
        original.make_schema(self.theirs, self.folder, python)
        seeding.seed_original(self.theirs, world)

    def serve_original(self, python: Path) -> Server:
        return replace(original.server(self.theirs, self.folder, python, HEADERS), workers=self.workers)


if __name__ == "__main__":
    sys.exit(bench.run(PlacementBench, arguments()))
