"""What ends of claims cost, beside another version: ``python -m tests.benchmarks.ends ../before``.

The other version is a checkout. Each version has a database of its own (``bench_ends_before`` and ``bench_ends_after``,
dropped afterwards), and answers requests in one process without a server. Blocks of claims and of releases of both are
done in turn. A figure is the median of the blocks, in milliseconds of a processor of the process and of the
connections' threads of the database's server.

With ``--candidates`` each version searches a fleet of 50,000 nodes, of which 30,000 are in use, here until a moment.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import IO, Any

import click

from tests.benchmarks.stores import DEFAULT_URLS, Store

#: What is measured: the kind of the claims there and here, and the most times as long as before.
CLAIMS = {
    "a claim": ("plain", "plain", 1.02),
    "a claim through Placement": ("placement", "placement", 1.02),
    "a claim with an end": ("plain", "end", 1.10),
}
CANDIDATES = {"candidates, limit=1": "limit=1", "candidates, limit=1000": "limit=1000", "candidates": ""}
MOST_OF_CANDIDATES = 1.02

#: Runs in a checkout, so it must work with each version: answers lines of JSON with milliseconds.
_PROBE = """
import json, os, sys, time, uuid
from pathlib import Path

url, kind = sys.argv[1:]
out, sys.stdout = sys.stdout, sys.stderr

import structlog
from sqlalchemy import text
from webtest import TestApp
from baremetal_sched.app import create_app
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
made = create_app({
    "api": {"auth_strategy": "none"},
    "database": {"connection": url, "max_pool_size": 1},
    "placement": {"max_allocation_candidates": 100000},
})
app, database = TestApp(made), made.database

TASKS = {
    "postgresql": "SELECT pid FROM pg_stat_activity WHERE datname = current_database()",
    "mariadb": "SELECT tid FROM information_schema.processlist WHERE db = DATABASE()",
}
FOLDERS = [path for path in Path("/proc").glob("[0-9]*/comm") if path.read_text().strip() in ("mariadbd", "mysqld")]

def nanoseconds(path):
    return int(path.read_text().split()[0])

def of_server():
    if kind not in TASKS:
        return 0
    query = text(TASKS[kind])
    ids = database.select(lambda connection: connection.scalars(query).all())
    paths = [Path(f"/proc/{each}/schedstat") for each in ids]
    if kind == "mariadb":
        paths = [folder.parent / f"task/{each}/schedstat" for folder in FOLDERS for each in ids]
    return sum(nanoseconds(path) for path in paths if path.exists())

def measured(work, arguments):
    server = of_server()
    began = time.process_time_ns()
    for each in arguments:
        work(each)
    own = time.process_time_ns() - began
    return (own + of_server() - server) / 1e6 / len(arguments)

PLACEMENT = {"OpenStack-API-Version": "placement 1.39"}
CLASS = "CUSTOM_METAL_0"

def found(query):
    return app.get(f"/placement/allocation_candidates?resources={CLASS}:1&{query}", headers=PLACEMENT)

def candidates(query, times):
    return [measured(found, [query] * times)]

def capacity(times):
    return [measured(app.get, ["/scheduling/v1/capacity"] * times)]

def bookings(count):
    asked = {"query": f"resources={CLASS}:1", "count": 4, "starts_at": moment(3), "ends_at": moment(5)}
    uuids = [str(uuid.uuid4()) for _ in range(count)]

    def book(each):
        app.post_json("/scheduling/v1/bookings", {**asked, "uuid": each, "project_id": "p", "user_id": "u"})

    return [measured(book, uuids), measured(lambda each: app.delete(f"/scheduling/v1/bookings/{each}"), uuids)]

def moment(days):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400 * days))

