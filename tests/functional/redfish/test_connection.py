"""Connections to Redfish controllers: logged in once, kept, dropped, logged out."""

import threading
from typing import Any

import pytest

from baremetal_sched.drivers.redfish import connection
from baremetal_sched.errors.baremetal import ControllerError, MachineUnreachable
from baremetal_sched.machines.machine import Machine
from tests.redfish import machine, quick
from tests.redfish_service import Fault, RedfishService

pytestmark = pytest.mark.sqlite_only


def at(service: RedfishService, **more: Any) -> Machine:
    """The machine of this controller."""
    settings = more.pop("settings", None)
    return machine(settings=settings, **{**service.driver_info(), **more})


def power(target: Machine) -> str:
    with connection.system(target) as system:
        return str(system.power_state.value)


def test_one_session_serves_many_calls(bmc: RedfishService) -> None:
    assert [power(at(bmc)) for _ in range(3)] == ["Off"] * 3
    assert bmc.controller.sessions.opened == 1
    connection.close_all(5)
    assert bmc.controller.sessions.ids == []


def test_another_password_is_another_session(bmc: RedfishService) -> None:
    power(at(bmc))
    with pytest.raises(MachineUnreachable, match="refused the credentials"):
        power(at(bmc, redfish_password="another-1"))
    bmc.controller.password = "another-1"
    assert power(at(bmc, redfish_password="another-1")) == "Off"
    assert bmc.controller.sessions.opened == 2


def test_a_session_that_has_expired_is_opened_again(bmc: RedfishService) -> None:
    power(at(bmc))
    bmc.controller.sessions.close_all()
    assert power(at(bmc)) == "Off"
    assert bmc.controller.sessions.opened == 2
    assert len(bmc.controller.sessions.ids) == 1


def test_a_session_that_expires_under_many_threads_is_opened_once(bmc: RedfishService) -> None:
    target, found = at(bmc), []
    power(target)
    bmc.controller.sessions.close_all()
    threads = [threading.Thread(target=lambda: found.append(power(target))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["Off"] * 12
    assert bmc.controller.sessions.opened == 2


def test_many_threads_log_in_once(bmc: RedfishService) -> None:
    bmc.controller.faults = [Fault(path="Sessions$", method="POST", seconds=0.2)]
    target, found = at(bmc), []
    threads = [threading.Thread(target=lambda: found.append(power(target))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["Off"] * 12
    assert bmc.controller.sessions.opened == 1


def test_a_password_that_was_changed_at_the_controller(bmc: RedfishService) -> None:
    power(at(bmc))
    bmc.controller.sessions.close_all()
    known = at(bmc)
    bmc.controller.password = "changed-1"
    for _ in range(2):
        with pytest.raises(MachineUnreachable, match=r"refused the credentials \(HTTP 401\).* and redfish_password"):
            power(known)


def test_there_is_an_end_to_sessions(bmc: RedfishService) -> None:
    """Where no more can be had, ``auto`` does without, and ``session`` says so."""
    bmc.controller.sessions.most = 0
    assert power(at(bmc)) == "Off"
    with pytest.raises((MachineUnreachable, ControllerError)):
        power(at(bmc, redfish_auth_type="session"))


def test_basic_authentication_opens_no_session(bmc: RedfishService) -> None:
    assert power(at(bmc, redfish_auth_type="basic")) == "Off"
    assert bmc.controller.sessions.opened == 0
    with pytest.raises(MachineUnreachable, match="refused the credentials"):
        power(at(bmc, redfish_auth_type="basic", redfish_password="wrong-1"))


def test_a_controller_without_sessions(bmc: RedfishService, subtests: pytest.Subtests) -> None:
    for kind, works in [("auto", True), ("basic", True), ("session", False)]:
        with subtests.test(msg=repr((kind, works))):
            bmc.controller.has_sessions = False
            bmc.controller.faults = [Fault(path="Sessions$", status=404)]
            if works:
                assert power(at(bmc, redfish_auth_type=kind)) == "Off"
            else:
                with pytest.raises(ControllerError, match="404"):
                    power(at(bmc, redfish_auth_type=kind))


def test_a_guard_that_knows_basic_authentication_only(bmc: RedfishService) -> None:
    bmc.controller.has_sessions = False
    bmc.controller.faults = [Fault(path="Sessions$", status=401)]
    assert power(at(bmc)) == "Off"
    with pytest.raises(MachineUnreachable, match="refused the credentials"):
        power(at(bmc, redfish_auth_type="session"))


def test_no_user(bmc: RedfishService) -> None:
    with pytest.raises(MachineUnreachable, match="no user is given"):
        power(at(bmc, redfish_username=None, redfish_password=None))


def test_the_only_system_need_not_be_named(bmc: RedfishService) -> None:
    assert power(at(bmc, redfish_system_id=None)) == "Off"
    with pytest.raises(
        ControllerError, match=r"does not know .*/Systems/7 \(HTTP 404\). Look at driver_info/redfish_syst"
    ):
        power(at(bmc, redfish_system_id="/redfish/v1/Systems/7"))
    assert bmc.controller.sessions.opened == 1


def test_connections_beyond_those_that_are_kept_are_logged_out(bmc: RedfishService) -> None:
    with RedfishService() as other:
        settings = quick(connection_cache_size=1)
        power(at(bmc, settings=settings))
        power(at(other, settings=settings))
        assert (bmc.controller.sessions.ids, other.controller.sessions.ids) == ([], ["1"])
        with connection.system(at(other, settings=settings)) as system:
            power(at(bmc, settings=settings))
            assert other.controller.sessions.ids == ["1"]  # it is being used
            system.refresh()
        assert other.controller.sessions.ids == []


def test_no_connection_is_kept(bmc: RedfishService) -> None:
    power(at(bmc, settings=quick(connection_cache_size=0)))
    assert bmc.controller.sessions.ids == []
    assert bmc.controller.sessions.opened == 1


def test_a_connection_that_failed_is_logged_out(bmc: RedfishService) -> None:
    power(at(bmc))
    bmc.controller.faults = [Fault(path="Systems/1$", status=500)]
    with pytest.raises(MachineUnreachable, match=r"it failed \(HTTP 500\): The controller is out of order\."):
        power(at(bmc))
    assert bmc.controller.sessions.ids == []
    bmc.controller.faults = [Fault(path="Systems/1$", status=500, times=1)]
    assert power(at(bmc)) == "Off"  # asked again at once


def test_a_connection_that_failed_is_not_taken_from_those_who_use_it(bmc: RedfishService) -> None:
    with connection.system(at(bmc)) as system:
        bmc.controller.faults = [Fault(path="Systems/1$", status=500)]
        with pytest.raises(MachineUnreachable):
            power(at(bmc))
        bmc.controller.faults = []
        system.refresh()
        assert bmc.controller.sessions.ids == ["1"]
    assert bmc.controller.sessions.ids == []


def test_a_controller_that_is_gone_and_comes_back(bmc: RedfishService) -> None:
    power(at(bmc))
    bmc.stop()
    with pytest.raises(MachineUnreachable, match="the connection was refused"):
        power(at(bmc))
    back = threading.Timer(0.1, bmc.start)
    back.start()
    try:
        settings = quick(connection_attempts=100, connection_retry_interval=0.05)
        assert power(at(bmc, settings=settings)) == "Off"
    finally:
        back.join()
    bmc.controller.sessions.close_all()  # that of the first call was lost


def test_a_name_that_nobody_knows() -> None:
    with pytest.raises(MachineUnreachable, match="its name is not known here"):
        power(machine("https://bmc1.invalid"))
