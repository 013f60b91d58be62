"""Sequences of a machine under a Nova that has the service for Ironic and for Placement.

Each sequence is a phase of the machine's life, in which something happens, and the rest of that life. After each step
Nova's periodic task must succeed, and has nothing to repeat; Placement and Nova have the machine once, with its
class, its traits and the traits that Nova gave it; and the scheduler finds it if it can be had, and only then.

A database other than SQLite's is tried by hand: NOVA_DATABASE_URL names one, and everything in it is deleted.
"""

import os
from collections.abc import Callable, Iterator

import pytest

from tests.clients.environments import python_with
from tests.clients.nova import events
from tests.clients.nova.events import Event
from tests.clients.nova.rig import Machine, Site, machine
from tests.databases import make_empty
from tests.processes import run

NOVA = ("nova==34.0.0", "openstacksdk==4.22.0")
#: A machine's life, with something that happens in the middle.
Phase = Callable[[Machine, Callable[[], None]], None]


@pytest.fixture(scope="module")
def site(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One for the module; a sequence has a machine of its own. At the end nothing was undone by reconciliation, and
    all is consistent."""
    python = python_with(pytestconfig, "nova", *NOVA)
    folder = tmp_path_factory.mktemp("nova")
    url = os.environ.get("NOVA_DATABASE_URL", f"sqlite:///{folder / 'service.sqlite'}")
    if not url.startswith("sqlite"):
        make_empty(url)
    site = Site(python, folder, "--database", url)
    try:
        yield site
        assert run(folder, "db", "check", settings={"database": {"connection": url}}).returncode == 0
        assert "undid changes of a provider" not in site.log
    finally:
        site.close()


def new(machine: Machine, happen: Callable[[], None]) -> None:
    """Before Nova sees it for the first time."""
    happen()
    live(machine)


def free(machine: Machine, happen: Callable[[], None]) -> None:
    """While it can be had."""
    machine.update()
    machine.check()
    happen()
    live(machine)


def claimed(machine: Machine, happen: Callable[[], None]) -> None:
    """After the scheduler has chosen it, and before nova-compute hears of that."""
    machine.update()
    machine.claim(traits=())
    happen()
    machine.build()
    machine.update()
    machine.check()
    machine.delete()


def prepared(machine: Machine, happen: Callable[[], None]) -> None:
    """After nova-compute has taken it for a server, and before it deploys that; the server is given up then."""
    machine.update()
    machine.claim()
    machine.prepare()
    happen()
    machine.abandon()


def deployed(machine: Machine, happen: Callable[[], None]) -> None:
    """While a server is on it; nova-compute has not looked since."""
    machine.update()
    machine.claim()
    machine.build()
    happen()
    machine.delete()


def released(machine: Machine, happen: Callable[[], None]) -> None:
    """After a server was on it; nova-compute has not looked since."""
    machine.update()
    machine.claim()
    machine.build()
    machine.delete()
    happen()
    machine.claim()
    machine.build()
    machine.delete()


def live(machine: Machine) -> None:
    """A server, from claim to deletion."""
    machine.claim()
    machine.check()
    machine.build()
    machine.update()
    machine.check()
    machine.delete()


PHASES: dict[Phase, dict[str, Event]] = {
    new: {"fields": events.fields_changed, "class": events.class_changed, "maintenance": events.maintenance},
    free: {
        "fields": events.fields_changed,
        "trait added": events.trait_added,
        "traits replaced": events.traits_replaced,
        "traits deleted": events.traits_deleted,
        "class": events.class_changed,
        "power": events.power,
        "maintenance": events.maintenance,
        "short maintenance": events.short_maintenance,
        "managed": events.managed,
        "claimed by another": events.claimed_by_other,
        "aggregate": events.aggregate,
        "child": events.child,
        "reconciled": events.reconciled,
        "service restarted": events.service_restarted,
        "nova-compute restarted": events.nova_restarted,
        "nova-compute forgets": events.nova_forgets,
        "nova-compute disabled": events.compute_disabled,
        "noticed late": events.noticed_late,
    },
    claimed: {
        "fields": events.fields_changed,
        "trait removed": events.trait_removed,
        "class": events.class_kept,
        "maintenance": events.maintenance,
        "reconciled": events.reconciled,
        "nova-compute restarted": events.nova_restarted,
        "nova-compute disabled": events.compute_disabled,
    },
    prepared: {"fields": events.fields_changed, "maintenance": events.maintenance, "reconciled": events.reconciled},
    deployed: {
        "fields": events.fields_changed,
        "trait added": events.trait_added,
        "class": events.class_kept,
        "power": events.power_off,
        "stopped": events.stopped,
        "rebuilt": events.rebuilt,
        "maintenance": events.maintenance,
        "reconciled": events.reconciled,
        "service restarted": events.service_restarted,
        "nova-compute restarted": events.nova_restarted,
    },
    released: {
        "fields": events.fields_changed,
        "trait removed": events.trait_removed,
        "class": events.class_changed,
        "maintenance": events.maintenance,
        "managed": events.managed,
        "nova-compute restarted": events.nova_restarted,
    },
}
SEQUENCES = [(phase, name) for phase, happenings in PHASES.items() for name in happenings]
WITHOUT_RESERVING: list[tuple[Phase, str]] = [
    *((prepared, "fields"), (prepared, "maintenance"), (prepared, "reconciled")),
    *((deployed, "maintenance"), (deployed, "reconciled"), (released, "fields")),
]


def _names(sequences: list[tuple[Phase, str]]) -> list[str]:
    return [f"{phase.__name__}: {name}" for phase, name in sequences]


@pytest.mark.parametrize(("phase", "event"), SEQUENCES, ids=_names(SEQUENCES))
def test_sequence(site: Site, phase: Phase, event: str) -> None:
    """Whatever happens, whenever, Nova goes on."""
    go_through(site, phase, event)


@pytest.mark.parametrize(("phase", "event"), WITHOUT_RESERVING, ids=_names(WITHOUT_RESERVING))
def test_sequence_without_reserving(site: Site, phase: Phase, event: str) -> None:
    """So it does where Nova is told not to reserve what is in use; until a server is deployed it disagrees, then."""
    site.nova.ask("configure", skip_reserve_in_use_ironic_nodes=True)
    try:
        go_through(site, phase, event, repeats=phase is prepared)
    finally:
        site.nova.ask("configure", skip_reserve_in_use_ironic_nodes=False)


def go_through(site: Site, phase: Phase, event: str, *, repeats: bool = False) -> None:
    """The life of a machine, with ``event`` in ``phase`` of it."""
    with machine(site) as made:

        def happen() -> None:
            undo = PHASES[phase][event](made)
            made.update(repeats=repeats)
            made.check()
            if undo is not None:
                undo()
                made.update(repeats=repeats)
                made.check()

        phase(made, happen)
        made.update()
        made.check()


def test_failed_build(site: Site) -> None:
    """The node loses a trait that the server needs after it was chosen: it is not deployed, and free again."""
    with machine(site) as made:
        made.update()
        made.claim()
        events.trait_removed(made)
        errors = site.nova.fail("build", server=made.server, node=made.uuid)
        assert "missing traits CUSTOM_NVME" in errors
        assert "RescheduledException" in errors
        made.abandon()
        made.update()
        made.check()
        live(made)
