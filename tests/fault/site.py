"""Three conductors in two groups, the API beside them, and what can happen to a conductor."""

import os
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from sqlalchemy import Engine, create_engine, select, text
from sqlalchemy.exc import DBAPIError

from baremetal_sched.db.clock import epoch
from baremetal_sched.db.engine import database_url as normal_url
from baremetal_sched.db.models import Conductor
from tests.fault.journal import Life
from tests.fault.servers import Server
from tests.fault.tenants import Tenant
from tests.processes import BAREMETAL_SCHED, Client, Program, Values, program, serve
from tests.waiting import PATIENCE, START, wait_until

SECONDS = float(os.environ.get("FAULT_SECONDS", "0"))
GROUPS = {"c1": "rack1", "c2": "rack1", "c3": "rack2"}
HEARTBEAT_TIMEOUT = 6.0
TICK = 1.0
#: How late others may have the work of one that is gone, if faults go on for long; otherwise just that they have it.
ALLOWANCE = 15.0
#: How much longer the time-out is on SQLite, which lets one write at a time, and nobody in his turn.
SQLITE_FACTOR = 2

_SETTINGS = {
    "conductor": {
        "heartbeat_interval": 0.5,
        "check_provision_state_interval": TICK,
        "sync_power_state_interval": 5,
        "sync_local_state_interval": 5,
        "sync_providers_interval": 5,
        "node_locked_retry_attempts": 2,
        "workers_pool_size": 8,
    },
    "database": {"idle_transaction_timeout": 2},
    "fake": {f"{kind}_delay": 0.05 for kind in ("power", "deploy", "vendor", "bios", "rescue", "inspect")},
}
_TENANTS = 6


