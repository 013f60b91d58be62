"""A node as inventory: what Nova makes of it, row by row."""

import csv
import json
from pathlib import Path

from baremetal_sched.baremetal.provider.availability import is_available
from baremetal_sched.baremetal.provider.projection import inventory_of
from baremetal_sched.db.models import Node
from baremetal_sched.placement.names import resource_class_of
from baremetal_sched.placement.projected import Copies, SingleUnit

DATA = Path(__file__).parents[1] / "data"


def test_reserved_as_nova_has_it() -> None:
    with (DATA / "inventory_vectors.csv").open() as file:
        # Nova can be told to offer nodes that are in use; we never do. And a node always has a provision state.
        rows = [
            row
            for row in csv.DictReader(file)
            if (row["skip_reserve_in_use"] == "0" or row["has_instance"] == "0") and row["provision_state"]
        ]
    assert len(rows) > 200
    assert {row["reserved"] for row in rows} == {"0", "1"}
    assert [row for row in rows if is_available(_node(row)) != (row["reserved"] == "0")] == []


def _node(row: dict[str, str]) -> Node:
    return Node(
        provision_state=row["provision_state"],
        power_state=row["power_state"] or None,
        maintenance=row["maintenance"] == "1",
        instance_uuid="00000000-0000-4000-8000-000000000001" if row["has_instance"] == "1" else None,
    )


def test_names_of_classes_as_nova_has_them() -> None:
    rows = json.loads((DATA / "resource_class_name_vectors.json").read_text())["rows"]
    names = {row["resource_class"]: row["normalized"] for row in rows if row["resource_class"] is not None}
    assert len(names) == 11
    assert {name: resource_class_of(name) for name in names} == names


def test_a_node_without_a_class_has_no_inventory() -> None:
    for none in (None, ""):
        assert inventory_of(Node(resource_class=none, maintenance=False)) is None


def test_a_node_that_can_be_had_is_one_unit() -> None:
    node = Node(resource_class="gold.v1", provision_state="available", power_state="power on", maintenance=False)
    assert inventory_of(node) == SingleUnit("CUSTOM_GOLD_V1", reserved=False, copies=Copies("gold.v1", "", None))
