# tier: first
"""Who does a piece of work, when several may: one process of one conductor."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import select, true
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import conductors, work_queue
from baremetal_sched.baremetal.conductors.work_queue import HeldWork
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.provisioning import completion
from baremetal_sched.conductor import claiming, orphaned_reservations, periodic_tasks
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.conductor.job import Job
from baremetal_sched.db.models import Node, NodeWork
from tests.functional.conductor.test_orphans import begin, die, reserve
from tests.service import Service


def take(service: Service, process: str, host: str = "c1", **options: Any) -> list[Job]:
    return claiming.take(service.database, service.app.settings, host, process, **options)


def work_id(service: Service) -> int:
    return service.database.read(lambda session: session.scalars(select(NodeWork.id)).one())


def node_id(service: Service, uuid: str) -> int:
    return service.database.read(lambda session: nodes.find(session, uuid).id)


def meanwhile(service: Service, monkeypatch: pytest.MonkeyPatch, action: Callable[[], Any]) -> None:
    """Run ``action`` once, after the next look for work."""
    select_ = service.database.select

    def look_and_then(query: Any, **options: Any) -> Any:
        found = select_(query, **options)
        monkeypatch.setattr(service.database, "select", select_)
        action()
        return found

    monkeypatch.setattr(service.database, "select", look_and_then)


def chosen(monkeypatch: pytest.MonkeyPatch, *node_ids: int) -> None:
    """Let periodic tasks find these nodes, which are no longer as they were a moment ago."""
    monkeypatch.setattr(ConductorHost, "own", lambda host, condition: list(node_ids))


def test_work_that_two_processes_of_one_name_find_is_done_by_one(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have read that the work is not begun, before either begins it."""
    reserve(service, uuid, "c1")
    taken: list[Job] = []
    meanwhile(service, monkeypatch, lambda: taken.extend(take(service, "process 2")))
    assert take(service, "process 1") == []
    assert len(taken) == 1
    claimed_by = service.database.read(lambda session: session.scalars(select(NodeWork.claimed_by)).all())
    assert claimed_by == ["process 2"]


def test_work_that_was_handed_over_meanwhile_is_not_begun(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve(service, uuid, "c1")

    def hand_over() -> None:
        assert service.database.write(lambda session: work_queue.hand_over(session, work_id(service), "c2"))

    meanwhile(service, monkeypatch, hand_over)
    assert take(service, "process 1") == []
    assert len(take(service, "process 2", "c2")) == 1


def test_what_others_do_does_not_keep_a_process_from_finding_work(service: Service, uuid: str) -> None:
    reserve(service, uuid, "c1")
    take(service, "process 2")
    other = service.add_node("n2", power=False)
    reserve(service, other, "c1")
    assert [item.node_uuid for item in take(service, "process 1", most=1)] == [other]


def test_work_that_was_begun_meanwhile_is_not_handed_over(service: Service, uuid: str) -> None:
    begin(service, uuid, "c1")
    assert service.database.write(lambda session: work_queue.hand_over(session, work_id(service), "c2")) is False
    assert service.node(uuid)["reservation"] == "c1"
    assert len(take(service, "process of c1")) == 1


@pytest.mark.parametrize("write", [work_queue.hold, work_queue.finish])
def test_who_has_handed_work_over_writes_nothing_more(service: Service, uuid: str, write: Any) -> None:
    reserve(service, uuid, "c1")
    number = work_id(service)
    service.database.write(lambda session: work_queue.hand_over(session, number, "c2"))
    work = HeldWork(number, node_id(service, uuid), "c1")
    assert service.database.write(lambda session: write(session, work)) is None
    assert service.database.write(lambda session: work_queue.reserve_related(session, work, 1)) is None
    assert service.node(uuid)["reservation"] == "c2"


def test_who_lives_again_keeps_its_nodes(service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its heartbeat comes after others have seen that there was none for long."""
    service.add_conductor("c2")
    begin(service, uuid, "c2", target_power_state="power off")
    die(service, "c2")
    number = node_id(service, uuid)
    host = service.conductors["c1"]._host
    assert host.own(Node.reservation == "c2") == [number]
    service.conductors["c2"].beat()
    chosen(monkeypatch, number)
    orphaned_reservations.release(host)
    node = service.node(uuid)
    assert (node["reservation"], node["target_power_state"], node["last_error"]) == ("c2", "power off", None)


def late(service: Service, uuid: str, **columns: Any) -> None:
    """Make the node wait for its agent since long ago."""
    since = {"provision_updated_at": datetime(2000, 1, 1), **columns}
    service.set_columns(uuid, provision_state="wait call-back", target_provision_state="active", **since)


def test_a_node_that_is_worked_on_is_not_failed(service: Service, uuid: str) -> None:
    late(service, uuid, reservation="c1")
    number = node_id(service, uuid)

    def fail(session: Session) -> bool:
        return completion.fail_abandoned(session, number, true(), conductor="c1", reason="late")

    assert service.database.write(fail) is False
    assert service.node(uuid)["provision_state"] == "wait call-back"


def test_a_node_that_was_heard_of_meanwhile_is_not_failed(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    late(service, uuid, provision_updated_at=datetime(2999, 1, 1))
    chosen(monkeypatch, node_id(service, uuid))
    periodic_tasks.fail_late(service.conductors["c1"]._host)
    assert service.node(uuid)["provision_state"] == "wait call-back"


def test_a_process_that_stops_leaves_the_work_of_another_of_its_name_alone(service: Service, uuid: str) -> None:
    begin(service, uuid, "c1", target_power_state="power off")
    c1 = service.conductors["c1"]
    c1.sign_off()
    c1.finish()
    node = service.node(uuid)
    assert (node["reservation"], node["target_power_state"], node["last_error"]) == ("c1", "power off", None)
    orphaned_reservations.release_after_stop(c1._host, "process of c1")
    assert service.node(uuid)["reservation"] is None


def test_a_node_that_is_worked_on_meanwhile_is_not_taken_over(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.set_columns(uuid, provision_state="active", conductor_affinity="c9", reservation="c9")
    number = node_id(service, uuid)
    chosen(monkeypatch, number)
    periodic_tasks.take_over(service.conductors["c1"]._host)
    affinity = service.database.read(lambda session: session.get_one(Node, number).conductor_affinity)
    assert affinity == "c9"


def test_a_conductor_whose_entry_is_gone_registers_again(service: Service) -> None:
    c1 = service.conductors["c1"]
    service.add_conductor("c2")
    die(service, "c1")
    forgotten = service.database.write(lambda session: conductors.forget_gone(session, 60))
    assert forgotten == ["c1"]
    c1.beat()
    listed = service.baremetal("GET", "/conductors").json["conductors"]
    assert {(row["hostname"], row["alive"]) for row in listed} == {("c1", True), ("c2", True)}
