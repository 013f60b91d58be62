"""The time of handing a machine over: ``python -m tests.benchmarks.pending_claims``.

On each database in turn: what 8 clients do in a second over HTTP, and when a client knows that it was given a machine.
Then, in this process and without HTTP: a release that hands the machine over beside a release and a claim one after the
other; and a release of a machine that 1,000 claims wait for and that it fits not, beside one that no claim waits for.
The two sides take turns; a figure is the median of the medians of five rounds. The databases are emptied.
"""

import logging
import random
import tempfile
import uuid as uuid_module
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, sleep

import click
import structlog
from sqlalchemy.orm import Session

from baremetal_sched import settings as settings_module
from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.db import schema
from baremetal_sched.db.transaction import Database
from baremetal_sched.drivers.enabled import EnabledDrivers, served_types
from baremetal_sched.placement import allocations
from baremetal_sched.placement.names import sync_standard_names
from baremetal_sched.scheduling import claims, handover
from baremetal_sched.scheduling.claims import NewClaim
from tests import enrolment
from tests.benchmarks.waiting import empty
from tests.processes import Client, serve

URLS = (
    "sqlite",
    "postgresql+psycopg://postgres@127.0.0.1/bench_pending",
    "mysql+mysqldb://root@127.0.0.1/bench_pending",
)

GOLD = TreeRequest("resources=CUSTOM_GOLD:1", served=False, version=39)
#: Of a class for which no claim waits.
SILVER = replace(GOLD, query="resources=CUSTOM_SILVER:1")
ROUNDS = 5
#: Claims that wait for the class, and that the machine does not fit.
CROWD = 1000
#: The conductor is only registered, and lives as long as the measurement takes.
NO_HEARTBEATS = {"heartbeat_timeout": 86_400}


class Bench:
    """A database with one machine, which is claimed, released and handed over again and again."""

    def __init__(self, url: str, fleet: int) -> None:
        overrides = {
            "database": {"connection": url},
            "scheduling": {"most_waiting": 10 * CROWD},
            "conductor": NO_HEARTBEATS,
        }
        self.settings = settings_module.load(overrides=overrides)
        self.database = Database(self.settings)
        schema.upgrade(self.database.engine)
        self.database.write(sync_standard_names)
        handover.install(self.database, self.settings)
        self.database.write(self._enter_conductor)
        for number in range(fleet):
            self._enrol(f"n{number}", "gold")
        self._enrol("silver", "silver")
        self.holders = [self.claim() for _ in range(fleet)]

    def _enter_conductor(self, session: Session) -> None:
        types = served_types(EnabledDrivers.of(self.settings))
        conductors.register(session, "c1", "", types, None, None)

    def _enrol(self, name: str, resource_class: str) -> None:
        values = {"name": name, "resource_class": resource_class}
        self.database.write(lambda session: enrolment.enrol(session, self.settings, values, (), power=True))

    def asked(self, request: TreeRequest = GOLD) -> NewClaim:
        return NewClaim(str(uuid_module.uuid4()), request, "p", "u", None, None, "digest")

    def claim(self, request: TreeRequest = GOLD) -> str:
        """Claim the free machine; return the claim."""
        asked = self.asked(request)
        claimed = self.database.write(lambda session: claims.claim_now(session, asked, self.settings) is not None)
        assert claimed
        return asked.uuid

    def wait(self, request: TreeRequest = GOLD, priority: int = 0) -> str:
        """Have a claim wait; return it."""
        asked = self.asked(request)
        self.database.write(lambda session: claims.wait(session, asked, 3600, "None is free.", self.settings) and None)
        return asked.uuid

    def release(self) -> None:
        """Release the machine that was claimed first, as DELETE /allocations/{consumer} does."""
        uuid = self.holders.pop(0)
        self.database.change(lambda connection: allocations.release(connection, uuid))

    def hand_over(self) -> float:
        """Return the seconds of a release that hands the machine to a claim that waits."""
        waiting = self.wait()
        taken = timed(self.release)
        self.holders.append(waiting)
        assert self.database.read(lambda session: claims.show(session, waiting).state) == "claimed"
        return taken

    def one_after_the_other(self) -> float:
        """Return the seconds of a release and a claim."""

        def both() -> None:
            self.release()
            self.holders.append(self.claim())

        return timed(both)

    def release_alone(self) -> float:
        """Return the seconds of a release."""
        taken = timed(self.release)
        self.holders.append(self.claim())
        return taken

    def release_silver(self) -> float:
        """Return the seconds of a release of the machine for which no claim waits."""
        uuid = self.claim(SILVER)
        return timed(lambda: self.database.change(lambda connection: allocations.release(connection, uuid)))


def timed(work: Callable[[], None]) -> float:
    """Return the seconds that ``work`` takes."""
    began = perf_counter()
    work()
    return perf_counter() - began


def interleaved(sides: Sequence[Callable[[], float]], times: int) -> list[float]:
    """Return the median of the medians of each side, in milliseconds. The sides take turns."""
    medians: list[list[float]] = [[] for _ in sides]
    for _ in range(ROUNDS):
        taken: list[list[float]] = [[] for _ in sides]
        for _ in range(times):
            for side, found in zip(sides, taken, strict=True):
                found.append(side() * 1000)
        for found, each in zip(medians, taken, strict=True):
            found.append(median(each))
    return [median(found) for found in medians]


def crowd(bench: Bench) -> None:
    """Have claims wait that no machine fits: a tenth of them with requests of their own."""
    bench.database.handover = None
    for number in range(CROWD):
        trait = f"CUSTOM_T{number % (CROWD // 10)}"
        bench.wait(replace(GOLD, query=f"{GOLD.query}&required={trait}"))
    handover.install(bench.database, bench.settings)


