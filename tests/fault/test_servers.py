"""Servers: many ask for them at once, for twice as many as there are machines; and everything is killed meanwhile.

Each machine goes to one server, and a request that gets none is told why. Workers of the API, conductors and the
database are killed while clients boot and delete servers: no server is built forever, no machine has two,
every claim has a server, and what was confirmed is there.

FAULT_SECONDS says for how long (each kill once by default), FAULT_MACHINES how many machines there are for twice as
many requests at once (20; 100 if FAULT_SECONDS is said). If it is said, PostgreSQL and MariaDB are servers of this
test's own, which crash too.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text

from baremetal_sched.db.engine import database_url as normal_url
from tests.fault import machines
from tests.fault.booters import Booter
from tests.fault.claim_journal import ClaimJournal
from tests.fault.fleet import GROUPS
from tests.fault.troubles import SECONDS, Stage, busy, repeated
from tests.fault.watching import DOUBLY_HELD, watched
from tests.processes import Client, run, serve
from tests.waiting import wait_until

MACHINES = int(os.environ.get("FAULT_MACHINES", "100" if SECONDS else "20"))
_BOOTERS = 6
#: How often a client asks that is told to try again.
_TRIES = 5
#: So few machines that clients meet.
_FEW = 12
#: How long it may take until nothing is being built, deleted or cleaned, on a busy machine.
_SETTLING_SECONDS = 120

#: Claims that no server has. (All consumers here are servers.)
CLAIM_WITHOUT_SERVER = """
SELECT c.uuid, a.provider_id FROM consumers c JOIN allocations a ON a.consumer_id = c.id
WHERE NOT EXISTS (SELECT 1 FROM servers s WHERE s.uuid = c.uuid)
"""
#: Servers on machines that they have not claimed.
MACHINE_WITHOUT_CLAIM = """
SELECT n.uuid, n.instance_uuid FROM nodes n WHERE n.instance_uuid IS NOT NULL AND NOT EXISTS (
SELECT 1 FROM resource_providers p JOIN allocations a ON a.provider_id = p.id JOIN consumers c ON c.id = a.consumer_id
WHERE p.uuid = n.uuid AND c.uuid = n.instance_uuid)
"""
#: Claims of machines on which their server is not.
CLAIM_WITHOUT_MACHINE = """
SELECT n.uuid, c.uuid FROM nodes n JOIN resource_providers p ON p.uuid = n.uuid
JOIN allocations a ON a.provider_id = p.id JOIN consumers c ON c.id = a.consumer_id
WHERE n.instance_uuid IS NULL OR n.instance_uuid <> c.uuid
"""
SERVER_ON_TWO = """
SELECT n.instance_uuid, COUNT(*) FROM nodes n WHERE n.instance_uuid IS NOT NULL GROUP BY n.instance_uuid
HAVING COUNT(*) > 1
"""
WRONG = (DOUBLY_HELD, CLAIM_WITHOUT_SERVER, MACHINE_WITHOUT_CLAIM, CLAIM_WITHOUT_MACHINE, SERVER_ON_TWO)
#: Tables in which servers leave nothing behind.
TABLES = ("allocations", "consumers", "servers", "server_tags", "server_actions", "node_work")


def test_each_machine_goes_to_one_of_many_who_ask_at_once(database_url: str, tmp_path: Path) -> None:
    database = ("--database", database_url)
    with serve(tmp_path, "--workers", "2", *database) as (_, url), Client(url) as client:
        nodes = machines.enrol(url, MACHINES)
        asked = machines.flavor_and_image(client)
        with watched(database_url, *WRONG) as watch:
            began = time.monotonic()
            answers = at_once(url, [("POST", "/servers", {"server": {"name": f"s{number}", **asked}})
                                    for number in range(2 * MACHINES)])  # fmt: skip
            assert {answer.status_code for answer in answers} == {202}, [answer.text for answer in answers]
            print(f"{len(answers)} servers were created in {time.monotonic() - began:.1f} s")
            settle(client)
        servers = listed(client)
        assert {server["id"] for server in servers} == {answer.json()["server"]["id"] for answer in answers}
        assert Counter(server["status"] for server in servers) == {"ACTIVE": MACHINES, "ERROR": MACHINES}
        hosts = [server["OS-EXT-SRV-ATTR:hypervisor_hostname"] for server in servers if server["status"] == "ACTIVE"]
        assert sorted(hosts) == sorted(nodes)
        faults = {server["fault"]["message"].split(".")[0] for server in servers if server["status"] == "ERROR"}
        assert faults == {"No valid host was found"}
        assert watch.findings == []
        delete_all(url, client)
        wait_until(
            lambda: sorted(machines.offered(client)) == sorted(nodes), "machines to be free", seconds=_SETTLING_SECONDS
        )
        assert rows_left(database_url) == {}
    audited = run(tmp_path, "db", "check", *database)
    assert (audited.returncode, audited.stdout) == (0, "ok\n"), audited.stdout


def test_nothing_that_is_killed_loses_or_doubles_a_server(stage: Stage, tmp_path: Path) -> None:
    nodes = machines.enrol(stage.url, _FEW, GROUPS.values())
    with Client(stage.url) as client:
        asked = machines.flavor_and_image(client)
    booters = [Booter(number, dict(zip(nodes, nodes, strict=True)), asked) for number in range(_BOOTERS)]
    with (
        watched(stage.database[1], *WRONG) as watch,
        repeated(lambda: machines.repair(stage.url), 0.5),
    ):
        with busy(booters, [stage.url]):
            stage.go_wrong(stage.kills(), 1)
        with Client(stage.url) as client:
            settle(client)
            findings = [*lost(client, booters)]
            report(booters, stage.happened)
            delete_all(stage.url, client)
            wait_until(
                lambda: sorted(machines.offered(client)) == sorted(nodes), "free machines", seconds=_SETTLING_SECONDS
            )
    findings += [*watch.findings, *ClaimJournal([booter.record for booter in booters]).findings()]
    print(f"{watch.looks} looks, served again in {stage.slowest_recovery:.2f} s", *findings, sep="\n")
    assert findings == []
    assert [failure for booter in booters for failure in booter.failures] == []
    assert rows_left(stage.database[1]) == {}
    audited = run(tmp_path, "db", "check", *stage.database)
    assert (audited.returncode, audited.stdout) == (0, "ok\n"), audited.stdout
    # That was not for nothing.
    assert seen(booters)["ACTIVE"] > 0, seen(booters)
    assert any(booter.deleted for booter in booters)


def at_once(url: str, calls: list[tuple[Any, ...]]) -> list[Any]:
    """The answers of the compute API to calls that are all made at the same time.

    SQLite lets one write at a time, and none in its turn: who waits for too long is told to try again, and does.
    """

    def ask(call: tuple[Any, ...]) -> Any:
        with Client(url) as client:
            for _ in range(_TRIES):
                answer = client.compute(*call)
                if answer.status_code != 503 or "Retry-After" not in answer.headers:
                    break
            return answer

    with ThreadPoolExecutor(len(calls)) as threads:
        return [*threads.map(ask, calls)]


def listed(client: Client) -> list[dict[str, Any]]:
    """All servers; raises if that is not answered."""
    answer = client.compute("GET", "/servers/detail")
    assert answer.status_code == 200, answer.text
    servers: list[dict[str, Any]] = answer.json()["servers"]
    return servers


def settle(client: Client) -> None:
    """Wait until nothing is being done to any server."""

    def is_quiet() -> bool:
        states = {(server["status"], server["OS-EXT-STS:task_state"]) for server in listed(client)}
        return all(status in ("ACTIVE", "ERROR") and task is None for status, task in states)

    wait_until(patient(is_quiet), "all servers to be active or in error", seconds=_SETTLING_SECONDS)


def delete_all(url: str, client: Client) -> None:
    """Delete all servers, those again whose machine could not be undeployed, and wait until they are gone."""

    def is_empty() -> bool:
        servers = [server for server in listed(client) if server["OS-EXT-STS:task_state"] is None]
        if servers:
            at_once(url, [("DELETE", f"/servers/{server['id']}") for server in servers])
        return not listed(client)

    wait_until(patient(is_empty), "all servers to be gone", seconds=_SETTLING_SECONDS)


def patient(condition: Callable[[], bool]) -> Callable[[], bool]:
    """``condition``, asked not too often."""

    def check() -> bool:
        time.sleep(0.2)
        return condition()

    return check


def lost(client: Client, booters: list[Booter]) -> Iterator[str]:
    """Confirmed servers that are missing in the end, and the other way round."""
    servers = {server["id"]: server for server in listed(client)}
    for booter in booters:
        for server in booter.servers:
            if server not in servers:
                yield f"server {server} was confirmed, and is not there"
        for server in booter.deleted:
            # It is in error if its conductor was killed at the undeployment, and is deleted now if that is repaired.
            left = servers.get(server)
            if left and left["status"] != "ERROR" and left["OS-EXT-STS:task_state"] != "deleting":
                yield f"server {server} was deleted, and is {servers[server]['status']}"
    for consumer, amounts in ClaimJournal([booter.record for booter in booters]).certain():
        found = client.placement("GET", f"/allocations/{consumer}").json()["allocations"]
        held = {uuid: part["resources"] for uuid, part in found.items()}
        if amounts and held != amounts:
            yield f"server {consumer}: {amounts} was confirmed, {held} is there"


def rows_left(url: str) -> dict[str, int]:
    """The rows that are left, by table, where there are any."""
    engine = create_engine(normal_url(url))
    with engine.connect() as connection:
        counts = {table: connection.scalar(text(f"SELECT COUNT(*) FROM {table}")) or 0 for table in TABLES}
    engine.dispose()
    return {table: count for table, count in counts.items() if count}


def report(booters: list[Booter], happened: Counter[str]) -> None:
    """Print the numbers."""
    statuses = sum((booter.statuses for booter in booters), Counter[tuple[str, int]]())
    for (name, status), number in sorted(statuses.items()):
        print(f"{number:8} {name} {status or 'lost'}")
    print(f"servers: {dict(seen(booters))}; {dict(happened)}")


def seen(booters: list[Booter]) -> Counter[str]:
    """How many servers were seen in which status."""
    return Counter(status for booter in booters for status in booter.settled.values())
