"""Drivers that do not come back: the work has failed, the node is free, and others are served meanwhile."""

import dataclasses
import math
import threading
import time
from collections.abc import Iterator
from typing import Any, Self

import pytest
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import work_queue
from baremetal_sched.conductor import claiming, noted_calls, workers
from baremetal_sched.db.models import NodeWork
from baremetal_sched.drivers.fake.hardware import FakePower, FakeVendor
from baremetal_sched.drivers.power_waiting import Pace, wait_for
from baremetal_sched.errors import DatabaseAway, SchedulerError
from baremetal_sched.machines.machine import NOTHING, Effect, Machine
from tests.clocks import Clock
from tests.functional.baremetal.provisioning import LOG_STEP, put_into
from tests.functional.conductor.test_orphans import reserve
from tests.service import Service
from tests.waiting import wait_until

OPTIONS = {"workers_pool_size": 1, "driver_call_timeout": 600}


class Hanging:
    """Calls of machines in ``uuids`` do not end until the test is over; ``ended`` counts ended calls.

    Who hangs does so for ``seconds`` at once, by the clock of the calls.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.seconds = 601
        self.uuids: set[str] = set()
        self.begun = 0
        self.ended = 0
        self.over = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let them go on while there is a database."""
        self.over.set()

    def hang(self, machine: Machine) -> None:
        if machine.uuid in self.uuids:
            self.clock.go_on(self.seconds)
            self.begun += 1
            self.over.wait(60)
            self.ended += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of calls of drivers."""
    clock = Clock()
    monkeypatch.setattr(noted_calls, "time", clock)
    return clock


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Iterator[Hanging]:
    machines = Hanging(clock)
    set_power_state = FakePower.set_power_state

    def switch(self: FakePower, machine: Machine, target: str, timeout: int | None = None) -> str:
        machines.hang(machine)
        return set_power_state(self, machine, target, timeout)

    def step(self: FakeVendor, machine: Machine) -> Effect:
        machines.hang(machine)
        return NOTHING

    step.__dict__.update(FakeVendor.log_passthrough.__dict__)
    monkeypatch.setattr(FakePower, "set_power_state", switch)
    monkeypatch.setattr(FakeVendor, "log_passthrough", step)
    monkeypatch.setattr(FakeVendor, "call", lambda self, machine, method, arguments: machines.hang(machine))
    yield machines
    machines.over.set()


def let(service: Service, condition: Any, what: str) -> None:
    """Let the conductor look for work until the condition holds."""
    wait_until(lambda: (service.conductors["c1"].work_once(), condition())[1], what)


def ids_of_work(service: Service) -> list[int]:
    return list(service.database.read(lambda session: session.scalars(select(NodeWork.id)).all()))


def free(service: Service, uuid: str) -> bool:
    return service.node(uuid)["reservation"] is None


def test_a_step_that_hangs_is_given_up_and_its_worker_is_replaced(database_url: str, hanging: Hanging) -> None:
    with Service(database_url, conductor=OPTIONS) as service, hanging:
        service.add_conductor("c1")
        uuid = service.add_node("n1", power=False)
        put_into(service, uuid, "manageable")
        hanging.uuids.add(uuid)
        body = {"target": "clean", "clean_steps": [LOG_STEP]}
        service.baremetal("PUT", f"/nodes/{uuid}/states/provision", body)
        let(service, lambda: free(service, uuid), "the node to be free")
        node = service.node(uuid)
        error = "The machine does not answer: vendor.log_passthrough of its driver was given up after 600 seconds."
        assert (node["provision_state"], node["last_error"]) == ("clean failed", error)
        assert node["maintenance"]
        metric = 'baremetal_sched_given_up_driver_calls_total{conductor="c1"} 1.0'
        assert metric in service.http.get("/metrics").text
        other = service.add_node("n2", power=False)
        service.baremetal("PUT", f"/nodes/{other}/states/power", {"target": "power on"})
        let(service, lambda: free(service, other), "the other node to be switched")
        assert service.node(other)["power_state"] == "power on"
        hanging.over.set()
        wait_until(lambda: hanging.ended, "the thread to go on")
        time.sleep(0.05)
        assert service.node(uuid) == node


def test_power_has_the_time_that_was_asked_for_it(database_url: str, hanging: Hanging) -> None:
    with Service(database_url, conductor=OPTIONS) as service, hanging:
        service.add_conductor("c1")
        uuid = service.add_node("n1", power=False)
        hanging.uuids.add(uuid)
        hanging.seconds = 680
        service.baremetal("PUT", f"/nodes/{uuid}/states/power", {"target": "power on", "timeout": 100})
        service.conductors["c1"].work_once()
        wait_until(lambda: hanging.begun, "the call")
        service.conductors["c1"].work_once()
        assert not free(service, uuid)
        hanging.clock.go_on(21)
        let(service, lambda: free(service, uuid), "the node to be free")
        node = service.node(uuid)
        error = "The machine does not answer: power.set_power_state of its driver was given up after 700 seconds."
        assert (node["target_power_state"], node["last_error"]) == (None, error)


def test_waiting_for_a_machine_is_no_hang(database_url: str, hanging: Hanging, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may take longer than a call, if it is looked at meanwhile; a look that hangs is a hang."""
    # So that it is asked only whether the call was given up, and not whose work it is.
    monkeypatch.setattr(noted_calls, "_LOOK_EVERY", math.inf)
    looks: list[str] = []
    changed: list[str] = []

    def switch(self: FakePower, machine: Machine, target: str, timeout: int | None = None) -> str:
        def read() -> str | None:
            looks.append(machine.uuid)
            hanging.hang(machine)
            hanging.clock.go_on(400)
            return "power on" if len(looks) > 10 else None

        state = wait_for(read, "power on", 30, pace=Pace(first=0.01, longest=0.01))
        changed.append(machine.uuid)
        return state

    monkeypatch.setattr(FakePower, "set_power_state", switch)
    with Service(database_url, conductor=OPTIONS) as service, hanging:
        service.add_conductor("c1")
        slow, dead = (service.add_node(name, power=False) for name in ("slow", "dead"))
        hanging.uuids.add(dead)
        for uuid in (slow, dead):
            service.baremetal("PUT", f"/nodes/{uuid}/states/power", {"target": "power on"})
            let(service, lambda uuid=uuid: free(service, uuid), "the node to be free")  # type: ignore[misc]
        assert service.node(slow)["power_state"] == "power on"
        assert looks == [slow] * 11 + [dead]
        assert "was given up after 600 seconds" in service.node(dead)["last_error"]
        hanging.over.set()
        wait_until(lambda: hanging.ended, "the thread to go on")
        time.sleep(0.05)
        assert changed == [slow]


