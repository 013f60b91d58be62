"""How long pages take: ``python -m tests.benchmarks.pages``.

50,000 nodes with ports, servers and allocations in a database of its own (``bench_pages``, dropped afterwards), and
one worker of gunicorn. A figure is the median of ten requests of a client, sorted and searched lists included, and the
target is a most. (Pages are ours: there is no original to be measured beside.)
"""

import tempfile
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import click
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, NodeAllocation, Port, Server
from baremetal_sched.ui.node_rows import SORT_KEYS
from tests.benchmarks.explained_fleet import CLASSES, GROUPS, TRAITS
from tests.benchmarks.explanations import fill, line, measure, served
from tests.benchmarks.servers import Client, Failed
from tests.benchmarks.stores import DEFAULT_URLS, Store

#: The most milliseconds for the median of a page.
MOST = 300

_NODES = 50_000
_NODE = "node-1234"
_MAC = "52:54:00:00:12:34"
#: What all servers are like.
_SERVER: dict[str, Any] = {
    **dict.fromkeys(("hostname", "project_id", "user_id", "reservation_id", "flavor_id", "image_id"), "x"),
    **{name: {"name": "x"} for name in ("flavor", "image", "user_metadata", "scheduler_hints")},
    **{name: [] for name in ("security_groups", "tried_nodes")},
}

PAGES = (
    "/",
    *(f"/nodes?sort_key={key}" for key in SORT_KEYS),
    f"/nodes?traits={TRAITS[0]},{TRAITS[1]}",
    f"/nodes?resource_class={CLASSES[3]}&conductor_group={GROUPS[3]}",
    "/nodes?maintenance=true&sort_key=provision_updated_at&sort_dir=desc",
    f"/nodes/{_NODE}",
    *(f"/search?q={words}" for words in (_NODE, _MAC, "node-4999", "server-4999", "nothing")),
    "/capacity",
    f"/capacity?traits={TRAITS[0]}",
    "/groups",
    f"/groups/{GROUPS[3]}",
    f"/find?class={CLASSES[3]}&required={TRAITS[0]}",
    f"/find?class={CLASSES[3]}&required={','.join(TRAITS[:9])}&forbidden={TRAITS[9]}&wanted=99",
    "/waiting",
    "/holds",
    "/servers",
    "/servers?status=ERROR&sort_key=name",
    "/servers?name=server-4999",
    "/allocations",
    "/allocations?state=active&sort_key=owner",
    "/flavors",
    "/images",
)


def fill_more(store: Store) -> None:
    """Add ports, servers and allocations to the fleet; the last digits of a port's address are its node's number."""
    now = utcnow()
    with Session(store.engine) as session:
        for row in session.execute(select(Node.id, Node.uuid, Node.instance_uuid, Node.resource_class)).all():
            a, b, c = f"{row.id:06}"[:2], f"{row.id:06}"[2:4], f"{row.id:06}"[4:]
            session.add(Port(uuid=row.uuid, node_id=row.id, address=f"52:54:00:{a}:{b}:{c}", created_at=now))
            if row.instance_uuid is None:
                continue
            own = {"uuid": row.instance_uuid, "created_at": now - timedelta(seconds=row.id)}
            state = {"state": "active", "node_id": row.id, "resource_class": row.resource_class}
            session.add(NodeAllocation(**own, **state, name=f"allocation-{row.id}"))
            fault = {"message": "The disk is broken."} if row.id % 100 == 1 else None
            session.add(Server(**own, **_SERVER, name=f"server-{row.id}", fault=fault))
        session.commit()
    store.analyze()


def seconds(client: Client, path: str) -> float:
    """Return how long the page took. Raises Failed. A search that finds one thing leads there."""
    answer = client.ask("GET", path)
    if answer.status not in (200, 303):
        raise Failed(f"{path}: {answer.status}")
    return answer.seconds


def run(store: Store, times: int, folder: Path) -> int:
    """Measure, and print what was measured; return how many pages take too long."""
    missed = 0
    with served(store, folder, "pages") as client:
        for path in PAGES:
            ask = partial(seconds, client, f"/ui{path}")
            ask()
            taken = measure(ask, times)
            missed += median(taken) > MOST
            print(line(path[:48], taken) + ("" if median(taken) <= MOST else f"  limit {MOST}: missed"), flush=True)
    return missed


@click.command(help=__doc__)
@click.option("--database", "kinds", multiple=True, default=tuple(DEFAULT_URLS), show_default=True)
@click.option("--nodes", default=_NODES, show_default=True)
@click.option("--times", default=10, show_default=True, help="How often each page is asked for.")
def main(kinds: tuple[str, ...], nodes: int, times: int) -> None:
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            store = Store(kind, DEFAULT_URLS[kind], "bench_pages", Path(folder))
            try:
                fill(store, nodes, 10)
                fill_more(store)
                missed = run(store, times, Path(folder))
            finally:
                store.drop()
        print(f"{len(PAGES)} pages, {missed} of them above {MOST} ms at the median", flush=True)


if __name__ == "__main__":
    main()
