"""The time of explanations, capacity, and candidates beside them: ``python -m tests.benchmarks.explanations``.

A fleet in a database of its own (``bench_explanations``, dropped afterwards), and one worker of gunicorn for candidates
beside two for explanations. Times are those of the client, in milliseconds; on a busy machine the best says most.
Limits are those for a million nodes.
"""

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import quote

import click

from baremetal_sched.placement.names import resource_class_of
from tests.benchmarks import servers
from tests.benchmarks.explained_fleet import CLASSES, GROUPS, TRAITS, Fleet, seed
from tests.benchmarks.servers import Client, Failed
from tests.benchmarks.stores import DEFAULT_URLS, Store

_CLASS = CLASSES[3]
_CUSTOM = resource_class_of(_CLASS)
_ZEROS = {f"resources:{name}": "0" for name in ("VCPU", "MEMORY_MB", "DISK_GB")}

#: The requests, by title: method, path and body.
Request = tuple[str, str, object]

CANDIDATES: Request = (
    "GET",
    f"/placement/allocation_candidates?limit=1&resources={_CUSTOM}:1&required={TRAITS[0]}",
    None,
)


def _query(classes: str, traits: int) -> Request:
    required = ",".join(f"!{trait}" if place % 5 == 1 else trait for place, trait in enumerate(TRAITS[:traits]))
    return "GET", f"/scheduling/v1/explanations?resources={classes}&required={required}", None


def _capacity(*keys: str) -> Request:
    return "GET", f"/scheduling/v1/capacity?group_by={quote(','.join(keys))}", None


CASES: dict[str, Request] = {
    "explain a class, 2 traits": _query(f"{_CUSTOM}:1", 2),
    "explain a class, 10 traits": _query(f"{_CUSTOM}:1", 10),
    "explain two classes (all nodes), 2 traits": _query(f"{_CUSTOM}:1,{resource_class_of(CLASSES[4])}:1", 2),
    "explain an allocation, 2 traits": (
        "POST",
        "/scheduling/v1/explanations",
        {"resource_class": _CLASS, "traits": TRAITS[:2]},
    ),
    "explain a server": (
        "POST",
        "/scheduling/v1/explanations",
        {"flavor": {"extra_specs": {f"resources:{_CUSTOM}": "1", f"trait:{TRAITS[0]}": "required", **_ZEROS}}},
    ),
    "capacity by class and group": _capacity("resource_class", "conductor_group"),
    "capacity by class": _capacity("resource_class"),
    "capacity by trait": _capacity(f"trait:{TRAITS[0]}"),
}


#: Milliseconds that some of these may take with a million nodes, at best.
LIMITS = {
    "explain a class, 2 traits": 1000,
    "explain a class, 10 traits": 1000,
    "explain two classes (all nodes), 2 traits": 3000,
    "explain an allocation, 2 traits": 1000,
    "explain a server": 3000,
    "capacity by class and group": 1000,
    "capacity by class": 1000,
}


def measure(ask: Callable[[], float], times: int) -> list[float]:
    """Return how many milliseconds each of the requests took, sorted."""
    return sorted(ask() * 1000 for _ in range(times))


