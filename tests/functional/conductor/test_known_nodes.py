"""A job reads its node once, and again only if another transaction has changed it."""

from typing import Any

import pytest
from sqlalchemy.orm import Session

from baremetal_sched.conductor import claiming, handlers, job, orphaned_reservations
from baremetal_sched.conductor.job import Job
from baremetal_sched.db.models import Node
from baremetal_sched.drivers import registry
from baremetal_sched.machines.machine import Machine
from tests.clocks import Clock
from tests.functional.conductor.test_orphans import reserve, survivor
from tests.service import Service


def claimed(service: Service, host: str = "c1") -> Job:
    (item,) = claiming.take(service.database, service.app.settings, host, "this process")
    return item


def nothing(session: Session, node: Node) -> bool:
    return True


def change_extra(session: Session, node: Node) -> bool:
    node.extra = {"mine": 1}
    return True


def read_whole(statements: list[str]) -> int:
    return sum("nodes.driver_internal_info" in each.partition("FROM")[0] for each in statements)


def test_a_node_is_read_again_only_if_another_has_changed_it(service: Service) -> None:
    uuid = service.add_node("n1")
    reserve(service, uuid, "c1")
    item = claimed(service)
    with service.statements() as seen:
        assert item.hold(nothing)
        assert item.hold(change_extra)
    assert read_whole(seen) == 0
    service.set_columns(uuid, description="changed by another")
    service.baremetal("PUT", f"/nodes/{uuid}/traits/CUSTOM_NEW", status=409)  # it is reserved
    with service.statements() as seen:
        found = item.finish(lambda session, node: (node.description, node.extra))
    assert (found, read_whole(seen)) == (("changed by another", {"mine": 1}), 1)
    assert service.node(uuid)["reservation"] is None


def test_what_a_failed_transaction_has_changed_is_forgotten(service: Service) -> None:
    uuid = service.add_node("n1")
    reserve(service, uuid, "c1")
    item = claimed(service)

    def fail(session: Session, node: Node) -> bool:
        node.description = "never written"
        session.flush()
        raise ValueError

    with pytest.raises(ValueError):
        item.hold(fail)
    assert item.hold(lambda session, node: str(node.description)) == "None"
    assert service.node(uuid)["description"] is None


@pytest.mark.parametrize("is_late", [False, True])
def test_work_that_was_claimed_long_ago_is_not_begun_without_a_look(
    service: Service, monkeypatch: pytest.MonkeyPatch, is_late: bool
) -> None:
    """More than half of the timeout of heartbeats: another conductor may have it."""
    clock, switched = Clock(), list[str]()
    monkeypatch.setattr(job, "time", clock)
    power = registry.interface("power", "fake")

    def switch(machine: Machine, target: str, timeout: Any) -> str:
        switched.append(target)
        return target

    monkeypatch.setattr(power, "set_power_state", switch)
    uuid = service.add_node("n1", power=False)
    c1 = survivor(service)
    reserve(service, uuid, "c2", target_power_state="power on")
    item = claimed(service, "c2")
    if is_late:
        clock.go_on(service.app.settings.conductor.heartbeat_timeout)
        c1.beat()
        orphaned_reservations.release(c1._host)
    handlers.do(item)
    assert switched == ([] if is_late else ["power on"])
