"""The cost of booting servers of server groups: ``python -m tests.benchmarks.server_groups``.

The fleet of ``several``: one class in racks of 200, of which nine tenths are taken, with ``[compute]
server_group_level=rack``. In this process, without HTTP: by policy the first member of a group, and the next one of a
group with a member in a rack of its own anywhere in the fleet, beside a server of no group. Sides take turns, in
rounds; a figure is the median of the rounds, in milliseconds of a processor of this process and of the database
server's for one boot. No conductor runs. The database is dropped afterwards.
"""

import cProfile
import pstats
import random
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import median

import click
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.compute import server_groups
from baremetal_sched.compute.server_groups import AFFINITY, ANTI_AFFINITY, SOFT_AFFINITY, SOFT_ANTI_AFFINITY
from baremetal_sched.compute.server_history import ServerRequester
from baremetal_sched.compute.servers import servers
from baremetal_sched.compute.servers.servers import NewServers
from baremetal_sched.db.models import DomainMember, Node
from baremetal_sched.placement.names import resource_class_of
from tests.benchmarks.compute.booting import ZEROS
from tests.benchmarks.explained_fleet import CLASSES, seed
from tests.benchmarks.servers import make_schema_of_ours
from tests.benchmarks.several import ROUNDS, Bench, MostlyTaken, add_domains
from tests.benchmarks.stores import DEFAULT_URLS, MARIADB_DRIVERS, Store

REQUESTER = ServerRequester("p", "u", "req-bench")
FLAVOR = {
    "id": "f1", "name": "metal", "vcpus": 64, "ram": 262_144, "disk": 960, "ephemeral": 0, "swap": 0,
    "extra_specs": {f"resources:{resource_class_of(CLASSES[0])}": "1", **ZEROS},
}  # fmt: skip
IMAGE = {
    "id": "11111111-1111-4111-8111-111111111111", "name": "i1", "min_ram": 0, "min_disk": 0, "properties": {},
}  # fmt: skip

PLAIN = "a server of no group"
POLICIES = (AFFINITY, ANTI_AFFINITY, SOFT_AFFINITY, SOFT_ANTI_AFFINITY)
MOST = 2.0


class GroupBench(Bench):
    """Boots in this process."""

    def group(self, policy: str) -> str:
        """Return the UUID of a new server group."""

        def make(session: Session) -> str:
            return server_groups.create(session, "g", policy, project_id="p", user_id="u").uuid

        return self.database.write(make)

    def group_in_rack(self, policy: str, node: str) -> str:
        """Return the UUID of a new server group with a member on this node."""
        group = self.group(policy)
        self.boot(group, node)
        return group

    def free_nodes(self) -> list[str]:
        """Return a free node (its name) of each rack."""
        free = select(func.max(Node.name)).join(DomainMember, DomainMember.node_id == Node.id)
        free = free.where(Node.instance_uuid.is_(None), DomainMember.level == "rack").group_by(DomainMember.domain_id)
        return [*self.database.read(lambda session: session.scalars(free).all())]

    def boot(self, group: str | None, node: str | None = None) -> None:
        """Boot a server, as POST /servers does."""

        def create(session: Session) -> str:
            locked = None if group is None else server_groups.lock(session, group, "p")
            new = NewServers(name="s", flavor=FLAVOR, image=IMAGE, admin_password="secret", group=locked, node=node)
            (server,) = servers.create(MachineContext(session, self.settings), new, REQUESTER)
            return server.uuid

        uuid = self.database.write(create)
        placed = select(Node.id).where(Node.instance_uuid == uuid)
        assert self.database.read(lambda session: session.scalar(placed)) is not None, "the server has no machine"


def compare(bench: GroupBench, times: int, profiled: str | None) -> None:
    """Measure all sides, and print them; of the side ``profiled`` also where its time goes."""
    profile = cProfile.Profile()
    found: dict[str, list[float]] = {}

    def measure(side: str, groups: Sequence[str | None]) -> None:
        with profile if side == profiled else nullcontext():
            found.setdefault(side, []).append(bench.measured(bench.boot, groups))

    bench.boot(None)
    for _ in range(ROUNDS):
        measure(PLAIN, [None] * times)
        for policy in POLICIES:
            measure(f"{policy}, the first member", [bench.group(policy) for _ in range(times)])
            nodes = random.sample(bench.free_nodes(), times)
            measure(f"{policy}, the next member", [bench.group_in_rack(policy, node) for node in nodes])
    plain = median(found[PLAIN])
    for side, each in found.items():
        ratio = median(each) / plain
        verdict = "" if side == PLAIN else f"(at most {MOST}: {'met' if ratio <= MOST else 'missed'})"
        print(f"  {side:40} {median(each):9.2f}  {ratio:6.2f} times {verdict}", flush=True)
    if profiled is not None:
        pstats.Stats(profile).sort_stats("cumulative").print_stats(60)


@click.command(help=__doc__)
@click.option("--database", "kind", default="postgresql", type=click.Choice(list(DEFAULT_URLS)))
@click.option("--url", help="The server, without a database.")
@click.option("--driver", default=MARIADB_DRIVERS[0], type=click.Choice(MARIADB_DRIVERS), help="That of MariaDB.")
@click.option("--nodes", default=100_000)
@click.option("--times", default=20, help="How often each is done in each of the three rounds.")
@click.option("--profile", "profiled", help="Also print where the time of this side (its title) goes.")
def main(kind: str, url: str | None, driver: str, nodes: int, times: int, profiled: str | None) -> None:
    """Measure, and print a table."""
    with tempfile.TemporaryDirectory() as directory:
        store = Store(kind, url or DEFAULT_URLS[kind], "bench_server_groups", Path(directory), driver)
        store.create()
        try:
            make_schema_of_ours(store)
            seed(store, MostlyTaken(nodes, 5))
            add_domains(store, nodes)
            print(f"{store.version()}: {nodes} nodes", flush=True)
            compare(GroupBench(store, {"compute": {"server_group_level": "rack"}}), times, profiled)
        finally:
            store.drop()


if __name__ == "__main__":
    main()
