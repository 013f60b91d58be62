"""The cost of authentication: ``python -m tests.benchmarks.authentication``.

The service in process, over SQLite, with strategy ``none`` and with ``keystone``, in turn. Tokens are cached: in the
process, and with ``--memcached HOST:PORT`` in memcached too. Times are medians in milliseconds of wall time.
"""

import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import click
from sqlalchemy import select
from werkzeug.test import EnvironBuilder, run_wsgi_app

from baremetal_sched import logs
from baremetal_sched.db import schema
from baremetal_sched.db.models import Node
from baremetal_sched.db.transaction import Database
from baremetal_sched.placement.names import sync_standard_names
from baremetal_sched.settings import load
from tests.fake_keystone import fake_keystone
from tests.service import Service

NODES = 1000
PROJECT = "blue"
CONSUMER = "aaaaaaaa-0000-4000-8000-000000000001"
PLACEMENT = {"OpenStack-API-Version": "placement 1.39"}
BAREMETAL = {"X-OpenStack-Ironic-API-Version": "1.115"}

#: The conductor that the nodes have may be silent for long.
PATIENT = {"conductor": {"heartbeat_timeout": 3600}}

#: A request, given to the WSGI application; returns its status.
Ask = Callable[[], int]


def prepared(service: Service, method: str, path: str, headers: dict[str, str], body: Any = None) -> Ask:
    """Return a function that makes this request in process, and reads the whole answer."""
    environ = EnvironBuilder(path, method=method, headers=headers, json=body).get_environ()

    def ask() -> int:
        environ["wsgi.input"].seek(0)
        parts, status, _ = run_wsgi_app(service.app, dict(environ))
        for _part in parts:
            pass
        return int(status[:3])

    return ask


def cases(service: Service, service_token: str, reader_token: str) -> dict[str, Ask]:
    """The measured requests, by title."""
    ours, theirs = {"X-Auth-Token": service_token}, {"X-Auth-Token": reader_token}
    node = service.database.read(lambda session: session.scalar(select(Node.uuid).limit(1)))
    claim = {
        "allocations": {node: {"resources": {"CUSTOM_GOLD": 1}}},
        "consumer_generation": None,
        "project_id": "p",
        "user_id": "u",
        "consumer_type": "INSTANCE",
    }
    put = prepared(service, "PUT", f"/placement/allocations/{CONSUMER}", PLACEMENT | ours, claim)
    release = prepared(service, "DELETE", f"/placement/allocations/{CONSUMER}", PLACEMENT | ours)
    find = "/placement/allocation_candidates?resources=CUSTOM_GOLD:1&limit=1"
    return {
        "candidates": prepared(service, "GET", find, PLACEMENT | ours),
        "claim": put,
        "release": release,
        "nodes/detail, 1,000, as project reader": prepared(
            service, "GET", "/baremetal/v1/nodes/detail?limit=1000", BAREMETAL | theirs
        ),
    }


def template(folder: Path) -> Path:
    """Return a SQLite file that has nodes, all of one project."""
    path = folder / "template.sqlite"
    database = Database(load(overrides={"database": {"connection": f"sqlite:///{path}"}}))
    schema.upgrade(database.engine)
    database.write(sync_standard_names)
    database.dispose()
    info = {"ipmi_address": "192.0.2.1", "ipmi_username": "admin", "ipmi_password": "x"}
    with Service(f"sqlite:///{path}", **PATIENT) as service:
        service.add_conductor("c1")
        for number in range(NODES):
            service.add_node(f"n{number}", owner=f"{PROJECT}-id", driver_info=info, traits=("HW_CPU_X86_VMX",))
        with service.database.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@contextmanager
def services(folder: Path, memcached: str | None) -> Iterator[dict[str, dict[str, Ask]]]:
    """Yield the measured times, by strategy."""
    content = template(folder).read_bytes()
    with ExitStack() as stack:
        keystone = stack.enter_context(fake_keystone())
        token = keystone.issue("nova", "admin", "member", "reader", "service", project="service")
        reader = keystone.issue("ann", "reader", project=PROJECT)
        found = {}
        strategies = {"none": {"api": {"auth_strategy": "none"}}, "keystone": keystone.settings()}
        if memcached:
            strategies["memcached"] = keystone.settings(memcached_servers=memcached)
        for name, options in strategies.items():
            path = folder / f"{name}.sqlite"
            path.touch(mode=0o600)
            path.write_bytes(content)
            service = stack.enter_context(Service(f"sqlite:///{path}", **PATIENT, **options))
            found[name] = cases(service, token, reader)
        yield found


def measure(found: dict[str, dict[str, Ask]], rounds: int) -> dict[str, dict[str, float]]:
    """Return medians in milliseconds, by title and strategy."""
    times: dict[tuple[str, str], list[float]] = {}
    for number in range(rounds):
        for strategy, asks in found.items():
            for title, ask in asks.items():
                if "1,000" in title and number % 20:
                    continue
                before = time.perf_counter()
                status = ask()
                times.setdefault((title, strategy), []).append((time.perf_counter() - before) * 1000)
                assert status < 300, f"{title} with {strategy}: {status}"
    medians: dict[str, dict[str, float]] = {}
    for (title, strategy), taken in times.items():
        medians.setdefault(title, {})[strategy] = median(taken[len(taken) // 10 :])
    return medians


@click.command(help=__doc__)
@click.option("--rounds", default=2000, help="How often each request is made; the long list, a twentieth of that.")
@click.option("--memcached", help="HOST:PORT: measure with tokens in memcached, too.")
def main(rounds: int, memcached: str | None) -> None:
    logs.configure(load())
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("w") as log:
        logging.getLogger().handlers[0].setStream(log)  # type: ignore[attr-defined]
        with services(Path(folder), memcached) as found:
            medians = measure(found, rounds)
    for title, by_strategy in medians.items():
        none = by_strategy["none"]
        more = ", ".join(
            f"{strategy} {taken:.3f} ({taken - none:+.3f}, {(taken / none - 1) * 100:+.0f} %)"
            for strategy, taken in by_strategy.items()
            if strategy != "none"
        )
        print(f"{title}: none {none:.3f}, {more}")


if __name__ == "__main__":
    main()
