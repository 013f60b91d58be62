"""A provider that somebody changed directly becomes again what its node says, and that is reported."""

from typing import Any

import pytest
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session
from structlog.testing import CapturingLogger

from baremetal_sched.baremetal.audit import audit
from baremetal_sched.conductor import providers
from baremetal_sched.conductor.chores import CHORES
from baremetal_sched.db.models import (
    Conductor,
    Inventory,
    NodeHistory,
    ProviderTrait,
    ResourceProvider,
)
from tests.service import Service

CHORE = next(chore for chore in CHORES if chore.name == "providers")


def spoil(kind: str, session: Session, uuid: str) -> None:
    """Change the provider behind the node's back."""
    provider_id = session.scalars(select(ResourceProvider.id).where(ResourceProvider.uuid == uuid)).one()
    inventory: Any = Inventory.provider_id == provider_id
    match kind:
        case "offered":
            session.execute(update(Inventory).where(inventory).values(reserved=0, capacity=1))
        case "doubled":
            session.execute(update(Inventory).where(inventory).values(max_unit=2))
        case "inventory lost":
            session.execute(delete(Inventory).where(inventory))
        case "trait lost":
            session.execute(delete(ProviderTrait).where(ProviderTrait.provider_id == provider_id))


def add_class(service: Service, uuid: str) -> None:
    """Give the provider an inventory of its own, as a client can."""
    service.placement("POST", f"/resource_providers/{uuid}/inventories", {"resource_class": "VCPU", "total": 5})


@pytest.mark.parametrize("kind", ["offered", "doubled", "inventory lost", "trait lost", "trait added", "class added"])
def test_what_was_changed_is_undone_and_reported(service: Service, kind: str) -> None:
    uuid = service.add_node("n1", traits=("CUSTOM_A",), power=kind != "offered")
    other = service.add_node("n2", traits=("CUSTOM_B",))
    before = (service.inventory(uuid), service.provider_traits(uuid), service.inventory(other))
    service.database.write(lambda session: spoil(kind, session, uuid))
    generation = service.placement("GET", f"/resource_providers/{uuid}").json["generation"]
    if kind == "trait added":
        body = {"resource_provider_generation": generation, "traits": ["CUSTOM_A", "CUSTOM_B"]}
        service.placement("PUT", f"/resource_providers/{uuid}/traits", body)
    if kind == "class added":
        add_class(service, uuid)
    service.conductors["c1"].do_chore(CHORE)
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
    monkeypatch.setattr(providers, "log", logged)
    uuid = service.add_node("n1", traits=("CUSTOM_A",))
    service.database.write(lambda session: spoil("trait lost", session, uuid))
    for _ in range(2):  # the second time there is nothing to undo
        service.conductors["c1"].do_chore(CHORE)
    ((severity, (event,), details),) = logged.calls
    assert (severity, event) == ("warning", "undid changes of a provider")
    assert (details["conductor"], details["node"]) == ("c1", uuid)
    (change,) = details["changes"]
    assert "CUSTOM_A" in change
    assert 'baremetal_sched_undone_provider_changes_total{conductor="c1"} 1.0' in service.http.get("/metrics").text
    (entry,) = service.baremetal("GET", f"/nodes/{uuid}/history").json["history"]
    entry = service.baremetal("GET", f"/nodes/{uuid}/history/{entry['uuid']}").json
    assert (entry["event_type"], entry["severity"], entry["conductor"]) == ("reconciliation", "ERROR", "c1")
    assert entry["event"].endswith(f"that is undone: {change}")


def test_a_sound_fleet_costs_a_few_statements(service: Service) -> None:
    for number in range(5):
        service.add_node(f"n{number}", traits=("CUSTOM_A",), resource_class=f"class{number % 2}")
    service.add_node("none", resource_class=None)
    with service.statements() as statements:
        service.conductors["c1"].do_chore(CHORE)
    assert len(statements) == 4
    assert all(statement.startswith("SELECT") for statement in statements)


def test_what_somebody_holds_stays_and_the_others_are_still_looked_at(service: Service) -> None:
    held, other = service.add_node("n1"), service.add_node("n2", traits=("CUSTOM_A",))
    add_class(service, held)
    service.claim("11111111-1111-1111-1111-111111111111", held, "VCPU")
    service.database.write(lambda session: spoil("trait lost", session, other))
    service.conductors["c1"].do_chore(CHORE)
    assert "VCPU" in service.inventory(held)
    assert service.provider_traits(other) == ["CUSTOM_A"]