class Site:
    """Everything that runs; ``server`` is that of the database, if it may be killed.

    ``lives`` are the processes of the conductors now, ``all_lives`` all that there were; ``seconds`` says how long what
    took, each time. ``releases`` are folders of other releases, by the host, or "api", that runs one.
    """

    def __init__(
        self,
        folder: Path,
        database: str,
        stack: ExitStack,
        server: Server | None,
        releases: Mapping[str, Path] = MappingProxyType({}),
        settings: Values = MappingProxyType({}),
    ) -> None:
        self._folder = folder
        self._releases = releases
        self.server = server
        self.is_embedded = database.startswith("sqlite")
        self.heartbeat_timeout = HEARTBEAT_TIMEOUT * (SQLITE_FACTOR if self.is_embedded else 1)
        self._allowance = ALLOWANCE if SECONDS else PATIENCE
        beats = {"heartbeat_timeout": self.heartbeat_timeout}
        conductor = {**_SETTINGS["conductor"], **beats, **settings.get("conductor", {})}
        self._settings = {**_SETTINGS, **settings, "conductor": conductor}
        self.database = ("--database", database)
        self._stack = stack
        options = ("--without-conductor", "--workers", "2", *self.database)
        self.api, self.url = stack.enter_context(serve(releases.get("api", folder), *options, settings=self._settings))
        self.client = stack.enter_context(Client(self.url))
        self._engine: Engine = create_engine(normal_url(database), pool_pre_ping=True)
        stack.callback(self._engine.dispose)
        self.running: dict[str, Program] = {}
        self.lives: dict[str, Life] = {}
        self.all_lives: list[Life] = []
        self.seconds: dict[str, list[float]] = defaultdict(list)

    def start(self, *hosts: str) -> None:
        """Start the conductors, or the next process of each, and wait until they are registered."""
        for running in [self._spawn(host) for host in hosts]:
            running.wait_for("conductor registered", lambda program=running: program.log)

    def _spawn(self, host: str) -> Program:
        name = f"{host}-{len(self.all_lives)}"
        command = (*BAREMETAL_SCHED, "conductor", "--host", host, "--group", GROUPS[host], *self.database)
        folder = self._releases.get(host, self._folder)
        self.running[host] = self._stack.enter_context(program(command, folder, name, self._settings))
        self.lives[host] = Life(name, folder / f"{name}.log")
        self.all_lives.append(self.lives[host])
        return self.running[host]

    def enrol(self, count: int) -> list[Tenant]:
        """Create nodes, the groups in turn; returns their tenants."""
        groups = sorted(set(GROUPS.values()))

        def create(number: int) -> list[str]:
            with Client(self.url) as client:
                return [self._create(client, index, groups) for index in range(number, count, _TENANTS)]

        with ThreadPoolExecutor(_TENANTS) as threads:
            return [Tenant(number, nodes) for number, nodes in enumerate(threads.map(create, range(_TENANTS)))]

    @staticmethod
    def _create(client: Client, index: int, groups: list[str]) -> str:
        body = {
            "driver": "fake-hardware",
            "name": f"n{index}",
            "resource_class": "gold",
            "conductor_group": groups[index % len(groups)],
        }
        response = client.baremetal("POST", "/nodes", body)
        assert response.status_code == 201, response.text
        uuid: str = response.json()["uuid"]
        return uuid

    @contextmanager
    def busy(self, tenants: list[Tenant], pause: float) -> Iterator[None]:
        """The tenants do something all the time, until this ends."""
        stop = threading.Event()
        with ThreadPoolExecutor(len(tenants) + 1) as threads:
            living = [threads.submit(tenant.live, self.url, stop, pause) for tenant in tenants]
            living.append(threads.submit(self._note_late_heartbeats, stop))
            try:
                yield
            finally:
                stop.set()
            for each in living:
                each.result()

    def _note_late_heartbeats(self, stop: threading.Event) -> None:
        """Note who is late although nothing was done to it: the machine is busy, so its work may be taken away."""
        query = select(Conductor.hostname, epoch() - Conductor.heartbeat_at).where(Conductor.online.is_(True))
        late: dict[str, list[float]] = {}
        while not stop.wait(0.2):
            with suppress(DBAPIError), self._engine.connect() as connection:
                for host, age in connection.execute(query).all():
                    now, life = time.time(), self.lives[host]
                    if age < self.heartbeat_timeout / 4:
                        late.pop(host, None)
                    elif host in late:
                        late[host][1] = now
                    else:
                        late[host] = [now - age, now]
                        life.suspended.append(late[host])

    # -- what can happen to a conductor -------------------------------------------------------------------------------

    def kill(self, host: str) -> None:
        """SIGKILL; it is started again when others have its nodes, at once if there are none."""
        began = time.time()
        self.running[host].process.kill()
        self.lives[host].suspended.append([began, float("inf")])
        self.running[host].process.wait(PATIENCE)
        orphans = self._work_of(host)
        if self._has_others(host):
            self._await_owners("killed", host, orphans, began, self.heartbeat_timeout + TICK)
            self.start(host)
        else:
            self.start(host)
            self._await_owners("killed and started", host, orphans, time.time(), TICK)

    def suspend(self, host: str) -> None:
        """SIGSTOP until its time is up and others have its nodes, and then SIGCONT."""
        began = time.time()
        self.running[host].process.send_signal(signal.SIGSTOP)
        pause = [began, float("inf")]
        self.lives[host].suspended.append(pause)
        orphans = self._work_of(host)
        if self._has_others(host):
            self._await_owners("suspended", host, orphans, began, self.heartbeat_timeout + TICK)
        time.sleep(max(0.0, began + self.heartbeat_timeout + 2 * TICK - time.time()))
        assert not self.alive()[host]
        self.running[host].process.send_signal(signal.SIGCONT)
        pause[1] = time.time()
        wait_until(lambda: self.alive()[host], f"{host} to be alive again")

    def stop(self, host: str) -> None:
        """SIGTERM; it ends by itself, and others have its nodes at once."""
        began, orphans = time.time(), self._work_of(host)
        self.running[host].process.terminate()
        if self._has_others(host):
            self._await_owners("stopped", host, set(), began, TICK)
        assert self.running[host].process.wait(START) == 0
        assert not orphans & self._work_of(host), f"{host} stopped and left work behind"
        self.start(host)

    # -- and to the database ------------------------------------------------------------------------------------------

    def restart_database(self, seconds: float) -> None:
        """Kill the server; meanwhile the API says 503, and when. Afterwards everything goes on by itself."""
        assert self.server is not None
        self.server.crash()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._assert_unavailable()
            time.sleep(0.1)
        self.server.start()
        began, before = time.monotonic(), self._pieces()
        wait_until(self.answers, "the API to answer again")
        wait_until(lambda: all(self.alive().values()), "all conductors to be alive again")
        for host, pieces in before.items():
            wait_until(lambda h=host, p=pieces: self._pieces()[h] > p, f"{host} to work again")  # type: ignore[misc]
        self.seconds["served again, database restarted"].append(time.monotonic() - began)

    def _assert_unavailable(self) -> None:
        answers = [
            self.client.baremetal("GET", "/nodes?limit=1"),
            self.client.baremetal("POST", "/nodes", {"driver": "fake-hardware"}),
            self.client.baremetal("PUT", "/nodes/n0/states/provision", {"target": "manage"}),
            self.client.placement("GET", "/resource_providers"),
            self.client.healthcheck(),
        ]
        for answer in answers:
            assert answer.status_code == 503, (answer.url, answer.status_code, answer.text)
            assert ("Retry-After" in answer.headers) == ("/baremetal/" not in answer.url)

    def _pieces(self) -> dict[str, int]:
        """How many pieces of work each conductor has begun."""
        return {host: running.log.count('"work begins"') for host, running in self.running.items()}

    # -- what can be seen ---------------------------------------------------------------------------------------------

    def alive(self) -> dict[str, bool]:
        """Who is alive, by host name; nobody if that cannot be asked."""
        response = self.client.baremetal("GET", "/conductors")
        found = response.json()["conductors"] if response.status_code == 200 else []
        return dict.fromkeys(GROUPS, False) | {row["hostname"]: row["alive"] for row in found}

    def scalar(self, query: str, **values: object) -> int:
        """The number that a query returns."""
        with self._engine.connect() as connection:
            return int(connection.scalar(text(query), values) or 0)

    def is_deploying(self, host: str) -> bool:
        """Is a node being deployed, by this conductor?"""
        query = """
            SELECT count(*) FROM node_work JOIN nodes ON nodes.id = node_work.node_id
            WHERE conductor = :host AND provision_state = 'deploying'
        """
        return self.scalar(query, host=host) > 0

    def answers(self) -> bool:
        """Does the API serve?"""
        return self.client.baremetal("GET", "/nodes?limit=1").status_code == 200

    def _has_others(self, host: str) -> bool:
        return any(group == GROUPS[host] for other, group in GROUPS.items() if other != host)

    def _work_of(self, host: str) -> set[int]:
        """The fences of the work that a process of ``host`` has begun."""
        query = text("SELECT id FROM node_work WHERE conductor = :host AND claimed_by IS NOT NULL")
        with self._engine.connect() as connection:
            return set(connection.scalars(query, {"host": host}))

    def _await_owners(self, fault: str, host: str, orphans: set[int], began: float, limit: float) -> None:
        """Wait until each node of the group of ``host`` has an owner that is there; and then until what ``host`` was
        doing has ended, one node after the other."""
        there = {name for name, group in GROUPS.items() if group == GROUPS[host]}
        if self._has_others(host):
            there.remove(host)
        wait_until(
            lambda: self._owners(host) <= there, f"orphans to be owned, {host} {fault}", seconds=limit + self._allowance
        )
        self.seconds[f"owned again, {fault}"].append(time.time() - began)
        # Work that was under way ends step by step, on a machine that may stand still for seconds.
        left = 2 * (limit + self._allowance) + 0.1 * len(orphans)
        wait_until(lambda: not orphans & self._work_of(host), f"orphans to be free, {host} {fault}", seconds=left)
        self.seconds[f"free again, {fault}"].append(time.time() - began)

    def _owners(self, host: str) -> set[str | None]:
        path = f"/nodes?fields=uuid,conductor&limit=1000&conductor_group={GROUPS[host]}"
        response = self.client.baremetal("GET", path)
        assert response.status_code == 200, response.text
        return {node["conductor"] for node in response.json()["nodes"]}
