"""How long the upgrade of a large fleet takes, from the first schema to the newest; pytest does not collect it.

python -m tests.database.large_upgrade [--nodes N] [--seconds S]

On SQLite, and on each database of TEST_DATABASE_URLS, in which everything is deleted. The exit status is 1 if an
upgrade takes longer than S seconds.
"""

import argparse
import logging
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import structlog
from sqlalchemy import Engine, Integer, MetaData, Table, func, insert

from baremetal_sched.db import schema
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.engine import make_engine
from baremetal_sched.settings import load
from tests.databases import make_empty

_STOCK = {"total": 1, "reserved": 0, "min_unit": 1, "max_unit": 1, "step_size": 1, "allocation_ratio": 1.0}
_CLASS, _TRAITS = 90_000, (90_001, 90_002)


def fill(engine: Engine, nodes: int) -> None:
    """Make so many nodes in the first schema, each with a provider, its inventory, and traits."""
    numbers = range(1, nodes + 1)
    tables = MetaData()
    with engine.begin() as connection:
        tables.reflect(connection)

        def add(name: str, rows: Sequence[dict[str, Any]]) -> None:
            table = tables.tables[name]
            connection.execute(insert(table), [{**_required(table), **row} for row in rows])

        add("resource_classes", [{"id": _CLASS, "name": "CUSTOM_GOLD"}])
        add("traits", [{"id": each, "name": f"CUSTOM_T{each}"} for each in _TRAITS])
        add("nodes", [{"id": each, "uuid": _uuid(each), "resource_class": "gold"} for each in numbers])
        add("resource_providers", [{"id": each, "uuid": _uuid(each), "name": _uuid(each)} for each in numbers])
        add("inventories", [{"provider_id": each, "resource_class_id": _CLASS, **_STOCK} for each in numbers])
        for trait in _TRAITS:
            add("node_traits", [{"node_id": each, "trait": f"CUSTOM_T{trait}"} for each in numbers])
            add("provider_traits", [{"provider_id": each, "trait_id": trait} for each in numbers])
        providers = tables.tables["resource_providers"]
        connection.execute(providers.update().values(root_id=providers.c.id))
        found = connection.scalar(func.count(tables.tables["inventories"].c.total).select())
        assert found == nodes


def _required(table: Table) -> dict[str, Any]:
    """Values for columns that must have one."""
    values: dict[str, Any] = {"created_at": utcnow()} if "created_at" in table.c else {}
    for column in table.c:
        is_given = column.nullable or column.server_default is not None or column.primary_key
        if not is_given and column.name not in values:
            values[column.name] = 1 if isinstance(column.type, Integer) else "fake-hardware"
    return values


def _uuid(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


def seconds_of_upgrade(url: str, nodes: int) -> float:
    """Return how long the upgrade of so many nodes takes."""
    is_new = url.startswith("sqlite")
    if not is_new:
        make_empty(url)
    engine = make_engine(load(overrides={"database": {"connection": url}}))
    schema.DRAIN_SECONDS = 0.0  # nobody serves
    schema.downgrade(engine, "base")
    schema.upgrade(engine, "0001")
    fill(engine, nodes)
    started = time.monotonic()
    schema.upgrade(engine)
    seconds = time.monotonic() - started
    engine.dispose()
    if not is_new:
        make_empty(url)
    return seconds


def main(arguments: Sequence[str]) -> int:
    """Run the command; return its exit status."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    parser = argparse.ArgumentParser(prog="python -m tests.database.large_upgrade")
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args(arguments)
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        for url in (f"sqlite:///{folder}/fleet.sqlite", *os.environ.get("TEST_DATABASE_URLS", "").split()):
            seconds = seconds_of_upgrade(url, options.nodes)
            print(f"{url.partition(':')[0]}: {options.nodes} nodes in {seconds:.1f} s", flush=True)
            status |= seconds > options.seconds
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
