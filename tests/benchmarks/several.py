"""The cost of claims of several machines: ``python -m tests.benchmarks.several``.

A fleet of one class in racks of 200, and rows of 20 racks, of which nine tenths are taken. In this process, without
HTTP: a claim of 16 machines packed into one rack, and of 16 spread over racks, beside a claim of one; and a release
while 100 groups wait that it does not help, of one project and of 50, beside one while none waits. Sides take turns, in
rounds; a figure is the median, in milliseconds of a processor of this process and of the database server's. The
database is dropped afterwards.
"""

import tempfile
import uuid as uuid_module
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import process_time
from typing import TypeVar

import click
from sqlalchemy import delete, text

from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.db.models import WaitingRequest
from baremetal_sched.db.transaction import Database
from baremetal_sched.placement import allocations, waiting_requests
from baremetal_sched.scheduling import claims, handover
from baremetal_sched.scheduling.claims import NewClaim
from baremetal_sched.settings import load
from tests.benchmarks.explained_fleet import CLASSES, CONDITIONS, Fleet, Machine, seed
from tests.benchmarks.servers import make_schema_of_ours
from tests.benchmarks.stores import DEFAULT_URLS, MARIADB_DRIVERS, Store

T = TypeVar("T")

RACK, ROW = 200, 20
REQUEST = TreeRequest("resources=CUSTOM_METAL_0:1", served=False, version=39)
SIDES = {
    "a claim of one": None,
    "a claim of 16, packed in a rack": Several(16, pack_by="rack"),
    "a claim of 16, spread over racks": Several(16, spread_by="rack", at_most=1),
    "a claim of 16, two in a rack of one row": Several(16, spread_by="rack", at_most=2, pack_by="row"),
}
ROUNDS, GROUPS, PROJECTS = 3, 100, 50
#: The projects of the groups that wait during a release; None: that of callers who may use all machines.
WAITING: dict[str, Sequence[str | None]] = {
    "a release": [],
    "a release while 100 groups of one project wait": [None] * GROUPS,
    "a release while 100 groups of 50 projects wait": [f"p{number % PROJECTS}" for number in range(GROUPS)],
}


class MostlyTaken(Fleet):
    """A fleet of one class, of which each tenth node is free."""

    def machines(self) -> Iterator[Machine]:
        for each in super().machines():
            free = each.row_id % 10 == 0
            yield each._replace(
                resource_class=CLASSES[0],
                condition=CONDITIONS[-1] if free else CONDITIONS[0],
                instance=None
                if free
                else each.instance or str(uuid_module.uuid5(uuid_module.NAMESPACE_OID, each.uuid)),
            )


class Bench:
    """The service in this process, on a database. ``settings``: more of them, by group."""

    def __init__(self, store: Store, settings: Mapping[str, Mapping[str, object]] | None = None) -> None:
        own = {"database": {"connection": store.url_of()}, "scheduling": {"most_waiting": 10_000}}
        overrides = {**own, **(settings or {})}
        self.settings = load(overrides=overrides)
        self.database = Database(self.settings)
        handover.install(self.database, self.settings)
        self.kind = store.kind

    def processor(self) -> float:
        """Return the seconds of a processor of this process and of the database's."""
        if self.kind == "sqlite":
            return process_time()
        query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        if self.kind == "postgresql":
            found = self.database.select(lambda connection: connection.scalars(text(query)).all())
        else:
            names = ((path.parent.name, path.read_text().strip()) for path in Path("/proc").glob("[0-9]*/comm"))
            found = [int(pid) for pid, name in names if name in ("mariadbd", "mysqld")]
        return process_time() + sum(_seconds_of(pid) for pid in found)

    def new(self, several: Several | None, project: str | None = None) -> NewClaim:
        request = replace(REQUEST, project=project, several=several)
        return NewClaim(str(uuid_module.uuid4()), request, project or "p", "u", None, None, "digest")

    def claim(self, new: NewClaim) -> None:
        assert self.database.write(lambda session: claims.claim_now(session, new, self.settings) is not None)

    def give_back(self, uuid: str) -> None:
        def work(session):  # type: ignore[no-untyped-def]
            claims.withdraw(session, waiting_requests.find(session, uuid, lock=True))

        self.database.write(work)

    def release(self, uuid: str) -> None:
        """Release one machine, as DELETE /allocations/{consumer} does."""
        self.database.change(lambda connection: allocations.release(connection, uuid))

    def wait(self, project: str | None) -> None:
        new = self.new(Several(100, pack_by="rack"), project)
        self.database.write(lambda session: claims.wait(session, new, 3600, "Too few.", self.settings) and None)

    def forget(self) -> None:
        """Delete the groups that wait."""
        self.database.write(lambda session: session.execute(delete(WaitingRequest)) and None)

    def measured(self, work: Callable[[T], object], arguments: Sequence[T]) -> float:
        """Return the milliseconds of a processor of one of many."""
        before = self.processor()
        for each in arguments:
            work(each)
        return (self.processor() - before) * 1000 / len(arguments)


