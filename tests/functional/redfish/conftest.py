"""The stage of these tests: a Redfish service of our own, and our service with a conductor."""

from collections.abc import Iterator

import pytest

from baremetal_sched.drivers import power_waiting
from baremetal_sched.drivers.redfish import boot_settings, connection
from tests.clocks import Clock
from tests.functional.redfish.steps import SETTINGS, manageable, switch_at_once
from tests.redfish_service import Controller, RedfishService
from tests.service import Service


@pytest.fixture
def running() -> Iterator[RedfishService]:
    with RedfishService() as found:
        yield found


@pytest.fixture
def controller(running: RedfishService) -> Controller:
    return running.controller


@pytest.fixture
def service(database_url: str, controller: Controller, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    switch_at_once(monkeypatch, controller)
    with Service(database_url, **SETTINGS) as found:
        found.add_conductor("c1")
        yield found


@pytest.fixture
def bmc() -> Iterator[RedfishService]:
    """A controller without our service; nobody is logged in there afterwards."""
    with RedfishService() as found:
        yield found
        connection.close_all(5)
        assert found.controller.sessions.ids == []


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines are looked at often."""
    monkeypatch.setattr(power_waiting, "PACE", power_waiting.Pace(first=0.01, longest=0.02, settle=0.15))
    monkeypatch.setattr(boot_settings, "_INTERVAL", 0.02)


@pytest.fixture
def patient(fast: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines are waited for as long as it takes, and that is no time."""
    clock = Clock()
    monkeypatch.setattr(power_waiting, "PACE", power_waiting.Pace(sleep=clock.sleep, clock=clock.monotonic))


@pytest.fixture
def node(service: Service, running: RedfishService) -> str:
    return manageable(service, running)
