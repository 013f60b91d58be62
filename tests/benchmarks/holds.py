"""The cost of planned holds for the search of candidates: ``python -m tests.benchmarks.holds``.

Two databases on one server (``bench_holds_none`` and ``bench_holds_many``, dropped afterwards) with the same fleet: one
without holds; in the other one a tenth of the nodes have one, a tenth of which begin within a minute. No conductor
sweeps. One worker of gunicorn serves each; they are asked in turn, in rounds, by one client. A figure is the median of
the medians of the rounds, in milliseconds.
"""

import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import click

from baremetal_sched.placement.names import resource_class_of
from tests.benchmarks.explained_fleet import CLASSES, TRAITS, Fleet, seed
from tests.benchmarks.explanations import Request, asking, served
from tests.benchmarks.servers import Client, make_schema_of_ours
from tests.benchmarks.stores import DEFAULT_URLS, Store

_CLASS = resource_class_of(CLASSES[3])
_FOUND = f"/placement/allocation_candidates?resources={_CLASS}:1"

CASES: dict[str, Request] = {
    "candidates, limit=1": ("GET", f"{_FOUND}&limit=1", None),
    "candidates, limit=1, a trait and not another": (
        "GET",
        f"{_FOUND}&limit=1&required={TRAITS[0]},!{TRAITS[1]}",
        None,
    ),
    "candidates, limit=1000": ("GET", f"{_FOUND}&limit=1000", None),
    "candidates, limit=1000, a trait": ("GET", f"{_FOUND}&limit=1000&required={TRAITS[0]}", None),
}
ROUNDS = 5
#: By how much slower candidates may be with holds.
MOST = 1.15

#: A hold of each tenth node, and when it starts: a tenth of them within a minute, the others within the next months.
_STARTS = "({now} + CASE WHEN n.id % 100 = 0 THEN n.id % 60 ELSE 86400 + n.id END)"
_NOW = {
    "sqlite": "((julianday('now') - 2440587.5) * 86400.0)",
    "postgresql": "CAST(extract(epoch FROM statement_timestamp()) AS double precision)",
    "mariadb": "(UNIX_TIMESTAMP(NOW(6)) + 0e0)",
}


def plan_holds(store: Store) -> int:
    """Plan holds as ``baremetal.holds`` writes them; return how many."""
    now = _NOW[store.kind]
    starts = _STARTS.format(now=now)
    uuid = "'00000000-0000-4000-8000-' || substr('000000000000' || n.id, -12)"
    if store.kind != "sqlite":
        uuid = "CONCAT('00000000-0000-4000-8000-', LPAD(CAST(n.id AS CHAR(12)), 12, '0'))"
    store.execute(
        "INSERT INTO holds (uuid, node_id, type, scope, asserted_at, written_at, starts_at) "
        f"SELECT {uuid}, n.id, 'window', 'system', {now}, {now}, {starts} FROM nodes n WHERE n.id % 10 = 0"
    )
    for table, key in (("nodes", "id"), ("resource_providers", "id"), ("inventories", "provider_id")):
        store.execute(
            f"UPDATE {table} SET closes_at = (SELECT h.starts_at FROM holds h WHERE h.node_id = {table}.{key}) "
            f"WHERE {table}.{key} % 10 = 0"
        )
    store.analyze()
    ((count,),) = store.rows("SELECT count(*) FROM holds")
    return int(count)


def compare(clients: list[Client], request: Request, times: int) -> list[float]:
    """Return the median of the medians of each side, which are asked in turn."""
    asks = [asking(client, request) for client in clients]
    medians: list[list[float]] = [[] for _ in asks]
    for ask in asks:
        ask()
    for _ in range(ROUNDS):
        taken: list[list[float]] = [[] for _ in asks]
        for _ in range(times):
            for ask, found in zip(asks, taken, strict=True):
                found.append(ask() * 1000)
        for found, each in zip(medians, taken, strict=True):
            found.append(median(each))
    return [median(found) for found in medians]


@click.command(help=__doc__)
@click.option("--database", "kind", default="mariadb", type=click.Choice(list(DEFAULT_URLS)))
@click.option("--url", help="The server, without a database.")
@click.option("--nodes", default=100_000)
@click.option("--times", default=20, help="How often each side is asked in each of the five rounds.")
def main(kind: str, url: str | None, nodes: int, times: int) -> None:
    """Measure, and print a table."""
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        folder = Path(directory)
        clients = []
        for name in ("none", "many"):
            store = Store(kind, url or DEFAULT_URLS[kind], f"bench_holds_{name}", folder)
            store.create()
            stack.callback(store.drop)
            make_schema_of_ours(store)
            seed(store, Fleet(nodes, 10))
            if name == "many":
                print(f"{store.version()}: {nodes} nodes, {plan_holds(store)} holds", flush=True)
            clients.append(stack.enter_context(served(store, folder, name)))
        for title, request in CASES.items():
            without, with_holds = compare(clients, request, times)
            ratio = with_holds / without
            verdict = "met" if ratio <= MOST else "missed"
            print(
                f"  {title:48} {with_holds:8.2f} {without:8.2f}  {ratio:5.2f} (at most {MOST}: {verdict})", flush=True
            )


if __name__ == "__main__":
    main()
