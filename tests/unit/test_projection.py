"""A node as inventory: what Nova makes of it, row by row."""

import csv
import json
from pathlib import Path

import pytest

from baremetal_sched.baremetal.provider.availability import is_available
from baremetal_sched.baremetal.provider.projection import inventory_of, resource_class_of
from baremetal_sched.db.models import Node
from baremetal_sched.placement.projected import Copies, SingleUnit

DATA = Path(__file__).parents[1] / "data"
NAMES = [
    row
    for row in json.loads((DATA / "resource_class_name_vectors.json").read_text())["rows"]
    if row["resource_class"] is not None
]
with (DATA / "inventory_vectors.csv").open() as file:
    # Nova can be told to offer nodes that are in use; we never do. And a node always has a provision state.
    ROWS = [
        row
        for row in csv.DictReader(file)
        if (row["skip_reserve_in_use"] == "0" or row["has_instance"] == "0") and row["provision_state"]
    ]


def test_the_vectors_cover_every_state() -> None:
    assert len(ROWS) > 200
    assert {row["reserved"] for row in ROWS} == {"0", "1"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(row.values()))
def test_reserved_as_nova_has_it(row: dict[str, str]) -> None:
    node = Node(
        provision_state=row["provision_state"],
        power_state=row["power_state"] or None,
        maintenance=row["maintenance"] == "1",
        instance_uuid="00000000-0000-4000-8000-000000000001" if row["has_instance"] == "1" else None,
    )
    assert is_available(node) == (row["reserved"] == "0")


@pytest.mark.parametrize("row", NAMES, ids=lambda row: repr(row["resource_class"])[:40])
def test_names_of_classes_as_nova_has_them(row: dict[str, str]) -> None:
    assert resource_class_of(row["resource_class"]) == row["normalized"]


@pytest.mark.parametrize("resource_class", [None, ""])
def test_a_node_without_a_class_has_no_inventory(resource_class: str | None) -> None:
    assert inventory_of(Node(resource_class=resource_class, maintenance=False)) is None


def test_a_node_that_can_be_had_is_one_unit() -> None:
    node = Node(resource_class="gold.v1", provision_state="available", power_state="power on", maintenance=False)
    assert inventory_of(node) == SingleUnit("CUSTOM_GOLD_V1", reserved=False, copies=Copies("gold.v1", "", None))
