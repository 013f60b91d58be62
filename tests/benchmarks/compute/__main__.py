"""Booting, beside a client of the original Placement; servers beside nodes: ``python -m tests.benchmarks.compute``."""

import argparse
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from tests.benchmarks import bench, servers
from tests.benchmarks.baremetal import seeding
from tests.benchmarks.baremetal.fleet import Fleet
from tests.benchmarks.compute import cases
from tests.benchmarks.compute.booting import CLIENTS, Boot, Original, Ours, Round, anyone, boot_all, first
from tests.benchmarks.compute.fleet import FreeFleet, Providers
from tests.benchmarks.measuring import Row, Timing
from tests.benchmarks.placement import original
from tests.benchmarks.placement import seeding as placement_seeding
from tests.benchmarks.servers import Client, Failed, Server
from tests.benchmarks.stores import Store

WORKERS = 2
ROUNDS = 10
#: Of the servers that we boot, each kind of client of the original boots one of so many: it would take too long.
SHARE = 5
#: Which candidate clients of the original take.
ANY = "any candidate"
CHOICES = {"the first candidate": first, ANY: anyone}
#: How many times as many servers as the original's clients we want to boot in the same time, on machines all free.
TARGET = 15
#: How many times as long as nodes servers may take to be shown.
BESIDE_NODES = 2
HEADERS = {"OpenStack-API-Version": "compute 2.100", "X-OpenStack-Ironic-API-Version": "1.115"}
PLACEMENT_HEADERS = {"OpenStack-API-Version": "placement 1.36", "X-Auth-Token": "admin"}


def arguments() -> argparse.Namespace:
    parser = bench.parser("compute", __doc__, sizes="10000")
    parser.add_argument("--servers", type=int, default=1000, help="how many are booted, in ten rounds")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.sizes, chosen.servers = [1000], 40
    return chosen


class ComputeBench(bench.Bench):
    name = "compute"
    original = original.REQUIREMENT
    environment = "placement"

    def run(self) -> None:
        for size in self.options.sizes:
            self._measure(f"{size:,} nodes, all free", FreeFleet(size), [ANY], TARGET)
            self._measure(f"{size:,} nodes, 80 % taken", Fleet(size), [*CHOICES])

    def _measure(self, name: str, fleet: Fleet, choices: list[str], target: float | None = None) -> None:
        with self.serving(name, fleet, alone=self.python is None) as clients:
            self._boot(name, fleet, clients, choices, target)
            us = {"us": clients["us"]}
            for case in cases.beside_nodes(clients["us"]):
                for row, nodes in pairwise(self.measure(name, case, us)):
                    self.grown(row, nodes.timings.get("us"), BESIDE_NODES, "for nodes")

    def _boot(
        self, name: str, fleet: Fleet, clients: dict[str, Client], choices: list[str], target: float | None
    ) -> None:
        """Boot the servers in rounds, in turn with the original's clients, each of which boots fewer."""
        ours = Ours(clients["us"], fleet)
        boots: dict[str, tuple[Boot, Client]] = {"us": (ours, clients["us"])}
        if "original" in clients:
            boots |= {how: (Original(fleet, CHOICES[how]), clients["original"]) for how in choices}
        rounds: dict[str, list[Round]] = {side: [] for side in boots}
        notes: list[str] = []
        count = self.options.servers
        for number in range(ROUNDS):
            numbers = range(count * number // ROUNDS, count * (number + 1) // ROUNDS)
            for side in [*rounds]:
                wanted = numbers if side == "us" else numbers[: max(CLIENTS, len(numbers) // SHARE)]
                try:
                    rounds[side].append(boot_all(*boots[side], wanted))
                except Failed as error:
                    notes.append(f"{side}: {error}")
                    del rounds[side]
        notes += ours.findings(clients["us"], count)
        for side, done in rounds.items():
            booted, conflicts = sum(len(each.waits) for each in done), sum(each.conflicts for each in done)
            notes.append(f"{side}: {booted} booted, {conflicts} conflicts")
        for how in [side for side in rounds if side != "us"] or [""]:
            self._enter(
                Row(name, f"boot, each of {count:,}", None if self.options.quick else target, notes=notes), how, rounds
            )

    def _enter(self, each: Row, how: str, rounds: dict[str, list[Round]]) -> None:
        """Enter two rows: what a server takes when all are booted together, and how long its client waits."""
        beside = f", beside {how}" if how else ""
        each.title += beside
        waits = Row(each.world, f"boot, what a client waits{beside}", notes=each.notes)
        for side, done in (("us", rounds.get("us")), ("original", rounds.get(how))):
            if done:
                each.timings[side] = Timing.of([one.seconds for one in done])
                waits.timings[side] = Timing.of([wait for one in done for wait in one.waits])
        for row in (each, waits):
            if len(row.timings) == 2:
                us, theirs = row.timings["us"], row.timings["original"]
                row.ratio, row.ratio_of_best = theirs.median / us.median, theirs.best / us.best
            times = ", ".join(f"{side} {timing.median:.1f} ms" for side, timing in row.timings.items())
            self.console.print(f"  {row.title}: {times}", *row.notes, sep="\n    ", highlight=False, markup=False)
        self.rows += [each, waits]

    def seed_ours(self, store: Store, world: Fleet) -> None:
        seeding.seed_ours(store, world)

    def serve_ours(self, store: Store) -> Server:
        """No conductor runs: the servers stay as they are when their machines are claimed."""
        ours = servers.ours(store, self.folder, "", HEADERS)
        limit = {"OS_CONDUCTOR__MAX_CONCURRENT_DEPLOY": str(10 * self.options.servers)}
        return replace(ours, environment=ours.environment | limit, workers=WORKERS)

    def seed_original(self, world: Fleet, python: Path) -> None:
        original.make_schema(self.theirs, self.folder, python)
        placement_seeding.seed_original(self.theirs, Providers(world))

    def serve_original(self, python: Path) -> Server:
        theirs = original.server(self.theirs, self.folder, python, PLACEMENT_HEADERS)
        return replace(theirs, workers=WORKERS)


if __name__ == "__main__":
    sys.exit(bench.run(ComputeBench, arguments()))
