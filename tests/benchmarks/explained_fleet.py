"""The fleet that explanations and capacity are measured on, written into the tables. The same at every run."""

import json
from collections.abc import Iterator
from itertools import chain
from random import Random
from typing import Any, NamedTuple

from sqlalchemy import update

from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Conductor
from baremetal_sched.db.transaction import Database
from baremetal_sched.placement import names
from baremetal_sched.placement import trait_ids as id_texts
from baremetal_sched.placement.names import resource_class_of
from baremetal_sched.settings import load
from tests.benchmarks.baremetal.seeding import DRIVER, NOW, SERVED
from tests.benchmarks.stores import Store, random_uuid

#: A tenth of the nodes has each class; a node has ``traits_of_each`` of the traits, and is in one of the groups.
CLASSES = [f"metal-{number}" for number in range(10)]
TRAITS = [f"CUSTOM_QUALITY_{number:02}" for number in range(60)]
GROUPS = [f"rack-{number:02}" for number in range(20)]

_YEAR = 365 * 24 * 3600


class Condition(NamedTuple):
    """The properties of a part of the nodes. ``claimed``: in placement; ``instance``: by the instance on it."""

    share: float
    provision_state: str = "available"
    maintenance: int = 0
    power_state: str | None = "power on"
    instance: bool = False
    claimed: bool = False

    @property
    def is_free(self) -> bool:
        """Return whether placement offers the node."""
        return self == Condition(self.share)


CONDITIONS = (
    Condition(0.6, "active", instance=True, claimed=True),
    Condition(0.1, claimed=True),
    Condition(0.05, "clean wait"),
    Condition(0.03, "manageable"),
    Condition(0.04, maintenance=1),
    Condition(0.03, power_state=None),
    Condition(0.15),
)


#: What inventories say of them.
_STATES = dict(
    zip(
        CONDITIONS,
        ("allocated", None, "clean wait", "manageable", "maintenance", "power unknown", None),
        strict=True,
    )
)


class Machine(NamedTuple):
    """A node. ``traits`` are numbers in TRAITS."""

    row_id: int
    uuid: str
    resource_class: str
    traits: list[int]
    group: str
    condition: Condition
    instance: str | None


class Fleet:
    """A fleet of a given size, with a number of traits a node. ``_LOTS`` nodes are drawn at random, and repeated."""

    _LOTS = 10_007

    def __init__(self, nodes: int, traits_of_each: int) -> None:
        self.nodes = nodes
        self.traits_of_each = traits_of_each
        random = Random("machines")
        shares = [condition.share for condition in CONDITIONS]
        self._conditions = random.choices(CONDITIONS, shares, k=self._LOTS)
        self._groups = random.choices(GROUPS, k=self._LOTS)
        self._traits = [sorted(random.sample(range(len(TRAITS)), traits_of_each)) for _ in range(self._LOTS)]

    def machines(self) -> Iterator[Machine]:
        """Yield the nodes, in the order of their ids."""
        random = Random("uuids")
        for row_id in range(1, self.nodes + 1):
            lot = row_id % self._LOTS
            yield Machine(
                row_id,
                random_uuid(random),
                CLASSES[row_id % len(CLASSES)],
                self._traits[lot],
                self._groups[lot],
                self._conditions[lot],
                random_uuid(random) if self._conditions[lot].instance else None,
            )


def _node(machine: Machine) -> dict[str, Any]:
    condition = machine.condition
    return {
        "id": machine.row_id,
        "uuid": machine.uuid,
        "name": f"node-{machine.row_id}",
        "created_at": NOW,
        "revision": 1,
        "driver": DRIVER,
        "conductor_group": machine.group,
        "resource_class": machine.resource_class,
        "power_state": condition.power_state,
        "provision_state": condition.provision_state,
        "instance_uuid": machine.instance,
        "maintenance": condition.maintenance,
        "driver_info": _json({"ipmi_address": f"10.0.0.{machine.row_id}", "ipmi_username": "operator"}),
        "properties": _json({"cpus": 64, "cpu_arch": "x86_64", "memory_mb": 262144, "capabilities": "boot_mode:uefi"}),
        "extra": _json({"rack": machine.group, "unit": machine.row_id % 40, "asset": f"A{machine.row_id:08}"}),
        **dict.fromkeys(("console_enabled", "protected", "retired", "disable_power_off"), 0),
    }


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"))


def seed(store: Store, fleet: Fleet) -> None:
    """Write the nodes, their providers as ``projection`` makes them, and a conductor a group that does not die."""
    class_ids, trait_ids = _names(store)
    with store.without_indexes("nodes", "node_traits", "resource_providers", "provider_traits", "inventories"):
        _load(store, fleet, class_ids, trait_ids)
    store.analyze()


def _load(store: Store, fleet: Fleet, class_ids: dict[str, int], trait_ids: list[int]) -> None:
    nodes = (_node(machine) for machine in fleet.machines())
    first = next(nodes)
    store.load("nodes", ", ".join(first), (tuple(row.values()) for row in chain([first], nodes)))
    store.load(
        "node_traits",
        "node_id, trait",
        ((machine.row_id, TRAITS[trait]) for machine in fleet.machines() for trait in machine.traits),
    )
    store.load(
        "resource_providers",
        "id, uuid, name, root_id, generation, created_at, trait_ids, mirrored_class_id, withheld",
        (
            (machine.row_id, machine.uuid, machine.uuid, machine.row_id, 1, NOW, text, class_id, int(withheld))
            for machine in fleet.machines()
            for text in [id_texts.text_of([trait_ids[trait] for trait in machine.traits])]
            for class_id in [class_ids[machine.resource_class]]
            for withheld in [_is_withheld(machine)]
        ),
    )
    store.load(
        "provider_traits",
        "provider_id, trait_id",
        ((machine.row_id, trait_ids[trait]) for machine in fleet.machines() for trait in machine.traits),
    )
    store.load(
        "inventories",
        "provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, capacity, "
        "used, created_at, node_class, node_group, node_state",
        (
            (*(machine.row_id, class_ids[machine.resource_class], 1, held, 1, 1, 1, 1.0, 1 - held, used, NOW), *copies)
            for machine in fleet.machines()
            for held, used in [(int(_is_withheld(machine)), int(machine.condition.claimed))]
            for copies in [(machine.resource_class, machine.group, _STATES[machine.condition])]
        ),
    )


def _is_withheld(machine: Machine) -> bool:
    return not machine.condition.is_free and not machine.condition.claimed


def _names(store: Store) -> tuple[dict[str, int], list[int]]:
    """Register the conductors, and return the ids of the classes by name and of the traits in order."""
    database = Database(load(overrides={"database": {"connection": store.url_of()}}))
    found = {
        name: database.write(lambda session, name=name: names.ensure_class(session, resource_class_of(name)))  # type: ignore[misc]
        for name in CLASSES
    }
    traits = database.write(lambda session: names.ensure_traits(session, TRAITS))
    for group in GROUPS:
        database.write(lambda session, group=group: conductors.register(session, f"c-{group}", group, SERVED))  # type: ignore[misc]
    database.write(lambda session: session.execute(update(Conductor).values(heartbeat_at=epoch() + _YEAR)))
    database.dispose()
    return found, [traits[name] for name in TRAITS]
