"""Power that cannot be switched or read in the middle of provisioning: the node fails as it must, and is free."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from baremetal_sched.drivers import registry
from baremetal_sched.drivers.interfaces.hardware import PowerInterface
from baremetal_sched.errors.baremetal import MachineUnreachable, PowerNotReached
from baremetal_sched.machines.machine import Machine
from baremetal_sched.machines.states import POWER_TARGETS
from tests.functional.baremetal.provisioning import ask, enrol, put_into, state_of
from tests.service import Service
from tests.waiting import wait_until

REBOOT = {"interface": "power", "step": "reboot"}


class Troubled(PowerInterface):
    """A machine whose controller is in ``trouble``."""

    trouble: Exception | None = None
    hangs = False

    def __init__(self) -> None:
        self.over = threading.Event()

    def validate(self, machine: Machine) -> None:
        pass

    def _suffer(self) -> None:
        if self.hangs:
            self.over.wait(60)
        if self.trouble is not None:
            raise self.trouble

    def get_power_state(self, machine: Machine) -> str | None:
        self._suffer()
        return machine.power_state or "power on"

    def set_power_state(self, machine: Machine, target: str, timeout: int | None = None) -> str:
        self._suffer()
        return POWER_TARGETS[target]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Troubled]:
    troubled = Troubled()
    monkeypatch.setitem(registry.LOADED, ("power", "real"), troubled)
    yield troubled
    troubled.over.set()


@pytest.fixture
def fleet(database_url: str, machine: Troubled) -> Iterator[Service]:
    with Service(database_url, conductor={"driver_call_timeout": 0.2, "automated_clean": False}) as service:
        service.add_conductor("c1")
        uuid = enrol(service)
        service.set_columns(uuid, power_interface="real")
        yield service
        machine.over.set()


TROUBLES = {
    "unreachable": MachineUnreachable(address="10.0.0.1", reason="no answer"),
    "broken connection": ConnectionResetError("peer"),
    "not obeyed": PowerNotReached(found="on", wanted="off", seconds=60, asked="power off", trouble=""),
    "hangs": None,
}
SAID = {
    "unreachable": "The machine cannot be reached at 10.0.0.1: no answer",
    "broken connection": "ConnectionResetError",
    "not obeyed": "60 seconds after its controller was asked for 'power off'",
    "hangs": "The machine does not answer: power.",
}


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize(
    ("state", "verb", "more", "after", "fault"),
    [
        ("enroll", "manage", {}, ("enroll", None), None),
        ("manageable", "clean", {"clean_steps": [REBOOT]}, ("clean failed", "manageable"), "clean failure"),
        ("active", "service", {"service_steps": [REBOOT]}, ("service failed", "active"), "service failure"),
        ("available", "active", {"deploy_steps": [{**REBOOT, "priority": 150, "args": {}}]}, None, None),
    ],
)
def test_a_controller_in_trouble(
    fleet: Service,
    machine: Troubled,
    trouble: str,
    state: str,
    verb: str,
    more: dict[str, Any],
    after: tuple[str, str | None] | None,
    fault: str | None,
) -> None:
    uuid = fleet.node("n1")["uuid"]
    put_into(fleet, uuid, state, power_state=None if state == "enroll" else "power on")
    machine.trouble, machine.hangs = TROUBLES[trouble], trouble == "hangs"
    ask(fleet, verb, **more)
    conductor = fleet.conductors["c1"]
    wait_until(lambda: (conductor.work_once(), fleet.node("n1")["reservation"] is None)[1], "the node to be free")
    node = fleet.node("n1")
    assert state_of(node) == (after or ("deploy failed", "active"))
    assert SAID[trouble] in node["last_error"]
    assert (node["target_power_state"], node["fault"]) == (None, fault)
    if state == "enroll":  # and it can be tried again
        machine.trouble, machine.hangs = None, False
        ask(fleet, verb)
        fleet.work()
        node = fleet.node("n1")
        assert (node["provision_state"], node["power_state"]) == ("manageable", "power on")
