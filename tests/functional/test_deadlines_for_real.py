"""Deadlines that the service promises, by the clock of the machine: what hangs ends in time, and not before.

Other tests inject clocks, and say nothing of how long anything takes. These run in ``.ci/extended`` only.
"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from baremetal_sched import bounded_http
from baremetal_sched.allowed_hosts import AllowedHosts
from baremetal_sched.baremetal.inspection.rules.limits import RuleFailed
from baremetal_sched.db.deadline import limited
from baremetal_sched.drivers.ipmi import ipmitool
from baremetal_sched.drivers.redfish import connection
from baremetal_sched.drivers.registry import interface
from baremetal_sched.errors import DatabaseTimeout
from baremetal_sched.errors.baremetal import MachineUnreachable
from baremetal_sched.web.slots import Slots
from tests.database.test_deadlines import foreign, longer_than_the_deadline
from tests.database.test_explanation_limits import SLOW
from tests.functional.placement.test_hard_requests import TIGHT, hosts, of
from tests.redfish import machine, quick
from tests.redfish.raw import dribbling, raw, silent
from tests.service import Service
from tests.unit.ipmi.machines import machine as ipmi_machine
from tests.unit.ipmi.machines import put_program
from tests.unit.test_rules import clause, spend
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

#: How late an end may be: a tick, and a busy machine.
LATE = 10.0


@contextmanager
def ends_after(seconds: float) -> Iterator[None]:
    """These tests take that long, and little more."""
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    assert seconds - 0.1 <= took < seconds + LATE


def test_a_request_whose_statement_does_not_end(database_url: str) -> None:
    with Service(database_url, api={"request_timeout": 2}) as service:
        sleeps = text(longer_than_the_deadline(service.database.engine.dialect.name))
        with ends_after(2), pytest.raises(DatabaseTimeout):
            service.database.write(lambda session: session.execute(sleeps).all())


def test_an_explanation_whose_statement_does_not_end(service: Service) -> None:
    slow = text(SLOW[service.database.engine.dialect.name])

    def work(session: object) -> None:
        with limited(session, 1):  # type: ignore[arg-type]
            session.execute(slow).all()  # type: ignore[attr-defined]

    with ends_after(1), pytest.raises(TimeoutError):
        service.database.read(work)


def test_a_lock_that_another_program_holds(database_url: str) -> None:
    with Service(database_url, database={"lock_timeout": 1}) as service:
        service.add_conductor("c1")
        node = service.add_node("n1")
        is_sqlite = service.database.engine.dialect.name == "sqlite"
        with foreign(database_url) as engine, engine.connect() as other:
            other.exec_driver_sql("BEGIN IMMEDIATE" if is_sqlite else "SELECT * FROM nodes FOR UPDATE")
            with ends_after(1):
                service.patch(node, ("add", "/extra/a", 1), status=503)


def test_a_request_that_finds_no_slot() -> None:
    slots = Slots(1, 0)
    assert slots.take(0)
    with ends_after(1):
        assert not slots.take(time.monotonic() + 1)


def test_a_search_for_candidates(database_url: str) -> None:
    with Service(database_url, placement={"candidates_time_limit": 1}) as service:
        hosts(service, 12)
        with ends_after(1):
            service.placement("GET", of(TIGHT), status=503)


def test_a_request_that_waits_for_a_claim(database_url: str) -> None:
    """It ends five seconds before its time is over, which is when it still can say what it knows."""
    with Service(database_url, api={"request_timeout": 7}) as service:
        service.add_conductor("c1")
        service.add_node("n1")
        body = {"query": "resources=CUSTOM_GOLD:1"}
        service.http.post_json("/scheduling/v1/claims", body, status=201)
        claim = service.http.post_json("/scheduling/v1/claims", {**body, "wait": 60}, status=202).json["uuid"]
        with ends_after(2):
            assert service.http.get(f"/scheduling/v1/claims/{claim}?wait=60").json["state"] == "waiting"


def test_a_driver_that_hangs(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.add_node("n1")
    over = threading.Event()
    monkeypatch.setattr(interface("management", "fake"), "set_boot_device", lambda *_, **__: over.wait(PATIENCE))
    service.app.drivers.on_call = lambda name: service.conductors[name].answering.begin_all()
    service.app.drivers._timeout = 1.0
    with ends_after(1):
        service.baremetal("PUT", "/nodes/n1/management/boot_device", {"boot_device": "pxe"}, status=504)
    over.set()


def test_rules_of_an_inspection() -> None:
    slow = [clause("extend-plugin-data", "x", "{item}", True, loop=list(range(1000)))] * 100
    with ends_after(0.2), pytest.raises(RuleFailed):
        spend(2**40, *slow, seconds=0.2)


def test_a_server_that_drips() -> None:
    """As an agent, or what a rule calls."""
    hosts_here = AllowedHosts([], loopback=True)
    with (
        raw(dribbling(b"HTTP/1.1 200 OK\r\nX-Slow: ")) as server,
        ends_after(1),
        pytest.raises(bounded_http.CallFailed),
    ):
        bounded_http.exchange("GET", server.url, hosts=hosts_here, deadline=time.monotonic() + 1)


def test_a_redfish_controller_that_is_silent() -> None:
    with raw(silent) as server:
        target = machine(server.url, settings=quick(read_timeout=1))
        with ends_after(1), pytest.raises(MachineUnreachable), connection.system(target):
            pass


def test_a_listener_that_takes_no_connection() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
        address = listening.getsockname()
        waiting = [socket.socket() for _ in range(3)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(address)
        target = machine(f"http://127.0.0.1:{address[1]}", settings=quick(connect_timeout=1))
        with ends_after(1), pytest.raises(MachineUnreachable), connection.system(target):
            pass
        for each in waiting:
            each.close()


def test_an_ipmitool_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    put_program(tmp_path, "sleep 600")
    with ends_after(2), pytest.raises(MachineUnreachable, match="did not end in time"):
        ipmitool.run(ipmi_machine({"ipmi_address": "10.0.0.1"}, command_retry_timeout=2), "power", "status")
