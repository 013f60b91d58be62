"""The effects of a controller's fault on its node: the node names it, is not offered, and recovers."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.drivers.redfish import connection, login
from tests.certificates import make_certificate
from tests.clocks import Clock
from tests.redfish_service import Fault, RedfishService
from tests.service import Service

TASK = next(each for each in PERIODIC_TASKS if each.interval == "sync_power_state_interval")
RECOVERY = next(each for each in PERIODIC_TASKS if each.interval == "power_failure_recovery_interval")

SETTINGS: dict[str, dict[str, Any]] = {
    "DEFAULT": {"enabled_hardware_types": "redfish"},
    "redfish": {"connection_attempts": 1, "connect_timeout": 5},
}

#: Seconds after which a machine that was silent is asked again, at the latest: ``power_failure_recovery_interval``.
LONGEST_PAUSE = 300

pytestmark = pytest.mark.usefixtures("fast")


@pytest.fixture
def clock() -> Clock:
    """By which addresses that do not answer are left alone for a while."""
    return Clock()


@pytest.fixture
def rounds() -> int:
    """For how many rounds a machine may be silent."""
    return 3


@pytest.fixture
def read_timeout() -> float:
    return 5


@pytest.fixture
def service(database_url: str, clock: Clock, rounds: int, read_timeout: float) -> Iterator[Service]:
    redfish = SETTINGS["redfish"] | {"read_timeout": read_timeout}
    settings = SETTINGS | {"redfish": redfish, "conductor": {"power_state_sync_max_retries": rounds}}
    with Service(database_url, **settings) as found:
        found.add_conductor("c1")._host.back_off._clock = clock.monotonic
        yield found


def enrol(service: Service, bmc: RedfishService, **info: Any) -> str:
    body = {"driver": "redfish", "name": "n1", "resource_class": "gold", "driver_info": bmc.driver_info(**info)}
    uuid: str = service.baremetal("POST", "/nodes", body | {"automated_clean": False}).json["uuid"]
    return uuid


def provision(service: Service, target: str) -> dict[str, Any]:
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": target}, status=202)
    service.work()
    return service.node("n1")


def offered(service: Service, bmc: RedfishService, **info: Any) -> str:
    """A node of that machine, which placement offers."""
    uuid = enrol(service, bmc, **info)
    provision(service, "manage")
    assert provision(service, "provide")["provision_state"] == "available"
    assert is_offered(service)
    return uuid


def is_offered(service: Service) -> bool:
    found = service.placement("GET", "/allocation_candidates?resources=CUSTOM_GOLD:1").json
    return bool(found["allocation_requests"])


def synchronize(service: Service, clock: Clock, times: int) -> None:
    """So many rounds in which the machine was asked."""
    for _ in range(times):
        clock.go_on(LONGEST_PAUSE)
        service.conductors["c1"].run_periodic_task(TASK)
        service.work()


def fail(**fault: Any) -> Callable[[RedfishService], None]:
    return lambda bmc: bmc.controller.faults.append(Fault(**fault))


def heal(bmc: RedfishService) -> None:
    bmc.controller.faults.clear()


FAULTS: dict[str, tuple[Callable[[RedfishService], None], Callable[[RedfishService], None], str]] = {
    "gone": (RedfishService.stop, RedfishService.start, "the connection was refused"),
    "hangs": (fail(hangs=True), heal, "it did not answer in time"),
    "a storm of 500": (fail(status=500), heal, "it failed (HTTP 500): The controller is out of order"),
    "503": (
        fail(status=503, body=b"<h1>busy</h1>", retry_after="0"),
        heal,
        "It is busy (HTTP 503): Service Unavailable",
    ),
    "nonsense": (fail(path="Systems/1$", body=b"[]"), heal, "answered nonsense"),
    "another machine": (fail(path="Systems/1$", status=404), heal, "does not know"),
    "no power state": (fail(path="Systems/1$", body=b'{"Id": "1"}'), heal, "cannot be read"),
    "drops": (fail(drops=True), heal, "it broke the connection off"),
}


@pytest.mark.parametrize(
    ("name", "rounds", "read_timeout"), [(name, *((1, 0.15) if name == "hangs" else (3, 5))) for name in FAULTS]
)
def test_a_fault_takes_a_machine_off_the_market_until_it_is_over(
    monkeypatch: pytest.MonkeyPatch,
    service: Service,
    clock: Clock,
    bmc: RedfishService,
    name: str,
    rounds: int,
    read_timeout: float,
) -> None:
    """Without anyone's help."""
    monkeypatch.setattr(login, "_LOGOUT_SECONDS", read_timeout)
    begin, end, said = FAULTS[name]
    offered(service, bmc)
    begin(bmc)
    synchronize(service, clock, rounds)
    assert not service.node("n1")["maintenance"]
    synchronize(service, clock, 1)
    for _ in range(3):
        synchronize(service, clock, 1)
    node = service.node("n1")
    assert (node["maintenance"], node["fault"], node["power_state"]) == (True, "power failure", "error")
    assert said in node["last_error"]
    assert said in node["maintenance_reason"]
    assert not is_offered(service)
    service.conductors["c1"].run_periodic_task(RECOVERY)
    assert service.node("n1")["maintenance"]
    end(bmc)
    clock.go_on(LONGEST_PAUSE)
    service.conductors["c1"].run_periodic_task(RECOVERY)
    node = service.node("n1")
    assert (node["maintenance"], node["fault"], node["power_state"]) == (False, None, "power off")
    assert is_offered(service)
    connection.close_all(5)
    bmc.controller.sessions.close_all()  # some were lost


