"""Imports many nodes from MariaDB, and says how long it takes and how much memory: ``python -m tests.moving.large``.

``--ironic URL`` and ``--placement URL`` are databases that have their schemas (``ironic-dbsync create_schema``,
``placement-manage db sync``) and nothing else; ``--target URL`` is an empty one with ours. ``--nodes`` are added.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from sqlalchemy import MetaData, Table, create_engine, func, insert, select

from baremetal_sched.db.engine import database_url
from tests.moving.moving_nodes import INTERFACES, name_of
from tests.moving.sources import NOW

_VERSIONS = {"nodes": "1.44", "ports": "1.16", "node_history": "1.3"}
_ROWS = 1000


def nodes(count: int) -> Iterator[dict[str, Any]]:
    """Nodes of Ironic, every other one in use."""
    interfaces = {f"{kind}_interface": "fake" for kind in INTERFACES}
    for number in range(1, count + 1):
        used = number % 2
        yield {
            "id": number,
            "uuid": name_of("node", number),
            "name": f"node-{number}",
            "driver": "fake-hardware",
            "driver_info": json.dumps({"redfish_address": f"https://{number}", "redfish_password": "secret"}),
            "driver_internal_info": "{}",
            "properties": json.dumps({"cpus": 8, "memory_mb": 1024, "cpu_arch": "x86_64", "capabilities": "a:b"}),
            "extra": json.dumps({"rack": number % 100}),
            "instance_info": json.dumps({"image_source": "http://images/a"}) if used else "{}",
            "instance_uuid": name_of("instance", number) if used else None,
            "resource_class": f"class-{number % 10}",
            "provision_state": "active" if used else "available",
            "power_state": "power on",
            "conductor_group": "",
            "network_interface": "noop",
            "protected": False,
            "maintenance": False,
            "updated_at": NOW,
            **interfaces,
        }


def rows_of_ironic(count: int) -> Iterator[tuple[str, Iterator[dict[str, Any]]]]:
    """Rows by table."""
    numbers = range(1, count + 1)
    yield "nodes", nodes(count)
    yield (
        "ports",
        (
            {
                "uuid": name_of("port", 2 * number + place),
                "node_id": number,
                "address": ":".join(f"{(2 * number + place):012x}"[i : i + 2] for i in range(0, 12, 2)),
                "pxe_enabled": not place,
                "available_for_dynamic_portgroup": True,
                "extra": "{}",
            }
            for number in numbers
            for place in range(2)
        ),
    )
    yield "node_traits", ({"node_id": n, "trait": f"CUSTOM_{t}_{n % 20}"} for n in numbers for t in ("A", "B"))
    events = {"event": "It was deployed", "event_type": "provision", "severity": "INFO", "state": "active"}
    yield (
        "node_history",
        ({"uuid": name_of("event", 2 * n + e), "node_id": n, **events} for n in numbers for e in range(2)),
    )


def rows_of_placement(count: int) -> Iterator[tuple[str, Iterator[dict[str, Any]]]]:
    """Rows by table."""
    numbers, used = range(1, count + 1), range(1, count + 1, 2)
    traits = ["COMPUTE_NODE", *(f"CUSTOM_{t}_{n}" for t in ("A", "B") for n in range(20))]
    ids = {name: 100_000 + place for place, name in enumerate(traits)}
    unit = {"total": 1, "reserved": 0, "min_unit": 1, "max_unit": 1, "step_size": 1, "allocation_ratio": 1.0}
    yield "resource_classes", ({"id": 10_000 + n, "name": f"CUSTOM_CLASS_{n}"} for n in range(10))
    yield "traits", ({"id": row_id, "name": name} for name, row_id in ids.items())
    yield "projects", iter([{"id": 1, "external_id": "p"}])
    yield "users", iter([{"id": 1, "external_id": "u"}])
    yield (
        "resource_providers",
        (
            {"id": n, "uuid": name_of("node", n), "name": name_of("node", n), "generation": 3, "root_provider_id": n}
            for n in numbers
        ),
    )
    classes = {n: 10_000 + n % 10 for n in numbers}
    yield "inventories", ({"resource_provider_id": n, "resource_class_id": classes[n], **unit} for n in numbers)
    yield (
        "resource_provider_traits",
        (
            {"resource_provider_id": n, "trait_id": each}
            for n in numbers
            for each in (100_000, ids[f"CUSTOM_A_{n % 20}"], ids[f"CUSTOM_B_{n % 20}"])
        ),
    )
    consumer = {"project_id": 1, "user_id": 1, "generation": 1}
    yield "consumers", ({"id": n, "uuid": name_of("instance", n), **consumer} for n in used)
    yield (
        "allocations",
        (
            {
                "resource_provider_id": n,
                "resource_class_id": classes[n],
                "consumer_id": name_of("instance", n),
                "used": 1,
            }
            for n in used
        ),
    )


def fill(url: str, tables: Iterator[tuple[str, Iterator[dict[str, Any]]]]) -> None:
    """Insert rows."""
    engine, metadata = create_engine(database_url(url)), MetaData()
    for name, rows in tables:
        table = Table(name, metadata, autoload_with=engine, resolve_fks=False)
        more: dict[str, Any] = {"created_at": NOW, **({"version": _VERSIONS[name]} if name in _VERSIONS else {})}
        with engine.begin() as connection:
            waiting: list[dict[str, Any]] = []
            for row in rows:
                waiting.append({**more, **row})
                if len(waiting) == _ROWS:
                    connection.execute(insert(table), waiting)
                    waiting = []
            if waiting:
                connection.execute(insert(table), waiting)
    engine.dispose()


def is_empty(url: str, name: str) -> bool:
    """Whether a table has no rows."""
    engine = create_engine(database_url(url))
    table = Table(name, MetaData(), autoload_with=engine, resolve_fks=False)
    with engine.connect() as connection:
        return not connection.scalar(select(func.count()).select_from(table))


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("ironic", "placement", "target"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--nodes", type=int, default=100_000)
    given = parser.parse_args()
    if is_empty(given.ironic, "nodes"):
        fill(given.ironic, rows_of_ironic(given.nodes))
    if is_empty(given.placement, "resource_providers"):
        fill(given.placement, rows_of_placement(given.nodes))
    command = [sys.executable, "-m", "baremetal_sched", "import", "--database", given.target]
    command += ["--from-ironic-db", given.ironic, "--from-placement-db", given.placement]
    for run in ("first", "second"):
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        seconds = time.monotonic() - began
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        last = (
            (done.stdout + done.stderr[-2000:]).strip().splitlines()[-1]
            if done.returncode
            else done.stdout.splitlines()[-1]
        )
        print(f"{run} run: {seconds:.0f} s, {memory:.0f} MB, exit status {done.returncode}: {last}")


if __name__ == "__main__":
    main()