@pytest.mark.parametrize("loss", ["taken away", "nobody can say"])
def test_a_conductor_that_lost_the_work_does_nothing_more(
    database_url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch, loss: str
) -> None:
    """While it waits for the machine, its heartbeats may not get through: another conductor is at work on the node
    then."""
    looks: list[None] = []
    ends: list[str] = []
    asked: list[None] = []

    def read() -> str | None:
        looks.append(None)
        return None

    def switch(self: FakePower, machine: Machine, target: str, timeout: int | None = None) -> str:
        try:
            wait_for(read, "power on", 20, pace=Pace(first=0.01, longest=0.01))
        except SchedulerError as error:
            ends.append(type(error).__name__)
            raise
        return "power on"

    def lose(session: Session) -> None:
        session.execute(delete(NodeWork))

    def away(*_: object) -> bool:
        asked.append(None)
        raise DatabaseAway

    monkeypatch.setattr(FakePower, "set_power_state", switch)
    with Service(database_url, conductor={"heartbeat_timeout": 60}) as service:
        service.add_conductor("c1")
        uuid = service.add_node("n1", power=False)
        service.baremetal("PUT", f"/nodes/{uuid}/states/power", {"target": "power on"})
        service.conductors["c1"].work_once()
        wait_until(lambda: len(looks) > 3, "the driver to wait")
        if loss == "taken away":
            service.database.write(lose)
            clock.go_on(6)
        else:
            monkeypatch.setattr(work_queue, "is_held", away)
            clock.go_on(20)
            wait_until(lambda: len(asked) > 1, "the question whether the work is lost")
            assert ends == []
            clock.go_on(11)
        wait_until(lambda: ends, "the driver to end")
        assert ends == ["CallGivenUp"]


def test_a_parent_that_hangs_and_its_child_are_both_free(database_url: str, hanging: Hanging) -> None:
    with Service(database_url, conductor=OPTIONS) as service, hanging:
        service.add_conductor("c1")
        parent = service.add_node("parent", power=False)
        child = service.add_node("child", power=False, parent_node=parent)
        hanging.uuids.add(parent)
        service.baremetal("PUT", f"/nodes/{child}/states/power", {"target": "power on"})
        let(service, lambda: free(service, child), "the child to be free")
        wait_until(lambda: free(service, parent), "the parent to be free")
        for uuid in (parent, child):
            assert "power.set_power_state of its driver was given up" in service.node(uuid)["last_error"]
        assert ids_of_work(service) == []


def test_a_method_of_a_vendor_that_hangs(database_url: str, hanging: Hanging) -> None:
    with Service(database_url, conductor=OPTIONS) as service, hanging:
        service.add_conductor("c1")
        uuid = service.add_node("n1", power=False)
        hanging.uuids.add(uuid)
        service.baremetal("POST", f"/nodes/{uuid}/vendor_passthru/log_passthrough", {}, status=202)
        let(service, lambda: free(service, uuid), "the node to be free")
        assert "vendor.call of its driver was given up" in service.node(uuid)["last_error"]


def test_machines_that_are_slow_take_no_worker_from_others(database_url: str, hanging: Hanging) -> None:
    hanging.seconds = 6
    with Service(database_url, conductor={"workers_pool_size": 1}) as service, hanging:
        service.add_conductor("c1")
        slow = [service.add_node(f"slow{number}", power=False) for number in range(10)]
        hanging.uuids.update(slow[:2])
        for uuid in slow[:3]:
            service.baremetal("PUT", f"/nodes/{uuid}/states/power", {"target": "power on"})
        let(service, lambda: free(service, slow[2]), "the third to be switched")
        assert [free(service, uuid) for uuid in slow[:2]] == [False, False]
        hanging.uuids.update(slow)
        for uuid in slow[3:]:
            service.baremetal("PUT", f"/nodes/{uuid}/states/power", {"target": "power on"})
        let(service, lambda: len(service.conductors["c1"].work_once()) == 8, "as many as there may be")
        time.sleep(0.05)
        assert len(service.conductors["c1"].work_once()) == 8
        hanging.over.set()
        let(service, lambda: not ids_of_work(service), "all of them")
        assert {service.node(uuid)["power_state"] for uuid in slow} == {"power on"}


def test_work_that_came_to_an_end_meanwhile_is_not_failed(service: Service) -> None:
    """Other work is going on on the node by now."""
    uuid = service.add_node("n1")
    reserve(service, uuid, "c1", target_power_state="power on")
    (item,) = claiming.take(service.database, service.app.settings, "c1", "process 1")
    before = service.node(uuid)
    workers._give_up(dataclasses.replace(item, work=dataclasses.replace(item.work, id=item.id - 1)))
    assert service.node(uuid) == before