def test_a_password_that_was_changed(service: Service, clock: Clock, bmc: RedfishService) -> None:
    offered(service, bmc)
    bmc.controller.password = "changed-at-the-controller-1"
    bmc.controller.sessions.close_all()
    synchronize(service, clock, 6)
    node = service.node("n1")
    assert (node["maintenance"], node["fault"]) == (True, "power failure")
    assert "refused the credentials (HTTP 401): user or password is wrong" in node["last_error"]
    service.patch("n1", ("replace", "/driver_info/redfish_password", bmc.controller.password))
    service.conductors["c1"].run_periodic_task(RECOVERY)
    clock.go_on(LONGEST_PAUSE)
    service.conductors["c1"].run_periodic_task(RECOVERY)
    assert not service.node("n1")["maintenance"]
    assert is_offered(service)


def test_a_session_that_expires_is_no_fault(service: Service, clock: Clock, bmc: RedfishService) -> None:
    offered(service, bmc)
    for _ in range(5):
        bmc.controller.sessions.close_all()
        synchronize(service, clock, 1)
    node = service.node("n1")
    assert (node["maintenance"], node["driver_internal_info"].get("power_sync_failures", 0)) == (False, 0)
    assert is_offered(service)


def test_what_verifying_says(service: Service, bmc: RedfishService) -> None:
    enrol(service, bmc, redfish_password="wrong-password-1")
    node = provision(service, "manage")
    assert node["provision_state"] == "enroll"
    assert "Failed to get power state for node" in node["last_error"]
    assert "refused the credentials" in node["last_error"]
    service.patch("n1", ("remove", "/driver_info/redfish_address"))
    node = provision(service, "manage")
    assert "Failed to validate power driver interface" in node["last_error"]
    assert "driver_info/redfish_address is missing" in node["last_error"]
    service.patch("n1", ("add", "/driver_info", bmc.driver_info()))
    node = provision(service, "manage")
    assert (node["provision_state"], node["boot_mode"], node["last_error"]) == ("manageable", "uefi", None)


def test_a_certificate_of_another_authority(service: Service, tmp_path: Path) -> None:
    own = make_certificate(tmp_path, "own")
    with RedfishService(tls=(str(own.certificate), str(own.key))) as bmc:
        enrol(service, bmc)
        node = provision(service, "manage")
        assert "its certificate cannot be verified" in node["last_error"]
        assert "driver_info/redfish_verify_ca" in node["last_error"]
        service.patch("n1", ("add", "/driver_info/redfish_verify_ca", str(own.certificate)))
        assert provision(service, "manage")["provision_state"] == "manageable"
        connection.close_all(5)


@pytest.mark.usefixtures("patient")
def test_power_that_never_changes(service: Service, bmc: RedfishService) -> None:
    offered(service, bmc)
    bmc.controller.power_sticks = True
    service.baremetal("PUT", "/nodes/n1/states/power", {"target": "power on", "timeout": 1}, status=202)
    service.work()
    node = service.node("n1")
    assert (node["power_state"], node["target_power_state"], node["reservation"]) == ("power off", None, None)
    assert "not in 'power on', 1 seconds after its controller was asked" in node["last_error"]


def test_validation_names_what_is_missing(service: Service, bmc: RedfishService) -> None:
    enrol(service, bmc, redfish_auth_type="session", redfish_password=None)
    found = service.baremetal("GET", "/nodes/n1/validate").json
    assert "driver_info/redfish_password is missing" in found["power"]["reason"]
    assert "driver_info/redfish_password is missing" in found["management"]["reason"]
    properties = service.baremetal("GET", "/drivers/redfish/properties").json
    assert "Required" in properties["redfish_address"]


def test_a_conductor_that_stops_logs_out(service: Service, bmc: RedfishService) -> None:
    offered(service, bmc)
    assert len(bmc.controller.sessions.ids) == 1
    service.conductors["c1"].finish()
    assert bmc.controller.sessions.ids == []


def test_the_health_that_a_controller_reports_is_stored(
    service: Service, clock: Clock, bmc: RedfishService, subtests: pytest.Subtests
) -> None:
    """A change of it stands in the history, and nothing else is changed."""
    enrol(service, bmc)
    provision(service, "manage")
    reported: list[tuple[dict[str, Any], str | None]] = [
        ({"State": "Enabled", "Health": "OK"}, "OK"),
        ({"State": "Enabled", "Health": "Critical"}, "Critical"),
        ({"State": "Enabled"}, None),
        ({"State": "Enabled", "Health": "Warning"}, "Warning"),
        ({"State": "Enabled", "Health": "Splendid"}, None),
    ]
    for status, health in reported:
        with subtests.test(str(status)):
            bmc.controller.system = {"Status": status}
            synchronize(service, clock, 1)
            assert (service.node("n1")["health"], service.node("n1")["last_error"]) == (health, None)
            synchronize(service, clock, 1)
    said = [each["event"] for each in service.baremetal("GET", "/nodes/n1/history?detail=True").json["history"]]
    changes = [each for each in said if each.startswith("Node health")]
    assert changes[-2:] == [
        "Node health status changed: health='Warning' (previously 'None')",
        "Node health status changed: health='None' (previously 'Warning')",
    ]
    assert len(changes) == len(reported)


def test_health_is_not_read_without_monitoring(database_url: str, clock: Clock, bmc: RedfishService) -> None:
    settings = SETTINGS | {"conductor": {"enable_health_monitoring": False}}
    with Service(database_url, **settings) as service:
        service.add_conductor("c1")._host.back_off._clock = clock.monotonic
        enrol(service, bmc)
        provision(service, "manage")
        synchronize(service, clock, 1)
        assert service.node("n1")["health"] is None
