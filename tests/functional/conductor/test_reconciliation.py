# tier: first
"""A provider that was changed directly is restored from its node, and that is reported."""

from typing import Any

import pytest
from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session
from structlog.testing import CapturingLogger

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.conductor import periodic_tasks
from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import (
    Conductor,
    Inventory,
    NodeHistory,
    ProviderTrait,
    ResourceClass,
    ResourceProvider,
    Trait,
)
from tests.service import Service

TASK = next(task for task in PERIODIC_TASKS if task.name == "providers")


def spoil(kind: str, session: Session, uuid: str) -> None:
    """Change the provider behind the node's back."""
    provider_id = session.scalars(select(ResourceProvider.id).where(ResourceProvider.uuid == uuid)).one()
    inventory: Any = Inventory.provider_id == provider_id
    own: Any = ResourceProvider.id == provider_id
    match kind:
        case "offered":
            session.execute(update(Inventory).where(inventory).values(reserved=0, capacity=1))
        case "doubled":
            session.execute(update(Inventory).where(inventory).values(max_unit=2))
        case "inventory lost":
            session.execute(delete(Inventory).where(inventory))
        case "trait lost":
            session.execute(delete(ProviderTrait).where(ProviderTrait.provider_id == provider_id))
        case "trait added":
            added = session.scalars(select(Trait.id).where(Trait.name == "CUSTOM_B")).one()
            session.execute(insert(ProviderTrait).values(provider_id=provider_id, trait_id=added))
        case "class added":
            add_class(session, provider_id)
        case "no longer marked":
            session.execute(update(ResourceProvider).where(own).values(mirrored_class_id=None))


def add_class(session: Session, provider_id: int, used: int = 0) -> None:
    """Give the provider an inventory that is not its node's."""
    class_id = session.scalars(select(ResourceClass.id).where(ResourceClass.name == "VCPU")).one()
    limits = {"total": 8, "reserved": 0, "min_unit": 1, "max_unit": 8, "step_size": 1, "allocation_ratio": 1.0}
    row = {"provider_id": provider_id, "resource_class_id": class_id, "capacity": 8, "used": used, **limits}
    session.execute(insert(Inventory).values(created_at=utcnow(), **row))


@pytest.mark.parametrize("kind", ["offered", "doubled", "inventory lost", "trait lost", "trait added", "class added"])
def test_what_was_changed_is_undone_and_reported(service: Service, kind: str) -> None:
    uuid = service.add_node("n1", traits=("CUSTOM_A",), power=kind != "offered")
    other = service.add_node("n2", traits=("CUSTOM_B",))
    before = (service.inventory(uuid), service.provider_traits(uuid), service.inventory(other))
    service.database.write(lambda session: spoil(kind, session, uuid))
    service.conductors["c1"].run_periodic_task(TASK)
    assert (service.inventory(uuid), service.provider_traits(uuid), service.inventory(other)) == before
    assert service.database.read(audit) == []

    def reported(session: Session) -> list[Any]:
        return list(session.execute(select(NodeHistory.event_type, NodeHistory.severity, NodeHistory.conductor)))

    assert service.database.read(reported) == [("reconciliation", "ERROR", "c1")]
    undone = service.database.read(lambda session: session.scalars(select(Conductor.undone_changes)).one())
    assert undone == 1


def test_what_was_undone_is_in_the_log_the_metrics_and_the_history(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged = CapturingLogger()
    monkeypatch.setattr(periodic_tasks, "log", logged)
    uuid = service.add_node("n1", traits=("CUSTOM_A",))
    service.database.write(lambda session: spoil("trait lost", session, uuid))
    for _ in range(2):  # the second time there is nothing to undo
        service.conductors["c1"].run_periodic_task(TASK)
    ((severity, (event,), details),) = logged.calls
    assert (severity, event) == ("warning", "undid changes of a provider")
    assert (details["conductor"], details["node"]) == ("c1", uuid)
    (change,) = details["changes"]
    assert "CUSTOM_A" in change
    assert 'baremetal_sched_undone_provider_changes_total{conductor="c1"} 1.0' in service.http.get("/metrics").text
    (entry,) = service.baremetal("GET", f"/nodes/{uuid}/history").json["history"]
    entry = service.baremetal("GET", f"/nodes/{uuid}/history/{entry['uuid']}").json
    assert (entry["event_type"], entry["severity"], entry["conductor"]) == ("reconciliation", "ERROR", "c1")
    assert entry["event"].endswith(f"This was undone: {change}")


def test_a_provider_that_is_not_marked_as_that_of_a_node_is_marked_again(service: Service) -> None:
    uuid = service.add_node("n1")
    service.database.write(lambda session: spoil("no longer marked", session, uuid))
    assert service.database.read(audit) == [f"node {uuid}: has no resource provider"]
    service.conductors["c1"].run_periodic_task(TASK)
    assert service.database.read(audit) == []


def test_a_sound_fleet_costs_a_few_statements(service: Service) -> None:
    for number in range(5):
        service.add_node(f"n{number}", traits=("CUSTOM_A",), resource_class=f"class{number % 2}")
    service.add_node("none", resource_class=None)
    with service.statements() as statements:
        service.conductors["c1"].run_periodic_task(TASK)
    # Servers are told first that a snapshot is wanted.
    asked = [statement for statement in statements if not statement.startswith(("SET", "START TRANSACTION"))]
    assert len(asked) == 4
    assert all(statement.startswith("SELECT") for statement in asked)


def test_what_is_held_stays_without_more_of_it_and_the_others_are_still_looked_at(service: Service) -> None:
    held, other = service.add_node("n1"), service.add_node("n2", traits=("CUSTOM_A",))

    def hold(session: Session) -> None:
        provider_id = session.scalars(select(ResourceProvider.id).where(ResourceProvider.uuid == held)).one()
        add_class(session, provider_id, used=1)

    service.database.write(hold)
    service.database.write(lambda session: spoil("trait lost", session, other))
    for _ in range(2):
        service.conductors["c1"].run_periodic_task(TASK)
    assert "VCPU" in service.inventory(held)
    assert held not in service.candidates("resources=VCPU:1")
    assert service.provider_traits(other) == ["CUSTOM_A"]
    undone = service.database.read(lambda session: session.scalars(select(Conductor.undone_changes)).one())
    assert undone == 2  # one each, and nothing the second time
    service.patch(held, ("replace", "/maintenance", True), status=200)


def test_traits_of_the_scheduler_above_stay(service: Service) -> None:
    uuid = service.add_node("n1", traits=("CUSTOM_A",))
    path = f"/resource_providers/{uuid}"
    nova = ["COMPUTE_NODE", "COMPUTE_STATUS_DISABLED", "OWNER_NOVA"]
    generation = service.placement("GET", path).json["generation"]
    body = {"resource_provider_generation": generation, "traits": ["CUSTOM_A", *nova]}
    service.placement("PUT", f"{path}/traits", body, status=200)
    service.conductors["c1"].run_periodic_task(TASK)
    assert service.provider_traits(uuid) == sorted(["CUSTOM_A", *nova])
    service.baremetal("PUT", f"/nodes/{uuid}/traits", {"traits": ["CUSTOM_B"]})
    service.patch(uuid, ("replace", "/maintenance", True))
    assert service.provider_traits(uuid) == sorted(["CUSTOM_B", *nova])
    assert service.database.read(audit) == []