def claims(form, count):
    consumers = [str(uuid.uuid4()) for _ in range(count)]
    free = [next(iter(each["allocations"])) for each in found(f"limit={count}").json["allocation_requests"]]
    more = {"until": "2099-01-01T00:00:00Z"} if form == "end" else {}

    def through_placement(pair):
        body = {"allocations": {pair[1]: {"resources": {CLASS: 1}}}, "consumer_generation": None,
                "project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
        app.put_json(f"/placement/allocations/{pair[0]}", body, headers=PLACEMENT)

    def claim(pair):
        consumer = {"uuid": pair[0], "project_id": "p", "user_id": "u"}
        app.post_json("/scheduling/v1/claims", {"query": f"resources={CLASS}:1", "consumer": consumer, **more})

    def release(pair):
        if form == "placement":
            app.delete(f"/placement/allocations/{pair[0]}", headers=PLACEMENT)
        else:
            app.delete(f"/scheduling/v1/claims/{pair[0]}")

    pairs = list(zip(consumers, free, strict=True))
    return [measured(through_placement if form == "placement" else claim, pairs), measured(release, pairs)]

print("ready", file=out, flush=True)
for line in sys.stdin:
    name, *arguments = json.loads(line)
    print(json.dumps(globals()[name](*arguments)), file=out, flush=True)
"""

#: Makes the database and fills it, in a checkout.
_FILL = """
import sys
from pathlib import Path
from tests.benchmarks.explained_fleet import Fleet, seed
from tests.benchmarks.servers import make_schema_of_ours
from tests.benchmarks.stores import Store
kind, server, name, folder, nodes, driver = sys.argv[1:]
store = Store(kind, server, name, Path(folder), driver)
store.create()
make_schema_of_ours(store)
seed(store, Fleet(int(nodes), 5))
"""


class Version:
    """A checkout that answers requests in a process of its own."""

    def __init__(self, asked: IO[str], answers: IO[str]) -> None:
        self._asked, self._answers = asked, answers
        answers.readline()

    def milliseconds(self, *request: Any) -> list[float]:
        """Return how long a processor worked on one of the requests of a block."""
        print(json.dumps(request), file=self._asked, flush=True)
        answer: list[float] = json.loads(self._answers.readline())
        return answer


@contextmanager
def version(checkout: Path, store: Store) -> Iterator[Version]:
    """Start a checkout over a database that is filled."""
    command = [sys.executable, "-c", _PROBE, store.url_of(), store.kind]
    environment = os.environ | {"PYTHONPATH": str(checkout.absolute())}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=checkout, env=environment, text=True, stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Version(process.stdin, process.stdout)
        process.stdin.close()


def fill(checkout: Path, store: Store, server: str, nodes: int, driver: str) -> None:
    """Make the schema of a checkout, and write a fleet into it."""
    values = [store.kind, server, store.name, str(store.folder), str(nodes), driver]
    environment = os.environ | {"PYTHONPATH": str(checkout.absolute())}
    subprocess.run([sys.executable, "-c", _FILL, *values], cwd=checkout, env=environment, check=True)


def give_ends(store: Store, when: str = "2099") -> None:
    """Give each claim of the fleet its rows, and an end of its own: in 2099, or ``soon``, within the next hours."""
    uuid = {"mariadb": "CONCAT('0000', SUBSTR(uuid, 5))"}.get(store.kind, "'0000' || substr(uuid, 5)")
    # The colon is escaped: it would begin a parameter.
    text = r"'\:' || resource_class_id || '=1,'"
    text = r"CONCAT('\:', resource_class_id, '=1,')" if store.kind == "mariadb" else text
    used = "FROM inventories JOIN resource_providers ON resource_providers.id = provider_id WHERE used > 0"
    store.execute(
        "INSERT INTO consumers (id, uuid, generation, project_id, user_id, created_at, usages) SELECT "
        f"provider_id, {uuid}, 1, 'p', 'u', inventories.created_at, {text} {used}"
    )
    store.execute(
        "INSERT INTO allocations (consumer_id, provider_id, resource_class_id, used, created_at) "
        f"SELECT provider_id, provider_id, resource_class_id, 1, inventories.created_at {used}"
    )
    if when == "soon" or store.name.endswith("after"):
        ends = f"{int(time.time()) + 7200 if when == 'soon' else 4070908800} + provider_id"
        store.execute(
            "INSERT INTO claim_ends (consumer_id, began_at, set_at, ends_at, state, due_at) "
            f"SELECT provider_id, 0, 0, {ends}, 'set', {ends} {used}"
        )
        store.execute("UPDATE inventories SET calendar = 1 WHERE used > 0")
    store.analyze()


def report(title: str, before: list[float], after: list[float], most: float) -> None:
    """Print the medians, and the quartiles of the ratios of blocks that were done one after the other."""
    ratio = median(after) / median(before)
    pairs = sorted(b / a for a, b in zip(before, after, strict=True))
    low, middle, high = (pairs[len(pairs) * quarter // 4] for quarter in (1, 2, 3))
    print(
        f"  {title:42} {median(before):8.3f} {median(after):8.3f}  {ratio:5.3f} "
        f"(pairs: {low:.3f} {middle:.3f} {high:.3f}; at most {most}: {'met' if ratio <= most else 'missed'})",
        flush=True,
    )


def compare_claims(both: list[Version], blocks: int, count: int, only: str) -> None:
    """Measure claims and releases of each kind, in turn."""
    kinds = {title: each for title, each in CLAIMS.items() if only in title + "."}
    taken: dict[str, list[list[list[float]]]] = {title: [[], []] for title in kinds}
    for block in range(-1, blocks):
        for title, (*forms, _) in kinds.items():
            sides = list(zip(both, forms, taken[title], strict=True))
            for each, form, found in sides if block % 2 else reversed(sides):
                milliseconds = each.milliseconds("claims", form, count)
                if block >= 0:
                    found.append(milliseconds)
    for title, (before, after) in taken.items():
        for part, name in enumerate(("", ", its release")):
            parts = [[each[part] for each in side] for side in (before, after)]
            report(title + name, parts[0], parts[1], CLAIMS[title][2])


def compare_candidates(both: list[Version], blocks: int, count: int) -> None:
    """Measure searches, in turn."""
    for title, query in CANDIDATES.items():
        taken: list[list[float]] = [[], []]
        times = count if query == "limit=1" else max(1, count // 10)
        for block in range(-1, blocks):
            sides = list(zip(both, taken, strict=True))
            for each, found in sides if block % 2 else reversed(sides):
                milliseconds = each.milliseconds("candidates", query, times)
                if block >= 0:
                    found += milliseconds
        report(title, taken[0], taken[1], MOST_OF_CANDIDATES)


@click.command(help=__doc__)
@click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--database", "kind", default="postgresql", type=click.Choice(list(DEFAULT_URLS)))
@click.option("--url", help="The server, without a database.")
@click.option("--driver", default="pymysql", show_default=True, help="That of MariaDB.")
@click.option("--blocks", default=40, show_default=True, help="How many blocks each version does.")
@click.option("--count", default=50, show_default=True, help="How many claims a block has.")
@click.option("--only", default="", help="Only what has this in its title.")
@click.option("--candidates", is_flag=True, help="Search candidates, and claim nothing.")
def main(
    checkout: Path, kind: str, url: str | None, driver: str, blocks: int, count: int, only: str, *, candidates: bool
) -> None:
    here, server = Path(__file__).parents[2], url or DEFAULT_URLS[kind]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        both = []
        for name, each in (("before", checkout), ("after", here)):
            store = Store(kind, server, f"bench_ends_{name}", Path(folder), driver)
            stack.callback(store.drop)
            fill(each, store, server, 50_000 if candidates else 5_000, driver)
            if candidates:
                give_ends(store)
            both.append((each, store))
        print(f"{store.version()}: milliseconds before and after", flush=True)
        versions = [stack.enter_context(version(*each)) for each in both]
        if candidates:
            compare_candidates(versions, blocks, count)
        else:
            compare_claims(versions, blocks, count, only)


if __name__ == "__main__":
    main()
