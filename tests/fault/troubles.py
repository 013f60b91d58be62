"""Troubles of the service while clients use it: workers die, its database falls silent, others hold locks."""

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import cycle
from pathlib import Path
from typing import Protocol

from requests import RequestException
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from baremetal_sched.db.engine import database_url as normal_url
from tests.fault.fleet import GROUPS
from tests.fault.servers import Server
from tests.processes import BAREMETAL_SCHED, Client, Program, program, serve
from tests.relay import Relay
from tests.waiting import wait_until

#: For how long things go wrong; each trouble once if it is 0.
SECONDS = float(os.environ.get("FAULT_SECONDS", "0"))
HEARTBEAT_INTERVAL = 0.5
REQUEST_TIMEOUT = 4
SETTINGS = {
    "DEFAULT": {"default_conductor_group": GROUPS["c1"]},
    "api": {"request_timeout": REQUEST_TIMEOUT},
    "conductor": {"heartbeat_interval": HEARTBEAT_INTERVAL, "heartbeat_timeout": 30, "sync_providers_interval": 2},
    "database": {"lock_timeout": 2, "idle_transaction_timeout": 2},
}
#: How long the service may take to serve again when a trouble is over, on a busy machine.
_RECOVERY_SECONDS = 60
#: What ``/healthcheck/live`` may take, on a busy machine.
_LIVE_SECONDS = 5

#: Foreign locks, by dialect: rows that are locked, and a whole table.
_LOCKS = {
    "sqlite": ["BEGIN IMMEDIATE"],
    "postgresql": [
        "SELECT id FROM nodes FOR UPDATE",
        "SELECT provider_id FROM inventories FOR UPDATE",
        "LOCK TABLE inventories IN ACCESS EXCLUSIVE MODE",
        "LOCK TABLE consumers IN SHARE MODE",
    ],
    "mariadb": [
        "SELECT id FROM nodes FOR UPDATE",
        "SELECT provider_id FROM inventories FOR UPDATE",
        "LOCK TABLES inventories WRITE",
        "LOCK TABLES consumers READ",
    ],
}


