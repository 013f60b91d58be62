"""A fleet, written into the tables of either side."""

import json
from typing import Any

from sqlalchemy import update

from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Conductor
from baremetal_sched.db.transaction import Database
from baremetal_sched.drivers import registry
from baremetal_sched.drivers.enabled import EnabledDrivers, served_types
from baremetal_sched.placement import names
from baremetal_sched.placement import trait_ids as id_texts
from baremetal_sched.placement.names import resource_class_of
from baremetal_sched.settings import load
from tests.benchmarks.baremetal.fleet import Fleet, Machine
from tests.benchmarks.stores import Store

NOW = "2026-01-01 00:00:00"
DRIVER = "fake-hardware"
HOST = "conductor-1"
_YEAR = 365 * 24 * 3600

SERVED = served_types(EnabledDrivers.of(load(overrides={"DEFAULT": {"enabled_hardware_types": DRIVER}})))
_INTERFACES = {f"{kind}_interface": found[0] for kind, found in registry.hardware_type(DRIVER).interfaces.items()}
#: Versions of Ironic's objects, which its rows carry.
_NODE_VERSION = "1.44"
_TRAIT_VERSION = "1.1"


def _node(machine: Machine) -> dict[str, Any]:
    """The rows that the tables of both sides have, under the same names."""
    return {
        "id": machine.row_id,
        "uuid": machine.uuid,
        "name": machine.name,
        "created_at": NOW,
        "updated_at": NOW,
        "driver": DRIVER,
        "conductor_group": "",
        "resource_class": machine.resource_class,
        "power_state": "power on",
        "provision_state": "active" if machine.taken else "available",
        "provision_updated_at": NOW,
        "instance_uuid": machine.instance_uuid,
        "driver_info": _json(machine.driver_info),
        "driver_internal_info": _json({"is_whole_disk_image": True} if machine.taken else {}),
        "properties": _json(machine.properties),
        "instance_info": _json(machine.instance_info),
        "extra": _json(machine.extra),
        **dict.fromkeys(("maintenance", "console_enabled", "protected", "retired", "disable_power_off"), 0),
        **_INTERFACES,
    }


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"))


def _load_nodes(store: Store, fleet: Fleet, more: dict[str, Any]) -> None:
    """The nodes; ``more`` is what else the table wants of each."""
    rows = ({**_node(machine), **more} for machine in fleet.machines())
    columns = {**_node(next(fleet.machines())), **more}
    store.load("nodes", ", ".join(columns), (tuple(row.values()) for row in rows))


def seed_ours(store: Store, fleet: Fleet) -> None:
    """The nodes, their providers as ``projection`` makes them, and a conductor that does not die."""
    database = Database(load(overrides={"database": {"connection": store.url_of()}}))
    classes = [resource_class_of(name) for name in fleet.classes]
    class_ids = database.write(lambda session: {name: names.ensure_class(session, name) for name in classes})
    trait_ids = database.write(lambda session: names.ensure_traits(session, fleet.traits))
    database.write(lambda session: conductors.register(session, HOST, "", SERVED))
    database.write(lambda session: session.execute(update(Conductor).values(heartbeat_at=epoch() + _YEAR)))
    database.dispose()
    _load_nodes(store, fleet, {"revision": 1})
    pairs = [(machine.row_id, trait) for machine in fleet.machines() for trait in machine.traits]
    store.load("node_traits", "node_id, trait", pairs)
    store.load(
        "resource_providers",
        "id, uuid, name, root_id, generation, created_at, trait_ids, mirrored_class_id, withheld",
        (
            (machine.row_id, machine.uuid, machine.uuid, machine.row_id, 1, NOW, text, class_id, int(machine.taken))
            for machine in fleet.machines()
            for text in [id_texts.text_of([trait_ids[trait] for trait in machine.traits])]
            for class_id in [class_ids[resource_class_of(machine.resource_class)]]
        ),
    )
    store.load("provider_traits", "provider_id, trait_id", ((row_id, trait_ids[trait]) for row_id, trait in pairs))
    store.load(
        "inventories",
        "provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, capacity, "
        "used, created_at",
        (
            (machine.row_id, class_ids[name], 1, reserved, 1, 1, 1, 1.0, 1 - reserved, 0, NOW)
            for machine in fleet.machines()
            for name, reserved in [(resource_class_of(machine.resource_class), int(machine.taken))]
        ),
    )
    store.analyze()


def seed_original(store: Store, fleet: Fleet) -> None:
    """The nodes, for Ironic, whose schema is there."""
    _load_nodes(store, fleet, {"version": _NODE_VERSION})
    store.load(
        "node_traits",
        "node_id, trait, version, created_at",
        ((machine.row_id, trait, _TRAIT_VERSION, NOW) for machine in fleet.machines() for trait in machine.traits),
    )
    store.analyze()
