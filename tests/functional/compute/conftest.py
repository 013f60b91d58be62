"""Machines on which deployments fail."""

import pytest

from baremetal_sched.drivers.fake.provisioning import FakeDeploy
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Effect, Machine


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
