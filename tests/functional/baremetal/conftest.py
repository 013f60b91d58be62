"""Fixtures for functional tests of the bare metal API."""

from collections.abc import Iterator

import pytest

from baremetal_sched import bounded_http
from tests.emulators.stub_agent import StubAgent
from tests.functional.baremetal.fleet import Fleet, shared


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
