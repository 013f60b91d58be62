"""Power states: what follows when a machine is not in the state that its node says."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import pytest

from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.conductor import power_sync, questions
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.drivers import registry
from baremetal_sched.drivers.interfaces.hardware import PowerInterface
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Machine
from baremetal_sched.machines.states import POWER_TARGETS
from tests.clocks import Clock
from tests.restored import Rows
from tests.service import Service
from tests.waiting import PATIENCE, wait_until

TASK = next(task for task in PERIODIC_TASKS if task.name == "power")
RECOVERY = next(task for task in PERIODIC_TASKS if task.name == "power failures")


class Real(PowerInterface):
    """A machine with a power state of its own; None: it does not answer. ``obeys``: can it be switched?"""

    state: str | None = "power on"
    obeys = True

    def validate(self, machine: Machine) -> None:
        pass

    def get_power_state(self, machine: Machine) -> str | None:
        if self.state is None:
            raise InvalidValue(message="no answer")
        return self.state

    def set_power_state(self, machine: Machine, target: str, timeout: int | None = None) -> str:
        if self.obeys:
            self.state = POWER_TARGETS[target]
        return POWER_TARGETS[target]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Real:
    real = Real()
    monkeypatch.setitem(registry.LOADED, ("power", "real"), real)
    return real


@pytest.fixture
def uuid(service: Service, machine: Real) -> str:
    node = service.add_node("n1")
    service.set_columns(node, power_interface="real", provision_state="active")
    return node


def synchronize(service: Service, times: int = 1) -> None:
    for _ in range(times):
        service.conductors["c1"].run_periodic_task(TASK)
        service.work()


def test_a_machine_that_was_switched_off_is_switched_on_again(service: Service, uuid: str, machine: Real) -> None:
    machine.state = "power off"
    synchronize(service)
    assert machine.state == "power on"
    synchronize(service)
    node = service.node(uuid)
    assert (node["power_state"], node["maintenance"], node["reservation"]) == ("power on", False, None)
    assert node["driver_internal_info"]["power_sync_failures"] == 0
    (event,) = service.baremetal("GET", f"/nodes/{uuid}/history?detail=true").json["history"]
    assert event["event"] == "The machine is in state 'power off', not in 'power on': it is switched back."


def test_or_the_node_takes_the_state_of_the_machine(database_url: str, machine: Real) -> None:
    with Service(database_url, conductor={"force_power_state_during_sync": False}) as service:
        service.add_conductor("c1")
        node = service.add_node("n1")
        service.set_columns(node, power_interface="real")
        machine.state = "power off"
        synchronize(service)
        assert service.node(node)["power_state"] == "power off"


def test_power_that_must_not_be_switched_off_is_not(service: Service, uuid: str, machine: Real) -> None:
    service.set_columns(uuid, power_state="power off", disable_power_off=True)
    synchronize(service)
    assert (machine.state, service.node(uuid)["power_state"]) == ("power on", "power on")


def test_after_some_failures_the_node_is_put_into_maintenance_until_it_answers_again(
    service: Service, uuid: str, machine: Real, row: Rows
) -> None:
    for state, said in [(None, "error"), ("power off", "power off")]:
        with row(state, said):
            machine.state, machine.obeys = state, False
            service.set_columns(uuid, provision_state="available")
            synchronize(service, 3)
            assert not service.node(uuid)["maintenance"]
            synchronize(service)
            node: dict[str, Any] = service.node(uuid)
            assert (node["maintenance"], node["fault"], node["power_state"]) == (True, "power failure", said)
            assert "max retries exceeded" in node["maintenance_reason"]
            assert service.inventory(uuid)["CUSTOM_GOLD"]["reserved"] == 1

            machine.state = None
            service.conductors["c1"].run_periodic_task(RECOVERY)
            assert service.node(uuid)["maintenance"]
            machine.state = "power on"
            service.conductors["c1"].run_periodic_task(RECOVERY)
            node = service.node(uuid)
            assert (node["maintenance"], node["fault"], node["power_state"]) == (False, None, "power on")
            assert service.inventory(uuid)["CUSTOM_GOLD"]["reserved"] == 0


def test_nodes_that_are_locked_or_in_maintenance_or_enrolled_are_left_alone(
    service: Service, uuid: str, machine: Real
) -> None:
    machine.state = "power off"
    for columns in ({"reservation": "c9"}, {"maintenance": True}, {"provision_state": "enroll"}):
        service.set_columns(uuid, **columns)
        service.conductors["c1"].run_periodic_task(TASK)
        assert service.node(uuid)["power_state"] == "power on"
        service.set_columns(uuid, reservation=None, maintenance=False, provision_state="active")


def test_a_node_whose_power_nobody_knew_takes_the_state_of_the_machine(
    service: Service, uuid: str, machine: Real, row: Rows
) -> None:
    """No request has set this state, so the machine is not switched."""
    for known in [None, "error"]:
        with row(known):
            service.set_columns(uuid, power_state=known, provision_state="available")
            assert service.candidates("resources=CUSTOM_GOLD:1") == set()
            machine.state = None
            synchronize(service)
            assert (service.node(uuid)["power_state"], service.node(uuid)["maintenance"]) == (known, False)
            machine.state = "power off"
            synchronize(service)
            assert (machine.state, service.node(uuid)["power_state"]) == ("power off", "power off")
            assert service.node(uuid)["reservation"] is None
            assert service.candidates("resources=CUSTOM_GOLD:1") == {uuid}


def test_fake_machines_are_not_asked(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.add_node("n1")
    in_use = {("power", name): registry.interface("power", name) for name in ("agent", "fake")}
    monkeypatch.setattr(registry, "LOADED", in_use)
    with service.statements() as statements:
        service.conductors["c1"].run_periodic_task(TASK)
    assert statements == []


def test_a_node_that_was_changed_while_its_machine_was_asked_is_left_alone(
    service: Service, uuid: str, machine: Real, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reading may be older than the change; the next one decides."""
    machine.state = "power off"
    ask = machine.get_power_state

    def change_meanwhile(asked: Machine) -> str | None:
        service.patch(uuid, ("add", "/extra/a", 1))
        return ask(asked)

    monkeypatch.setattr(machine, "get_power_state", change_meanwhile)
    before = service.node(uuid)
    service.conductors["c1"].run_periodic_task(TASK)
    after = service.node(uuid)
    assert after["extra"] == {"a": 1}
    assert [after[name] for name in ("power_state", "target_power_state", "reservation", "driver_internal_info")] == [
        before[name] for name in ("power_state", "target_power_state", "reservation", "driver_internal_info")
    ]
    assert machine.state == "power off"


