"""Controllers that are busy for a while, and answer 503 to what they are asked meanwhile."""

from collections.abc import Iterator
from typing import Any

import pytest

from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.drivers import progress
from baremetal_sched.drivers.redfish import connection, transport
from baremetal_sched.errors.baremetal import MachineUnreachable
from tests.clocks import StoppedClock
from tests.functional.redfish.test_faults import SETTINGS, enrol, provision
from tests.redfish import machine, quick
from tests.redfish_service import Fault, RedfishService
from tests.service import Service

POWER_SYNC = next(each for each in PERIODIC_TASKS if each.interval == "sync_power_state_interval")
SYSTEM = "Systems/1$"

pytestmark = [pytest.mark.sqlite_only, pytest.mark.usefixtures("fast")]


class Pauses(StoppedClock):
    """The clock of requests, and how long was slept by it."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.go_on(seconds)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> Pauses:
    clock = Pauses()
    clock.go_on(1e9)  # later than the clock of the machine, which the deadlines of connections are compared with
    monkeypatch.setattr(transport, "time", clock)
    return clock


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with Service(database_url, **SETTINGS) as found:
        found.add_conductor("c1")
        yield found


def busy(bmc: RedfishService, times: int | None = None, method: str = "GET", **more: Any) -> None:
    bmc.controller.faults = [Fault(path=SYSTEM, method=method, status=503, times=times, **more)]


def read(bmc: RedfishService, settings: Any = None) -> None:
    """Read the machine once."""
    with connection.system(machine(settings=settings or quick(), **bmc.driver_info())):
        pass


def test_what_operators_do_gets_through(service: Service, bmc: RedfishService, subtests: pytest.Subtests) -> None:
    enrol(service, bmc)
    with subtests.test("manage"):
        busy(bmc, 2)
        assert provision(service, "manage")["provision_state"] == "manageable"
    with subtests.test("power"):
        busy(bmc, 2)
        service.baremetal("PUT", "/nodes/n1/states/power", {"target": "power on"}, status=202)
        service.work()
        assert (service.node("n1")["power_state"], service.node("n1")["last_error"]) == ("power on", None)
    with subtests.test("boot device"):
        busy(bmc, 2)
        service.baremetal("PUT", "/nodes/n1/management/boot_device", {"boot_device": "pxe"}, status=204)
        busy(bmc, 2)
        assert service.baremetal("GET", "/nodes/n1/management/boot_device").json["boot_device"] == "pxe"


def test_as_often_and_as_long_as_it_is_worth(bmc: RedfishService, pauses: Pauses, subtests: pytest.Subtests) -> None:
    for what, wanted, expected in [
        ("nothing", None, [3.0] * 10),
        ("seconds", "7", [7.0] * 10),
        ("longer than anyone waits", "3600", [10.0] * 10),
        ("at once", "0", [0.0] * 10),
        ("nonsense", "soon", [3.0] * 10),
    ]:
        with subtests.test(what):
            busy(bmc, retry_after=wanted)
            pauses.slept.clear()
            with progress.noted_by(lambda: None), pytest.raises(MachineUnreachable, match=r"It is busy \(HTTP 503\)"):
                read(bmc)
            assert pauses.slept == expected
            bmc.controller.faults = []


def test_within_the_time_of_the_operation(bmc: RedfishService, pauses: Pauses) -> None:
    """One more request must fit into it: connecting may take 30 seconds, an answer 20."""
    busy(bmc)
    settings = quick(connect_timeout=30, read_timeout=20)
    settings.set_override("driver_call_timeout", 60, group="conductor")
    with progress.noted_by(lambda: None), pytest.raises(MachineUnreachable, match="busy"):
        read(bmc, settings)
    assert pauses.slept == [3.0] * 3


def test_a_request_does_not_wait_for_longer_than_15_seconds(bmc: RedfishService, pauses: Pauses) -> None:
    busy(bmc)
    with pytest.raises(MachineUnreachable, match="busy"):
        read(bmc)
    assert pauses.slept == [3.0] * 5


def test_the_regular_look_at_power_waits_once(service: Service, bmc: RedfishService, pauses: Pauses) -> None:
    enrol(service, bmc)
    provision(service, "manage")
    busy(bmc)
    service.conductors["c1"].run_periodic_task(POWER_SYNC)
    assert pauses.slept == [3.0]


def test_nothing_but_a_read_is_repeated(service: Service, bmc: RedfishService, pauses: Pauses) -> None:
    enrol(service, bmc)
    provision(service, "manage")
    bmc.controller.faults = [Fault(path="Reset$", method="POST", status=503)]
    before = bmc.controller.asked("POST /redfish/v1/Systems/1/Actions")
    service.baremetal("PUT", "/nodes/n1/states/power", {"target": "power on"}, status=202)
    service.work()
    assert "It is busy (HTTP 503)" in service.node("n1")["last_error"]
    assert bmc.controller.asked("POST /redfish/v1/Systems/1/Actions") == before + 1
    assert pauses.slept == []


def test_another_failure_is_asked_about_once_more(bmc: RedfishService, pauses: Pauses) -> None:
    bmc.controller.faults = [Fault(path=SYSTEM, status=500, times=1)]
    read(bmc)
    bmc.controller.faults = [Fault(path=SYSTEM, status=500, times=2)]
    with pytest.raises(MachineUnreachable, match=r"it failed \(HTTP 500\)"):
        read(bmc)
    assert pauses.slept == [0.0, 0.0]
