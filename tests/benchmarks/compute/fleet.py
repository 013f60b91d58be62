"""The fleet that servers are booted on: that of the bare metal API, and the same as providers of the original."""

from collections.abc import Iterator

from baremetal_sched.placement.names import resource_class_of
from tests.benchmarks.baremetal.fleet import Fleet
from tests.benchmarks.placement.worlds import AggregateRow, InventoryRow, ProviderRow, TraitRow


class Providers:
    """The nodes of a fleet, as Nova reports them: nodes in use are claimed."""

    def __init__(self, fleet: Fleet) -> None:
        self.classes = [resource_class_of(name) for name in fleet.classes]
        self.traits = fleet.traits
        self._fleet = fleet

    def providers(self) -> Iterator[ProviderRow]:
        for machine in self._fleet.machines():
            yield machine.row_id, machine.uuid, machine.uuid, None, machine.row_id

    def inventories(self) -> Iterator[InventoryRow]:
        for machine in self._fleet.machines():
            yield machine.row_id, resource_class_of(machine.resource_class), 1, int(machine.taken)

    def provider_traits(self) -> Iterator[TraitRow]:
        for machine in self._fleet.machines():
            for trait in machine.traits:
                yield machine.row_id, trait

    def aggregates(self) -> Iterator[AggregateRow]:
        return iter(())


class FreeFleet(Fleet):
    """An unused fleet of one class."""

    classes = Fleet.classes[:1]
    taken = 0.0
