"""A Nova whose user has a token: what it sees, and what it can do, with which role."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.clients.environments import python_with
from tests.clients.keystone.cloud import keystone_in
from tests.clients.nova import events
from tests.clients.nova.guarded import Guarded
from tests.clients.nova.rig import Machine, machine
from tests.clients.nova.test_sequences import NOVA


@pytest.fixture(scope="module")
def site(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """One for the module, with a Keystone of its own."""
    python = python_with(pytestconfig, "nova", *NOVA)
    with keystone_in(pytestconfig, tmp_path_factory.mktemp("identity") / "keystone") as keystone:
        site = Guarded(python, tmp_path_factory.mktemp("nova"), keystone)
        try:
            yield site
        finally:
            site.close()


def live(machine: Machine) -> None:
    """All that Nova does with a server."""
    deploy(machine)
    events.stopped(machine)()
    events.rebuilt(machine)
    remove(machine)


def deploy(machine: Machine) -> None:
    """Nova sees the machine, and has a server on it."""
    machine.update()
    machine.check()
    machine.claim()
    machine.build()
    machine.update()
    machine.check()


def remove(machine: Machine) -> None:
    """The server is gone, and the machine can be had again."""
    machine.delete()
    machine.update()
    machine.check()


@contextmanager
def spare(site: Guarded) -> Iterator[Machine]:
    """A machine without an owner, which no server gets."""
    made = Machine(site)
    try:
        yield made
    finally:
        site.client.baremetal("DELETE", f"/nodes/{made.uuid}")


def stays_unseen(made: Machine, other: Machine) -> None:
    """Nova has one of the machines, and not the other; the scheduler finds that neither, as Nova has not marked it."""
    made.others = [other.uuid]
    made.update()
    made.check()
    assert made.site.nova.ask("candidates", resource_class=other.standard_class) == []
    made.others = []


def test_elevated(site: Guarded) -> None:
    """The role service is enough for machines without an owner."""
    site.use("service", elevated=True)
    with machine(site) as made:
        live(made)


def test_switched_off_meanwhile(site: Guarded) -> None:
    """Nova may not see the machine of a server any more: it keeps off both, and goes on when it may."""
    site.use("service", elevated=True)
    with machine(site) as made:
        deploy(made)
        site.elevate(False)
        assert "InstanceNotFound" in site.nova.fail("stop", server=made.server)
        assert "mirrors the bare metal node" in site.nova.fail("update")  # Nova would delete the provider
        assert site.nova.ask("nodes") == []
        assert site.nova.ask("held", server=made.server) == {made.uuid: {made.standard_class: 1}}
        made.wait_for(provision_state="active", instance_uuid=made.server)
        site.elevate(True)
        made.update()
        made.check()
        events.stopped(made)()
        remove(made)


def test_without_a_role_in_placement(site: Guarded) -> None:
    """Nova sees the machine, and is refused the rest."""
    site.use("service", "red-reader", elevated=True)
    with spare(site) as made:
        assert "Policy does not allow placement:resource_providers:list" in site.nova.fail("update")
        assert site.nova.ask("nodes") == [made.uuid]
        refused = site.nova.fail("candidates", resource_class=made.standard_class)
        assert "Policy does not allow placement:allocation_candidates:list" in refused


def test_an_administrator_of_the_services(site: Guarded) -> None:
    """The option is about the role service only: others see the machines of their project, and do all with them."""
    site.use("service-admin", "service-admin", elevated=True)
    with machine(site, owner=site.keystone.project_ids["service"]) as made:
        with spare(site) as other:
            stays_unseen(made, other)
        live(made)


def test_machines_of_its_own_project(site: Guarded) -> None:
    """Without the option the role service is good for these, and not for their power: so it is with Ironic."""
    site.use("service")
    with machine(site, owner=site.keystone.project_ids["service"]) as made:
        with spare(site) as other:
            stays_unseen(made, other)
        deploy(made)
        made.power("power on")
        refused = site.nova.fail("stop", server=made.server)
        assert "Access was denied to the following resource: baremetal:node:set_power_state" in refused
        made.wait_for(power_state="power on")
        events.rebuilt(made)
        remove(made)


def test_system_scope(site: Guarded) -> None:
    """The role service for the system is enough without the option."""
    site.use("system-service")
    with machine(site) as made:
        live(made)