def _seconds_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def add_domains(store: Store, nodes: int) -> None:
    racks = -(-nodes // RACK)
    rows = -(-racks // ROW)
    for level, first, number in (("rack", 1, racks), ("row", racks + 1, rows)):
        values = ", ".join(
            f"({row_id}, '{uuid_module.uuid4()}', '{level}-{row_id}', '{level}', 1, '2026-01-01 00:00:00')"
            for row_id in range(first, first + number)
        )
        store.execute(f"INSERT INTO domains (id, uuid, name, level, revision, created_at) VALUES {values}")
        size = RACK if level == "rack" else RACK * ROW
        place = f"(n.id - 1) / {size}" if store.kind != "mariadb" else f"(n.id - 1) DIV {size}"
        store.execute(
            "INSERT INTO domain_members (node_id, level, domain_id, set_by) "
            f"SELECT n.id, '{level}', {first} + {place}, 'person' FROM nodes n"
        )
    store.execute("INSERT INTO aggregates (id, uuid, created_at) SELECT id, uuid, created_at FROM domains")
    store.execute(
        "INSERT INTO provider_aggregates (provider_id, aggregate_id) SELECT p.id, m.domain_id FROM domain_members m "
        "JOIN nodes n ON n.id = m.node_id JOIN resource_providers p ON p.uuid = n.uuid"
    )
    store.analyze()


@click.command(help=__doc__)
@click.option("--database", "kind", default="postgresql", type=click.Choice(list(DEFAULT_URLS)))
@click.option("--url", help="The server, without a database.")
@click.option("--driver", default=MARIADB_DRIVERS[0], type=click.Choice(MARIADB_DRIVERS), help="That of MariaDB.")
@click.option("--nodes", default=100_000)
@click.option("--times", default=30, help="How often each is done in each of the three rounds.")
def main(kind: str, url: str | None, driver: str, nodes: int, times: int) -> None:
    """Measure, and print a table."""
    with tempfile.TemporaryDirectory() as directory:
        store = Store(kind, url or DEFAULT_URLS[kind], "bench_several", Path(directory), driver)
        store.create()
        try:
            make_schema_of_ours(store)
            seed(store, MostlyTaken(nodes, 5))
            add_domains(store, nodes)
            print(f"{store.version()}: {nodes} nodes", flush=True)
            compare(Bench(store), times)
        finally:
            store.drop()


def compare(bench: Bench, times: int) -> None:
    """Measure all sides, and print them."""
    found: dict[str, list[float]] = {name: [] for name in SIDES}
    releases: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for name, several in SIDES.items():
            wanted = [bench.new(several) for _ in range(times)]
            found[name].append(bench.measured(bench.claim, wanted))
            for uuid in (each.uuid for each in wanted):
                bench.give_back(uuid)
    one = median(found["a claim of one"])
    for name, each in found.items():
        print(f"  {name:48} {median(each):8.2f}  {median(each) / one:5.2f} times", flush=True)
    for name, projects in WAITING.items():
        bench.forget()
        for project in projects:
            bench.wait(project)
        for _ in range(ROUNDS):
            singles = [bench.new(None) for _ in range(times)]
            for each in singles:
                bench.claim(each)
            releases.setdefault(name, []).append(bench.measured(bench.release, [each.uuid for each in singles]))
    without = median(releases["a release"])
    for name, each in releases.items():
        print(f"  {name:48} {median(each):8.2f}  {median(each) / without:5.2f} times", flush=True)


if __name__ == "__main__":
    main()
