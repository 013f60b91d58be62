"""The life of a conductor, in a thread: how it hears of work, and how it stops."""

import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy import text, update

from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.conductor import claiming
from baremetal_sched.conductor.daemon import ConductorDaemon
from baremetal_sched.conductor.job import Job, JobEnd
from baremetal_sched.conductor.looks import Looks
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import NodeWork
from baremetal_sched.errors import DatabaseAway
from baremetal_sched.machines.machine import Machine
from tests.restored import Rows
from tests.service import Service
from tests.waiting import PATIENCE, wait_until

#: The connections that have listened, and then looked for work.
LISTENERS = (
    "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND query LIKE 'SELECT EXISTS%min(coalesce(node_work.not_before%'"
)


@contextmanager
def living(service: Service, host: str) -> Iterator[ConductorDaemon]:
    """The conductor ``host`` alive; it is told to stop, and has stopped afterwards."""
    conductor, stop = service.add_conductor(host), threading.Event()
    service.database.write(lambda session: conductors.sign_off(session, host))
    thread = threading.Thread(target=conductor.run, args=(stop,))
    thread.start()
    try:
        wait_until(lambda: service.baremetal("GET", f"/conductors/{host}").json["alive"], "it to be there")
        yield conductor
    finally:
        stop.set()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def switch(service: Service, uuid: str, target: str) -> Callable[[], bool]:
    """Ask for power; returns what says whether it is so."""
    service.baremetal("PUT", f"/nodes/{uuid}/states/power", {"target": target})
    return lambda: bool(service.node(uuid)["power_state"] == target)


def count_listeners(service: Service, what: str = "count(*)") -> int:
    return service.database.read(lambda session: session.scalar(text(f"SELECT {what} {LISTENERS}")) or 0)


def test_looking_for_work_is_one_short_statement(service: Service) -> None:
    """Without a reason there is no look."""
    conductor = service.conductors["c1"]
    for look in (conductor.work_once, conductor.answering.begin_all):
        look()
        with service.statements() as seen:
            look()
        assert [statement.split()[0] for statement in seen] == ["SELECT"]
        assert len(seen[0]) < 650
    assert conductor._looks.is_due()  # the first, of what was requested before the conductor began
    with service.statements() as seen:
        conductor._work_if_due()
    assert seen == []
    assert conductor._pause() == 60


def test_reasons_to_look_for_work(service: Service, subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch) -> None:
    """The conductor looks at the time of each, and not before. ``left``: more work was found than workers."""
    conductor, clock = service.conductors["c1"], [100.0]
    monkeypatch.setattr("baremetal_sched.conductor.looks.time.monotonic", lambda: clock[0])
    for title, left, due, at in [
        ("the work has ended", False, None, inf),
        ("the work has ended, and more was left over", True, None, -inf),
        ("a failure left the work as it was", False, 0.0, 100.1),
        ("the work is postponed", False, 107.0, 107),
    ]:
        with subtests.test(title):
            conductor._looks, conductor._is_work_left = Looks(), left
            assert conductor._looks.is_due()
            conductor._job_ended(cast("Job", SimpleNamespace(end=JobEnd(due))))
            assert conductor._looks._at == pytest.approx(at)
            assert conductor._looks.is_due() is (at <= 100)


def test_work_that_is_postponed_is_looked_for_in_time(service: Service) -> None:
    """Whether this conductor has postponed it, or finds it postponed."""
    uuid = service.add_node("n1", power=False)
    conductor = service.conductors["c1"]
    switch(service, uuid, "power on")
    service.database.write(lambda session: session.execute(update(NodeWork).values(not_before=epoch() + 50)))
    assert conductor._looks.is_due()
    assert conductor.work_once() == []
    assert not conductor._looks.is_due()
    assert conductor._looks._at < inf
    service.database.write(lambda session: session.execute(update(NodeWork).values(not_before=None)))
    (item,) = claiming.take(service.database, conductor._settings, "c1", "a process")
    assert item.end.due == 0
    item.postpone(1000, {}, lambda session, node: None)
    assert item.end.due
    item.finish(lambda session, node: None)
    assert item.end.due is None


