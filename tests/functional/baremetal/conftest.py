"""Fixtures for functional tests of the bare metal API."""

from collections.abc import Iterator

import pytest

from baremetal_sched import bounded_http
from tests.emulators.stub_agent import StubAgent
from tests.functional.baremetal.agents import IMAGE, MAC
from tests.functional.baremetal.fleet import Fleet, shared
from tests.functional.baremetal.provisioning import enrol
from tests.service import Service


@pytest.fixture
def fleet(database_url: str) -> Iterator[Fleet]:
    """A fleet that several projects share."""
    with shared(database_url) as fleet:
        yield fleet


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> StubAgent:
    """The agent that is at every address."""
    stub = StubAgent()
    monkeypatch.setattr(bounded_http, "exchange", stub.exchange)
    return stub


@pytest.fixture
def uuid(service: Service) -> str:
    """The UUID of n1, which is enrolled only."""
    return enrol(service)


@pytest.fixture
def node(service: Service) -> str:
    """An available node with a port, which an agent deploys."""
    uuid = service.add_node("n1", power=False, deploy_interface="direct", inspect_interface="agent")
    service.patch("n1", ("add", "/instance_info", IMAGE))
    service.baremetal("POST", "/ports", {"node_uuid": uuid, "address": MAC})
    return uuid