# -- over HTTP ---------------------------------------------------------------------------------------------------------

CLIENTS = 8
#: Seconds for which each side is measured, in each round.
SECONDS = 4.0


def claim_and_release(client: Client) -> None:
    """Claim in one request, and give back."""
    claimed = client.scheduling("POST", "/claims", {"query": GOLD.query})
    assert claimed.status_code == 201, claimed.text
    assert client.scheduling("DELETE", f"/claims/{claimed.json()['uuid']}").status_code == 204


def candidates_claim_and_release(client: Client) -> None:
    """Do what Nova does: look for candidates, claim the first that is still there, and give back."""
    found = client.placement("GET", f"/allocation_candidates?{GOLD.query}&limit=1000").json()["allocation_requests"]
    uuid = str(uuid_module.uuid4())
    for each in random.sample(found, min(len(found), 20)):
        body = {**each, "project_id": "p", "user_id": "u", "consumer_generation": None, "consumer_type": "INSTANCE"}
        body.pop("mappings")
        if client.placement("PUT", f"/allocations/{uuid}", body).status_code == 204:
            assert client.placement("DELETE", f"/allocations/{uuid}").status_code == 204
            return


def per_second(url: str, work: Callable[[Client], None]) -> float:
    """Return how often 8 clients together do it in a second."""
    until = perf_counter() + SECONDS

    def repeat(_: int) -> int:
        done = 0
        with Client(url) as client:
            while perf_counter() < until:
                work(client)
                done += 1
        return done

    with ThreadPoolExecutor(CLIENTS) as threads:
        return sum(threads.map(repeat, range(CLIENTS))) / SECONDS


def seconds_until_known(url: str, times: int) -> list[float]:
    """Return the times from the answer of a release until a client that waits with ``wait=30`` knows of it.

    All machines are given back at the end.
    """
    taken = []
    with Client(url) as holder, Client(url) as waiting, ThreadPoolExecutor(1) as thread:
        held = []
        while (claimed := holder.scheduling("POST", "/claims", {"query": GOLD.query})).status_code == 201:
            held.append(claimed.json()["uuid"])
        for _ in range(times):
            own = waiting.scheduling("POST", "/claims", {"query": GOLD.query, "wait": 60}).json()["uuid"]
            address = f"/claims/{own}?wait=30"
            answer = thread.submit(lambda: (waiting.scheduling("GET", address).json()["state"], perf_counter()))  # noqa: B023
            sleep(0.3 + random.random() / 10)
            assert holder.scheduling("DELETE", f"/claims/{held.pop()}").status_code == 204
            released = perf_counter()
            state, known = answer.result()
            assert state == "claimed"
            held.append(own)
            taken.append(max(0.0, known - released))
        for uuid in held:
            holder.scheduling("DELETE", f"/claims/{uuid}")
    return taken


def measure_served(url: str, connection: str, folder: str, workers: int) -> None:
    """Measure a served process, on the database that ``Bench`` has filled."""
    options = ("--without-conductor", "--workers", str(workers), "--database", connection)
    with serve(Path(folder), *options, settings={"api": {"insecure": True}, "conductor": NO_HEARTBEATS}) as (
        _,
        address,
    ):
        ours, other = [], []
        for _ in range(3):
            ours.append(per_second(address, claim_and_release))
            other.append(per_second(address, candidates_claim_and_release))
        rate, before = median(ours), median(other)
        click.echo(
            f"{url.partition(':')[0]:18} claims and releases a second / as Nova does it "
            f"{rate:14.0f} {before:7.0f}     {rate / before:5.2f} (at least 2.5)"
        )
        known = median(seconds_until_known(address, 10)) * 1000
        click.echo(f"{url.partition(':')[0]:18} a hand-over is known to a client after {known:22.0f} ms (at most 150)")


@click.command(help=__doc__)
@click.option("--times", default=200, help="How often each side is measured in each of the five rounds.")
@click.option("--fleet", default=1000, help="Machines of the class; Nova asks for 1,000 candidates.")
@click.option("--workers", default=2, help="Workers of the served process.")
@click.argument("urls", nargs=-1)
def main(times: int, fleet: int, workers: int, urls: tuple[str, ...]) -> None:
    """Measure, and print a table."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    for url in urls or URLS:
        with tempfile.TemporaryDirectory() as folder:
            connection = f"sqlite:///{folder}/bench.sqlite" if url == "sqlite" else url
            if url != "sqlite":
                empty(connection)
            bench = Bench(connection, fleet)
            for holder in bench.holders:
                bench.database.change(partial(allocations.release, consumer_uuid=holder))
            measure_served(url, connection, folder, workers)
            bench.holders = [bench.claim() for _ in range(fleet)]
            handed, both = interleaved((bench.hand_over, bench.one_after_the_other), times)
            line(url, "release that hands over / release, then claim", handed, both, 1.3)
            crowd(bench)
            crowded, alone = interleaved((bench.release_alone, bench.release_silver), times)
            line(url, f"release beside {CROWD} that it fits not / beside none", crowded, alone, 1.5)
            bench.database.dispose()


def line(url: str, what: str, ours: float, other: float, most: float) -> None:
    """Print a figure beside its target."""
    kind = url.partition(":")[0]
    click.echo(f"{kind:18} {what:55} {ours:7.2f} {other:7.2f} ms  {ours / other:5.2f} (at most {most})")


if __name__ == "__main__":
    main()
