"""The stage of these tests: a Redfish service of our own, and our service with a conductor."""

from collections.abc import Iterator

import pytest

from tests.functional.redfish.steps import SETTINGS, switch_at_once
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