class Stage:
    """The service with two workers, which reaches its database through a relay, and two conductors, which do not.

    ``happened`` counts the troubles; ``slowest_live`` is the longest that ``/healthcheck/live`` took in one.
    """

    def __init__(self, folder: Path, database: str, stack: ExitStack, server: Server | None = None) -> None:
        self.happened: Counter[str] = Counter()
        self.slowest_live = self.slowest_recovery = 0.0
        self.database = ("--database", database)
        self.programs: list[Program] = []
        self._folder, self._url, self._server, self._stack = folder, database, server, stack
        self._dice = random.Random(1)
        url = make_url(normal_url(database))
        self._kind = url.get_backend_name()
        self._relay: Relay | None = None
        if self._kind != "sqlite":
            port = url.port or {"postgresql": 5432}.get(self._kind, 3306)
            self._relay = stack.enter_context(Relay(url.host or "127.0.0.1", port))
            url = url.set(port=self._relay.port)
        through = ("--database", url.render_as_string(hide_password=False))
        options = ("--without-conductor", "--workers", "2", *through)
        self.api, self.url = stack.enter_context(serve(folder, *options, settings=SETTINGS))
        self._engine = create_engine(normal_url(database), isolation_level="AUTOCOMMIT", pool_pre_ping=True)
        stack.callback(self._engine.dispose)
        self.conductors = {host: self._conduct(host) for host in GROUPS}
        for running in self.conductors.values():
            running.wait_for("conductor registered", lambda one=running: one.log)

    def _conduct(self, host: str) -> Program:
        command = (*BAREMETAL_SCHED, "conductor", "--host", host, "--group", GROUPS[host], *self.database)
        name = f"{host}-{len(self.programs)}"
        running = self._stack.enter_context(program(command, self._folder, name, SETTINGS))
        self.programs.append(running)
        return running

    def quick_troubles(self) -> list[Callable[[], None]]:
        """The troubles that are possible here and take no more than a moment."""
        return [self.kill_worker, self.hold_lock] + ([self.silence] if self._relay is not None else [])

    def troubles(self) -> list[Callable[[], None]]:
        """All that can happen here."""
        rest = [self.start_twice, self.kill_conductor] + ([self.crash_database] if self._server is not None else [])
        return self.quick_troubles() + rest

    def go_wrong(self, quick: Sequence[Callable[[], None]], pause: float) -> None:
        """All troubles in turn, for as long as FAULT_SECONDS says, each once at least; only ``quick`` if it is 0."""
        until, troubles = time.monotonic() + SECONDS, self.troubles() if SECONDS else quick
        for number, trouble in enumerate(cycle(troubles)):
            if number >= len(troubles) and time.monotonic() > until:
                break
            time.sleep(pause)
            print(f"{until - time.monotonic():6.1f} s left: {trouble.__name__}", flush=True)
            trouble()

    def kills(self) -> list[Callable[[], None]]:
        """All that can be killed here: a worker of the API, a conductor, the database."""
        return [self.kill_worker, self.kill_conductor] + ([self.crash_database] if self._server is not None else [])

    def kill_worker(self) -> None:
        """SIGKILL one of the API's workers."""
        children = Path(f"/proc/{self.api.process.pid}/task/{self.api.process.pid}/children").read_text().split()
        os.kill(int(self._dice.choice(children)), signal.SIGKILL)
        self._over("worker killed")

    def silence(self) -> None:
        """Nothing comes through between the API and its database, for longer than a request may take, or shorter."""
        assert self._relay is not None
        self._relay.silence()
        self._stay_live(self._dice.choice([0.5, REQUEST_TIMEOUT + 1]))
        self._relay.resume()
        self._over("silence")

    def hold_lock(self) -> None:
        """Another session of the database locks rows, or a table; on SQLite, the file."""
        statements = _LOCKS[self._kind]
        statement = statements[self.happened["lock"] % len(statements)]
        with self._locked(statement):
            self._stay_live(self._dice.choice([0.5, 3]))
        self._over("lock")

    @contextmanager
    def _locked(self, statement: str) -> Iterator[None]:
        is_table = statement.startswith("LOCK TABLES")
        with self._engine.connect() as connection:
            wait_until(lambda: self._locks(connection, statement), statement, seconds=_RECOVERY_SECONDS)
            try:
                yield
            finally:
                connection.execute(text("UNLOCK TABLES" if is_table else "ROLLBACK"))

    @staticmethod
    def _locks(connection: Connection, statement: str) -> bool:
        """Whether the lock was got; it may lose to the service's own."""
        try:
            if statement.startswith(("SELECT", "LOCK TABLE ")):
                connection.execute(text("BEGIN"))
            result = connection.execute(text(statement))
            if result.returns_rows:
                result.all()
        except DBAPIError:
            with suppress(DBAPIError):
                connection.execute(text("ROLLBACK"))
            return False
        return True

    def start_twice(self) -> None:
        """A second conductor of a name that is taken: it ends."""
        host = self._dice.choice([*GROUPS])
        newcomer = self._conduct(host)
        assert newcomer.process.wait(_RECOVERY_SECONDS) != 0
        assert "conductor registered" not in newcomer.log, newcomer.log
        assert self.conductors[host].process.poll() is None, self.conductors[host].log
        self._over("conductor started twice")

    def kill_conductor(self) -> None:
        """SIGKILL a conductor, and start it again: it takes over what it was doing."""
        host = self._dice.choice([*GROUPS])
        self.conductors[host].process.kill()
        self.conductors[host].process.wait(10)
        self.conductors[host] = newcomer = self._conduct(host)
        newcomer.wait_for("conductor registered", lambda: newcomer.log)
        self._over("conductor killed")

    def crash_database(self) -> None:
        """Kill its server, and start it again."""
        assert self._server is not None
        self._server.crash()
        self._stay_live(1)
        self._server.start()
        self._over("database crashed")

    def _stay_live(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        with Client(self.url) as client:
            while time.monotonic() < until:
                began = time.monotonic()
                assert client.live().status_code == 200
                self.slowest_live = max(self.slowest_live, time.monotonic() - began)
                time.sleep(0.05)
        assert self.slowest_live < _LIVE_SECONDS

    def _over(self, what: str) -> None:
        """The service serves again, for writers too."""
        began = time.monotonic()
        wait_until(self._serves, f"the service to serve again: {what}", seconds=_RECOVERY_SECONDS)
        self.slowest_recovery = max(self.slowest_recovery, time.monotonic() - began)
        self.happened[what] += 1

    def _serves(self) -> bool:
        try:
            with Client(self.url) as client:
                changed = client.placement("PUT", "/resource_classes/CUSTOM_PROBE")
                return changed.ok and client.baremetal("GET", "/nodes?limit=1").ok
        except RequestException:
            return False


class Busy(Protocol):
    """A client of a fault test."""

    def live(self, urls: list[str], stop: threading.Event) -> None:
        """Do something all the time, until ``stop``."""


@contextmanager
def busy(clients: Sequence[Busy], urls: list[str]) -> Iterator[None]:
    """The clients do something all the time, until this ends."""
    stop = threading.Event()
    with ThreadPoolExecutor(len(clients)) as threads:
        living = [threads.submit(each.live, urls, stop) for each in clients]
        try:
            yield
        finally:
            stop.set()
        for each in living:
            each.result()


@contextmanager
def repeated(action: Callable[[], None], pause: float) -> Iterator[None]:
    """``action`` again and again, in a thread, until this ends; what it raises is raised here."""
    stop = threading.Event()
    raised: list[BaseException] = []

    def run() -> None:
        try:
            while not stop.is_set():
                action()
                stop.wait(pause)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if raised:
        raise raised[0]
