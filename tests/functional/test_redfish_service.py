"""Our own Redfish service, as an independent client (sushy) sees it."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import sushy
from sushy import auth

from tests.redfish_service import Fault, RedfishService
from tests.redfish_service.updates import Plan
from tests.waiting import wait_until


@pytest.fixture
def service() -> Iterator[RedfishService]:
    with RedfishService() as running:
        yield running


def connect(service: RedfishService) -> Any:
    how = auth.SessionAuth(service.controller.username, service.controller.password)
    return sushy.Sushy(service.url, auth=how, server_side_retries=1)


def test_sessions(service: RedfishService) -> None:
    client = connect(service)
    assert client.get_system("/redfish/v1/Systems/1").power_state == sushy.PowerState.OFF
    sessions = service.controller.sessions
    assert (sessions.opened, sessions.ids) == (1, ["1"])
    sessions.close_all()
    client.get_system("/redfish/v1/Systems/1")
    assert (sessions.opened, sessions.ids) == (2, ["2"])
    client._auth.close()
    assert sessions.ids == []
    sessions.most = 0
    with pytest.raises(sushy.exceptions.ServerSideError, match="too many sessions"):
        connect(service)
    assert service.controller.password not in str(service.controller.journal)


def test_power(service: RedfishService) -> None:
    service.controller.power_seconds = 0.05
    system = connect(service).get_system("/redfish/v1/Systems/1")
    system.reset_system(sushy.ResetType.ON)
    system.refresh(force=True)
    assert system.power_state == sushy.PowerState.OFF
    time.sleep(0.06)
    system.refresh(force=True)
    assert system.power_state == sushy.PowerState.ON
    assert service.controller.asked("POST /redfish/v1/Systems/1/Actions") == 1


def test_bios_settings_wait_for_a_reboot(service: RedfishService) -> None:
    system = connect(service).get_system("/redfish/v1/Systems/1")
    system.bios.set_attributes({"BootMode": "Bios"}, apply_time=sushy.ApplyTime.ON_RESET)
    assert system.bios.attributes["BootMode"] == "Uefi"
    system.reset_system(sushy.ResetType.ON)
    system.bios.refresh(force=True)
    assert system.bios.attributes["BootMode"] == "Bios"
    with pytest.raises(sushy.exceptions.BadRequestError, match="Unknown is not in the list"):
        system.bios.set_attributes({"Unknown": 1})
    registry = system.bios.get_attribute_registry()
    assert registry.registry_entries.attributes[0].name == "BootMode"


def test_updates_are_tasks(service: RedfishService) -> None:
    updates = service.controller.updates
    updates.plans = [Plan(seconds=0.1), Plan(needs_reboot=True, seconds=0, state="Exception", messages=["It broke."])]
    client = connect(service)
    monitor = client.get_update_service().simple_update("http://images/bios-2.0.0.bin")
    wait_until(lambda: monitor.get_task().task_state == sushy.TaskState.COMPLETED, "the update")
    assert updates.versions["bios"] == "2.0.0"
    monitor = client.get_update_service().simple_update("http://images/bmc-2.0.0.bin")
    assert monitor.get_task().task_state == sushy.TaskState.STARTING
    client.get_system("/redfish/v1/Systems/1").reset_system(sushy.ResetType.ON)
    task = monitor.get_task()
    assert (task.task_state, task.messages[0].message) == (sushy.TaskState.EXCEPTION, "It broke.")


def test_faults(service: RedfishService) -> None:
    service.controller.faults = [
        Fault(path="Systems", status=500, times=1),
        Fault(path="Managers", body=b"nonsense", times=1),
        Fault(path="Chassis", drops=True),
        Fault(path="UpdateService", hangs=True),
    ]
    session = requests.Session()
    session.auth = (service.controller.username, service.controller.password)
    assert [session.get(f"{service.url}/redfish/v1/Systems").status_code for _ in range(2)] == [500, 200]
    assert session.get(f"{service.url}/redfish/v1/Managers").content == b"nonsense"
    with pytest.raises(requests.ConnectionError):
        session.get(f"{service.url}/redfish/v1/Chassis")
    with pytest.raises(requests.ReadTimeout):
        session.get(f"{service.url}/redfish/v1/UpdateService", timeout=0.1)
    service.stop()
    with pytest.raises(requests.ConnectionError):
        session.get(f"{service.url}/redfish/v1/")
    service.start()
    assert session.get(f"{service.url}/redfish/v1/").status_code == 200
    session.close()
