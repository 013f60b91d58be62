"""A node that tests enter as rows is what requests would have made of it."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from sqlalchemy import select

from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db.models import Base, DriverCall, EventNote
from tests import enrolment
from tests.restored import restored
from tests.service import Service

NODES: list[tuple[dict[str, Any], tuple[str, ...], bool]] = [
    ({"resource_class": "gold"}, (), True),
    ({"resource_class": "gold"}, (), False),
    ({"resource_class": None}, ("CUSTOM_A", "HW_CPU_X86_VMX"), True),
    (
        {
            "resource_class": "Silver.v1",
            "owner": "o",
            "lessee": "l",
            "conductor_group": "Rack1",
            "driver_info": {"a": 1, "password": "top-secret-here"},
            "properties": {"memory_mb": "1024", "capabilities": "boot_mode:uefi"},
            "extra": {"b": [None, True, 1.5]},
            "shard": "s",
            "description": "of a node",
        },
        ("CUSTOM_B", "CUSTOM_A", "CUSTOM_B"),
        True,
    ),
]

#: What each request and each row makes anew.
PASSING = {
    *("created_at", "updated_at", "generation", "heartbeat_at", "id", "node_id", "provider_id", "revision", "root_id"),
    *("driver_internal_info", "uuid"),
}


def rows(service: Service, uuid: str) -> dict[str, str]:
    """The rows of each table as text, without what passes."""
    with service.database.engine.connect() as connection:
        return {
            table.name: without_passing(connection.execute(select(table)).mappings(), uuid)
            for table in Base.metadata.sorted_tables
            # An answered call is deleted a moment later, by another thread; rows that a test writes make no events.
            if table not in (DriverCall.__table__, EventNote.__table__)
        }


def without_passing(found: Iterable[Mapping[str, Any]], uuid: str) -> str:
    kept = [{name: value for name, value in row.items() if name not in PASSING} for row in found]
    # Rows that one statement writes are in any order.
    texts = sorted(json.dumps(row, default=str).replace(uuid, "UUID") for row in kept)
    return f"[{', '.join(texts)}]"


def shown(service: Service, uuid: str) -> list[str]:
    """The node and its provider as clients see them, without what passes."""
    traits = [{"trait": name} for name in sorted(service.provider_traits(uuid))]
    return [without_passing(found, uuid) for found in ([service.node(uuid)], [service.inventory(uuid)], traits)]


def test_a_node_as_rows_is_like_one_by_requests(service: Service, subtests: pytest.Subtests) -> None:
    for values, traits, power in NODES:
        with subtests.test(values=values, traits=traits), restored(service):
            service.add_conductor("r1", "rack1")
            first = enrolment.by_requests(service, {"name": "n1", **values}, traits, power=power)
            expected = rows(service, first), shown(service, first)
            service.baremetal("DELETE", f"/nodes/{first}")
            second = service.add_node("n1", traits=traits, power=power, **values)
            found = rows(service, second), shown(service, second)
            assert [name for name in found[0] if found[0][name] != expected[0][name]] == []
            assert found == expected
            internal = service.database.read(
                lambda session, uuid=second: nodes.find(session, uuid).driver_internal_info
            )
            assert (internal is not None) == power