def test_a_node_that_was_reserved_meanwhile_is_not_asked(
    service: Service, uuid: str, machine: Real, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(machine, "get_power_state", lambda asked_one: asked.append(asked_one.uuid))
    number = service.database.read(lambda session: nodes.find(session, uuid).id)
    monkeypatch.setattr(ConductorHost, "own", lambda host, condition: [number])
    service.set_columns(uuid, reservation="c9")
    service.conductors["c1"].run_periodic_task(TASK)
    assert asked == []


class Silent(Real):
    """Machines of which those whose addresses are in ``silent`` never answer, until the test is over."""

    def __init__(self) -> None:
        self.silent: set[str] = set()
        self.unreachable: set[str] = set()
        self.asked: list[str] = []
        self.over = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the calls that never answer, while there is a database."""
        self.over.set()

    def get_power_state(self, machine: Machine) -> str | None:
        address = machine.driver_info["redfish_address"]
        self.asked.append(address)
        if address in self.silent:
            self.over.wait(60)
        if address in self.unreachable:
            raise ConnectionRefusedError(address)
        return self.state


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Silent]:
    monkeypatch.setattr(questions, "_PATIENCE", 0.1)
    interface = Silent()
    monkeypatch.setitem(registry.LOADED, ("power", "real"), interface)
    yield interface
    interface.over.set()


@contextmanager
def fleet(database_url: str, size: int, **conductor: Any) -> Iterator[Service]:
    """``size`` active nodes, n0 to …, that say that their power is on, at addresses of the same names."""
    with Service(database_url, conductor=conductor) as service:
        service.add_conductor("c1")
        for number in range(size):
            node = service.add_node(f"n{number}", driver_info={"redfish_address": f"n{number}"})
            service.set_columns(node, power_interface="real", provision_state="active")
        yield service


def compare(service: Service, *, silent: int = 0) -> None:
    """A round, and what comes of it a little later if threads are slow; so many machines never answer."""
    service.conductors["c1"].run_periodic_task(TASK)
    asked = service.conductors["c1"]._host.questions
    wait_until(lambda: sum(not each.is_over for each in asked._snapshot().values()) <= silent, "the others")


def test_machines_at_rest_take_a_few_statements_for_all(
    database_url: str, silent: Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is locked or written, with the health that is known already, neither."""
    monkeypatch.setattr(power_sync, "_CHUNK", 2)
    monkeypatch.setattr(power_sync, "_health", lambda machine: (None,))
    with fleet(database_url, 5, enable_health_monitoring=True) as service, silent:
        before = [service.node(f"n{number}") for number in range(5)]
        with service.statements() as statements:
            compare(service)
        assert len(statements) <= 2 + 3, statements
        assert sorted(silent.asked) == ["n0", "n1", "n2", "n3", "n4"]
        assert [service.node(f"n{number}") for number in range(5)] == before


def test_nodes_that_wait_for_their_turn_are_looked_at_again_in_short(
    database_url: str, silent: Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only their revision is read."""
    monkeypatch.setattr(power_sync, "_FRESH", -1.0)
    with fleet(database_url, 5) as service, silent:
        with service.statements() as statements:
            compare(service)
        assert len(silent.asked) == 5
        assert sum("driver_info" in statement for statement in statements) == 1
        assert sum(statement.startswith("SELECT nodes.revision \n") for statement in statements) == 5


def test_a_lockout_waits_for_the_machines_whose_nodes_are_read(
    database_url: str, silent: Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are asked without looking at the node again."""
    with fleet(database_url, 2, sync_power_state_workers=1) as service, silent:
        asked = service.conductors["c1"]._host.questions
        last = service.database.read(lambda session: nodes.find(session, "n1").id)
        seen: list[bool] = []
        monkeypatch.setattr(silent, "get_power_state", lambda machine: seen.append(asked.is_under_way(last)))
        compare(service)
        assert (seen, asked.is_under_way(last)) == ([True, True], False)


def test_a_node_that_is_reserved_before_its_turn_is_not_asked(
    database_url: str, silent: Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(power_sync, "_FRESH", -1.0)
    monkeypatch.setattr(questions, "_PATIENCE", PATIENCE)
    with fleet(database_url, 2, sync_power_state_workers=1) as service, silent:
        last = service.node("n1")["uuid"]

        def ask(machine: Machine) -> str:
            silent.asked.append(machine.uuid)
            service.set_columns(last, reservation="c9")
            return "power on"

        monkeypatch.setattr(silent, "get_power_state", ask)
        compare(service)
        assert silent.asked == [service.node("n0")["uuid"]]
        service.set_columns(last, reservation=None)


def test_machines_that_do_not_answer_delay_no_others(database_url: str, silent: Silent) -> None:
    with fleet(database_url, 9, sync_power_state_workers=2, force_power_state_during_sync=False) as service, silent:
        silent.state, silent.silent = "power off", {"n0", "n1", "n2", "n3"}
        compare(service, silent=4)
        states = {f"n{number}": service.node(f"n{number}")["power_state"] for number in range(9)}
        assert states == {name: "power on" if name in silent.silent else "power off" for name in states}
        silent.asked.clear()
        compare(service, silent=4)
        assert sorted(silent.asked) == ["n4", "n5", "n6", "n7", "n8"]


def test_a_machine_that_does_not_answer_until_the_next_round_has_failed(
    database_url: str, silent: Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its address is left alone for the next one; and if the machine answers some day, that does not count."""
    clock = Clock()
    monkeypatch.setattr(questions, "time", clock)
    with fleet(database_url, 2, driver_call_timeout=30) as service, silent:
        silent.silent = {"n0"}
        conductor = service.conductors["c1"]
        compare(service, silent=1)
        assert "power_sync_failures" not in service.node("n0")["driver_internal_info"]
        clock.go_on(31)
        compare(service)
        assert service.node("n0")["driver_internal_info"]["power_sync_failures"] == 1
        assert "power_sync_failures" not in service.node("n1")["driver_internal_info"]
        assert sorted(silent.asked) == ["n0", "n1", "n1"]
        before = service.node("n0")
        silent.silent.clear()
        silent.over.set()
        wait_until(lambda: conductor._host.back_off.is_due({"n0"}), "the answer")
        assert service.node("n0") == before
        conductor.run_periodic_task(TASK)
        assert service.node("n0")["driver_internal_info"]["power_sync_failures"] == 0


def test_an_address_that_cannot_be_reached_is_left_alone_for_a_round(database_url: str, silent: Silent) -> None:
    with fleet(database_url, 2) as service:
        silent.unreachable = {"n0"}
        for _ in range(2):
            compare(service)
        assert sorted(silent.asked) == ["n0", "n1", "n1"]
        assert service.node("n0")["driver_internal_info"]["power_sync_failures"] == 1