@pytest.mark.ci
def test_an_outage_is_a_line_and_its_end_another(
    database_url: str, lines: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Service(database_url, conductor={"work_interval": 0.01}) as service, living(service, "c1") as conductor:
        wait_until(lambda: conductor._heartbeat._steady_since, "all threads to run")
        attempts: list[int] = []

        def away(*args: Any, **kwargs: Any) -> None:
            attempts.append(1)
            raise DatabaseAway

        with monkeypatch.context() as patch:
            patch.setattr(service.database, "_run", away)
            time.sleep(2)
        wait_until(lambda: "conductor continues" in lines.getvalue(), "the conductor to go on")
        logged = [json.loads(line) for line in lines.getvalue().splitlines()]
        about = [line for line in logged if line["logger"].startswith("baremetal_sched.conductor")]
        said = [line["event"] for line in about if line["event"] != "conductor registered"]
        assert said == ["conductor waits", "conductor continues"]
        assert len(attempts) < 80
        uuid = service.add_node("n1", power=False)
        wait_until(switch(service, uuid, "power on"), "it to work")


@pytest.mark.ci
def test_postgresql_tells_of_work_at_once(database_url: str) -> None:
    with Service(database_url, conductor={"work_interval": 30}) as service:
        if service.database.engine.dialect.name != "postgresql":
            pytest.skip("only PostgreSQL can tell")
        service.add_conductor("c1")
        uuid = service.add_node("n1", power=False)
        service.conductors.clear()
        with living(service, "c1") as conductor:
            wait_until(lambda: count_listeners(service), "somebody to listen")
            for target in ("power on", "power off", "power on"):
                wait_until(switch(service, uuid, target), f"{target}, long before the next look")
            conductor._looks.now()  # not to wait for the end of the interval


@pytest.mark.ci
def test_a_listener_that_lost_its_connection_listens_again(database_url: str) -> None:
    with Service(database_url) as service:
        if service.database.engine.dialect.name != "postgresql":
            pytest.skip("only PostgreSQL can tell")
        with living(service, "c1"):
            wait_until(lambda: count_listeners(service), "somebody to listen")
            first = count_listeners(service, "max(pid)")
            assert count_listeners(service, "bool_and(pg_terminate_backend(pid))")
            wait_until(lambda: count_listeners(service, "max(pid)") not in (0, first), "somebody to listen again")


@pytest.mark.ci
def test_what_a_stop_does_not_wait_for_has_failed(
    database_url: str, row: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node is free at once; a thread that still works writes nothing any more."""
    for what in ["power", "provisioning"]:
        with row(what):
            release = threading.Event()
            monkeypatch.setattr(Machine, "pause", lambda machine, kind, release=release: release.wait(PATIENCE))
            with Service(database_url, DEFAULT={"graceful_shutdown_timeout": 0.1}) as service:
                service.add_conductor("c1")
                uuid = service.add_node("n1", power=False)
                service.set_columns(uuid, power_state="power off")
                with living(service, "c1") as conductor:
                    if what == "power":
                        switch(service, uuid, "power on")
                    else:
                        service.baremetal("PUT", f"/nodes/{uuid}/states/provision", {"target": "active"})
                    wait_until(lambda: not conductor.is_idle, "the work to begin")
                node = service.node(uuid)
                assert node["reservation"] is None
                if what == "power":
                    error = "Pending power operation was aborted because the conductor was stopped"
                    assert (node["target_power_state"], node["power_state"], node["last_error"]) == (
                        None,
                        "power off",
                        error,
                    )
                else:
                    error = "Operation was aborted because the conductor was stopped"
                    assert (node["provision_state"], node["last_error"]) == ("deploy failed", error)
                assert not conductor.is_idle
                release.set()
                wait_until(lambda: conductor.is_idle, "the thread to end")
                assert service.node(uuid) == node
