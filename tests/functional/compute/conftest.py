"""Machines on which deployments fail, and a service whose server groups are kept apart by rack."""

from collections.abc import Iterator

import pytest

from baremetal_sched.drivers.fake.provisioning import FakeDeploy
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Effect, Machine
from tests.functional.compute.grouped import Cloud
from tests.functional.compute.nova_lists import Compute, make_command
from tests.service import Service


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """UUIDs of machines that cannot be deployed."""
    machines: set[str] = set()

    deploy = FakeDeploy.deploy

    def fail(self: FakeDeploy, machine: Machine) -> Effect:
        if machine.uuid in machines:
            raise InvalidValue(message="The disk is broken.")
        return deploy(self, machine)

    fail.__dict__.update(deploy.__dict__)
    fail.__doc__ = deploy.__doc__
    monkeypatch.setattr(FakeDeploy, "deploy", fail)
    return machines


@pytest.fixture
def cloud(database_url: str) -> Iterator[Cloud]:
    with Service(database_url, compute={"server_group_level": "rack"}) as service:
        service.add_conductor("c1")
        yield Cloud(service)


@pytest.fixture
def compute(service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Compute:
    return make_command(service, monkeypatch, capsys)
