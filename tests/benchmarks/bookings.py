"""What bookings cost, beside another version: ``python -m tests.benchmarks.bookings ../before``.

The other version is a checkout. Both have a fleet of 50,000 nodes, of which 30,000 are in use until a moment of the
next hours; 10,000 machines are booked here, and closed by a planned hold there. Candidates, and capacity, are searched
in turn, as in ``ends``, which measures claims. Then each block here claims one machine, and books four.
"""

import json
import tempfile
from contextlib import ExitStack
from pathlib import Path

import click
from sqlalchemy import ColumnElement, func, insert, literal, select, update

from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.matching.tree_request import QUERY_VERSION, TreeRequest
from baremetal_sched.db.clock import epoch, utcnow
from baremetal_sched.db.models import BookedMachine, Booking, Node, table_of
from baremetal_sched.placement.tables import INVENTORIES, PROVIDERS
from tests.benchmarks.ends import CANDIDATES, Version, fill, give_ends, report, version
from tests.benchmarks.explained_fleet import CLASSES
from tests.benchmarks.stores import DEFAULT_URLS, Store

#: The most times as long as before; the last one: as a claim of one machine.
MOST_OF_CANDIDATES, MOST_OF_CAPACITY, MOST_OF_BOOKING = 1.1, 1.5, 10.0
NODES, BOOKINGS = 50_000, 10_000
DAY = 86_400.0

_NODES, _BOOKINGS, _BOOKED = table_of(Node), table_of(Booking), table_of(BookedMachine)


def book_machines(store: Store) -> None:
    """Book one machine of five of each class, each by a booking of its own, for four days of the next weeks; where
    bookings are not known, only close the machines."""
    with store.engine.begin() as connection:
        for table in (_NODES, INVENTORIES, PROVIDERS):
            column = table.c.provider_id if table is INVENTORIES else table.c.id
            connection.execute(update(table).where(_is_booked(column)).values(closes_at=1.0))
        if not store.name.endswith("after"):
            return
        name = literal("CUSTOM_").concat(func.upper(func.replace(_NODES.c.resource_class, "-", "_")))
        request = TreeRequest("resources=CUSTOM_NAME:1", served=False, version=QUERY_VERSION, several=Several(1))
        starts_at = epoch() + (_NODES.c.id % 20 + 2) * DAY
        columns = {
            "uuid": _NODES.c.uuid,
            "revision": literal(1),
            "created_at": literal(utcnow()),
            "project": literal("of ").concat(_NODES.c.uuid),
            "user": literal("u"),
            "resource_class": name,
            "request": func.replace(literal(json.dumps(request.document())), "CUSTOM_NAME", name),
            "body_digest": literal(""),
            "count": literal(1),
            "starts_at": starts_at,
            "ends_at": starts_at + 4 * DAY,
            "made_at": literal(1.0),
            "due_at": starts_at,
        }
        connection.execute(
            insert(_BOOKINGS).from_select([*columns], select(*columns.values()).where(_is_booked(_NODES.c.id)))
        )
        names = ("node_id", "booking_id", "starts_at", "ends_at", "turnaround", "made_at")
        same = (_BOOKINGS.c[name] for name in ("starts_at", "ends_at"))
        rows = select(_NODES.c.id, _BOOKINGS.c.id, *same, literal(0.0), literal(1.0))
        connection.execute(insert(_BOOKED).from_select(names, rows.join(_BOOKINGS, _BOOKINGS.c.uuid == _NODES.c.uuid)))
    store.analyze()


def _is_booked(number: ColumnElement[int]) -> ColumnElement[bool]:
    return number % (len(CLASSES) * NODES // BOOKINGS) < len(CLASSES)


def compare(both: list[Version], title: str, blocks: int, most: float, *request: object) -> None:
    """Measure the same request of both versions, in turn."""
    taken: list[list[float]] = [[], []]
    for block in range(-1, blocks):
        sides = list(zip(both, taken, strict=True))
        for each, found in sides if block % 2 else reversed(sides):
            milliseconds = each.milliseconds(*request)
            if block >= 0:
                found += milliseconds
    report(title, taken[0], taken[1], most)


def compare_bookings(after: Version, blocks: int, count: int) -> None:
    """Measure claims of one machine and bookings of four, in turn; what was made is given back."""
    taken: list[list[list[float]]] = [[], []]
    for block in range(-1, blocks):
        for found, request in zip(taken, (("claims", "plain", count), ("bookings", count)), strict=True):
            milliseconds = after.milliseconds(*request)
            if block >= 0:
                found.append(milliseconds)
    made, gone = ([[each[part] for each in side] for side in taken] for part in (0, 1))
    report("a claim of one; a booking of four", *made, MOST_OF_BOOKING)
    report("its release; its cancelling", *gone, MOST_OF_BOOKING)


@click.command(help=__doc__)
@click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--database", "kind", default="postgresql", type=click.Choice(list(DEFAULT_URLS)))
@click.option("--url", help="The server, without a database.")
@click.option("--driver", default="pymysql", show_default=True, help="That of MariaDB.")
@click.option("--blocks", default=20, show_default=True, help="How many blocks each version does.")
@click.option("--count", default=20, show_default=True, help="How many requests a block has.")
def main(checkout: Path, kind: str, url: str | None, driver: str, blocks: int, count: int) -> None:
    here, server = Path(__file__).parents[2], url or DEFAULT_URLS[kind]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        both = []
        for name, each in (("before", checkout), ("after", here)):
            store = Store(kind, server, f"bench_bookings_{name}", Path(folder), driver)
            stack.callback(store.drop)
            fill(each, store, server, NODES, driver)
            give_ends(store, "soon")
            book_machines(store)
            both.append((each, store))
        print(f"{store.version()}: milliseconds before and after", flush=True)
        versions = [stack.enter_context(version(*each)) for each in both]
        for title, query in CANDIDATES.items():
            times = count if query == "limit=1" else max(1, count // 10)
            compare(versions, title, blocks, MOST_OF_CANDIDATES, "candidates", query, times)
        compare(versions, "capacity", blocks, MOST_OF_CAPACITY, "capacity", max(1, count // 4))
        compare_bookings(versions[1], blocks, max(1, count // 4))


if __name__ == "__main__":
    main()