def p95_of(taken: list[float]) -> float:
    """Return the 95th percentile of times that are sorted."""
    return taken[-(-95 * len(taken) // 100) - 1]


def line(title: str, taken: list[float], limit: float | None = None) -> str:
    """Return a line of the table."""
    figures = f"best {taken[0]:9.1f}  p50 {median(taken):9.1f}  p95 {p95_of(taken):9.1f}  ({len(taken)})"
    verdict = "" if limit is None else f"  limit {limit:g}: {'met' if taken[0] <= limit else 'missed'}"
    return f"  {title:48} {figures}{verdict}"


def asking(client: Client, request: Request) -> Callable[[], float]:
    """Return what sends the request and returns the seconds that its answer took. Raises Failed."""
    method, path, body = request
    return lambda: client.call(method, path, body).seconds


@contextmanager
def explaining(client: Client, at_once: int) -> Iterator[list[int]]:
    """Run clients that ask for explanations without a pause. The list gets the statuses of the answers."""
    ended, statuses = threading.Event(), list[int]()

    def work(own: Client) -> None:
        method, path, body = CASES["explain a class, 2 traits"]
        while not ended.is_set():
            statuses.append(own.ask(method, path, body).status)

    threads = [threading.Thread(target=work, args=(client.another(),)) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    try:
        yield statuses
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def fill(store: Store, nodes: int, traits: int) -> None:
    """Make the database, and write the fleet into it."""
    started = time.monotonic()
    store.create()
    servers.make_schema_of_ours(store)
    seed(store, Fleet(nodes, traits))
    print(f"{store.version()}: filled in {time.monotonic() - started:.0f} s", flush=True)


def run(store: Store, times: int, only: str, folder: Path) -> None:
    """Measure, and print what was measured."""
    ((nodes,),) = store.rows("SELECT count(*) FROM nodes")
    print(f"{store.version()}: {nodes} nodes, {len(CLASSES)} classes, {len(GROUPS)} groups")
    with ExitStack() as stack:
        explained, searched = (stack.enter_context(served(store, folder, name)) for name in ("explain", "search"))
        for title, request in CASES.items():
            if only not in title:
                continue
            try:
                measure(asking(explained, request), 1)
                taken = measure(asking(explained, request), times)
                print(line(title, taken, LIMITS.get(title)), flush=True)
            except Failed as error:
                print(f"  {title:48} {error}", flush=True)
        if only in "candidates":
            _beside(explained, searched)


def _beside(explained: Client, searched: Client) -> None:
    """Candidates alone, beside one explanation after the other, beside two at once, and alone again."""
    ask = asking(searched, CANDIDATES)
    measure(ask, 50)
    alone = 0.0
    for at_once in (0, 1, 2, 0):
        with explaining(explained, at_once) as statuses:
            taken = measure(ask, 300)
        alone = alone or p95_of(taken)
        print(line(f"candidates, {at_once} explanations at once", taken), flush=True)
        if statuses:
            print(f"    {len(statuses)} explanations, of which {statuses.count(200)} were answered;", end=" ")
            print(f"p95 {p95_of(taken) / alone - 1:+.0%}, limit +10%", flush=True)


@contextmanager
def served(store: Store, folder: Path, name: str) -> Iterator[Client]:
    """Serve the database, with two workers for ``explain`` and one for other names."""
    own = folder / name
    own.mkdir(exist_ok=True)
    server = servers.ours(store, own, "", {"OpenStack-API-Version": "placement 1.36"})
    server.workers = 2 if name == "explain" else 1
    with server:
        yield server.client


@click.command(help=__doc__)
@click.option("--database", "kinds", multiple=True, default=tuple(DEFAULT_URLS), show_default=True)
@click.option("--url", help="Of the server, with one --database only.")
@click.option("--nodes", default=20_000, show_default=True)
@click.option("--traits", default=20, show_default=True, help="Of each node; 5 are enough for a million.")
@click.option("--times", default=10, show_default=True, help="How often each request is sent.")
@click.option("--only", default="", help="Only cases with this in their title.")
@click.option("--folder", type=click.Path(file_okay=False, path_type=Path), help="For logs, and the file of SQLite.")
@click.option("--keep", is_flag=True, help="Leave the databases behind; SQLite's only if there is a --folder.")
@click.option("--kept", is_flag=True, help="Measure the databases that --keep left behind, and leave them.")
def main(
    kinds: tuple[str, ...],
    url: str | None,
    nodes: int,
    traits: int,
    times: int,
    only: str,
    folder: Path | None,
    keep: bool,
    kept: bool,
) -> None:
    if url and len(kinds) != 1:
        raise click.UsageError("--url goes with one --database.")
    for kind in kinds:
        with tempfile.TemporaryDirectory() as name:
            own = folder or Path(name)
            own.mkdir(parents=True, exist_ok=True)
            store = Store(kind, url or DEFAULT_URLS[kind], "bench_explanations", own)
            try:
                if not kept:
                    fill(store, nodes, traits)
                run(store, times, only, own)
            finally:
                if not keep and not kept:
                    store.drop()


if __name__ == "__main__":
    main()
