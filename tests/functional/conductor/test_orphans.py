"""Nodes that a conductor leaves behind: freed, and what it was doing has failed; it writes nothing any more."""

import dataclasses
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import history
from baremetal_sched.baremetal.conductors import work_queue
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.conductor import claiming, handlers, job, orphaned_reservations
from baremetal_sched.conductor.daemon import ConductorDaemon
from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Conductor as ConductorRow
from baremetal_sched.db.models import Node, NodeHistory, NodeWork
from baremetal_sched.db.transaction import Database
from baremetal_sched.drivers import registry
from baremetal_sched.errors import CommitUnknown
from baremetal_sched.machines.machine import NOTHING
from tests.clocks import Clock
from tests.restored import Rows
from tests.service import Service

T = TypeVar("T")

ORPHANS = next(task for task in PERIODIC_TASKS if task.name == "orphans")


def reserve(service: Service, uuid: str, host: str, **columns: object) -> None:
    """Let ``host`` work on the node, with a row of work."""
    service.set_columns(uuid, **columns)

    def request(session: Session) -> None:
        work_queue.request(
            session, nodes.find_for_change(session, uuid), host, "power", {"target": "power on", "timeout": None}
        )

    service.database.write(request)


def begin(service: Service, uuid: str, host: str, **columns: object) -> None:
    """Let a process of ``host`` be at work on the node."""
    reserve(service, uuid, host, **columns)
    claiming.take(service.database, service.app.settings, host, f"process of {host}")


def die(service: Service, host: str) -> None:
    """Make the last heartbeat of ``host`` old."""
    statement = update(ConductorRow).where(ConductorRow.hostname == host).values(heartbeat_at=epoch() - 3600)
    service.database.write(lambda session: session.execute(statement))


def survivor(service: Service) -> ConductorDaemon:
    """c1, after c2 has died."""
    service.add_conductor("c2")
    die(service, "c2")
    return service.conductors["c1"]


def events(service: Service) -> list[tuple[str, str, str]]:
    query = select(NodeHistory.severity, NodeHistory.event_type, NodeHistory.event).order_by(NodeHistory.id)
    return [tuple(row) for row in service.database.read(lambda session: session.execute(query).all())]


def test_a_power_action_of_a_dead_conductor_is_aborted(service: Service, row: Rows) -> None:
    for maintenance in [False, True]:
        with row(maintenance):
            uuid = service.add_node("n1")
            c1 = survivor(service)
            begin(service, uuid, "c2", target_power_state="power off", maintenance=maintenance)
            c1.run_periodic_task(ORPHANS)
            node = service.node(uuid)
            error = "Pending power operation was aborted due to conductor take over"
            assert (node["reservation"], node["target_power_state"], node["last_error"]) == (None, None, error)
            assert events(service) == [("ERROR", "takeover", error)]
            assert service.database.read(lambda session: session.scalars(select(NodeWork.id)).all()) == []


def test_provisioning_of_a_dead_conductor_fails(service: Service, row: Rows) -> None:
    for state, target, after, target_after in [
        ("deploying", "active", "deploy failed", "active"),
        ("cleaning", "available", "clean failed", "available"),
        ("verifying", "manageable", "enroll", None),
        ("inspecting", "manageable", "inspect failed", "manageable"),
    ]:
        with row(state, target, after, target_after):
            uuid = service.add_node("n1")
            c1 = survivor(service)
            begin(service, uuid, "c2", provision_state=state, target_provision_state=target)
            c1.run_periodic_task(ORPHANS)
            node = service.node(uuid)
            assert (node["provision_state"], node["target_provision_state"]) == (after, target_after)
            assert (node["reservation"], node["last_error"]) == (
                None,
                "Operation was aborted due to conductor take over",
            )


def test_who_lives_or_stops_in_peace_is_left_alone(service: Service) -> None:
    uuid = service.add_node("n1")
    c2 = service.add_conductor("c2")
    begin(service, uuid, "c2", target_power_state="power off")
    service.conductors["c1"].run_periodic_task(ORPHANS)
    c2.sign_off()
    c2.beat()  # it is still finishing
    service.conductors["c1"].run_periodic_task(ORPHANS)
    node = service.node(uuid)
    assert (node["reservation"], node["target_power_state"]) == ("c2", "power off")


def test_what_is_reserved_for_no_conductor_is_left_alone(service: Service) -> None:
    uuid = service.add_node("n1")
    service.set_columns(uuid, reservation="other-host")
    survivor(service).run_periodic_task(ORPHANS)
    assert service.node(uuid)["reservation"] == "other-host"


def test_nodes_of_other_groups_are_left_alone(service: Service) -> None:
    service.add_conductor("r1", "rack1")
    uuid = service.add_node("n1", conductor_group="rack1")
    begin(service, uuid, "r1")
    die(service, "r1")
    service.conductors["c1"].run_periodic_task(ORPHANS)
    assert service.node(uuid)["reservation"] == "r1"


def test_a_conductor_that_wakes_up_too_late_writes_nothing(service: Service) -> None:
    uuid = service.add_node("n1", power=False)
    c1 = survivor(service)
    reserve(service, uuid, "c2", target_power_state="power on")
    settings = service.app.settings
    (item,) = claiming.take(service.database, settings, "c2", "process 2")
    c1.run_periodic_task(ORPHANS)
    service.conductors["c2"].beat()
    before = service.node(uuid)
    handlers.do(item)
    assert service.node(uuid) == before
    assert service.database.write(lambda session: work_queue.hold(session, item.work)) is None


class Suspending(Database):
    """A database of a process that is suspended after it has written that a step begins; ``meanwhile`` happens then."""

    meanwhile: Callable[[], None]

    def write(self, work: Callable[[Session], T]) -> T:
        result = super().write(work)
        begins = select(NodeHistory.id).where(NodeHistory.event_type == "clean_step_start")
        if self.read(lambda session: session.scalars(begins).all()):
            meanwhile, self.meanwhile = self.meanwhile, lambda: None
            meanwhile()
        return result


@pytest.mark.parametrize("lost", [True, False])
def test_who_was_suspended_before_a_step_looks_again_whether_the_work_is_his(
    database_url: str, lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    clock = Clock()
    monkeypatch.setattr(job, "time", clock)
    with Service(database_url, conductor={"heartbeat_timeout": 60}) as service:
        service.add_conductor("c1")
        uuid = service.add_node("n1")
        c1 = survivor(service)
        vendor = registry.interface("vendor", "fake")
        monkeypatch.setattr(vendor, "log_passthrough", lambda machine: begun.append("vendor") or NOTHING)
        service.set_columns(uuid, provision_state="cleaning", target_provision_state="available")
        service.database.write(
            lambda session: work_queue.request(session, nodes.find_for_change(session, uuid), "c2", "cleaning", {})
        )
        settings = service.app.settings
        (item,) = claiming.take(service.database, settings, "c2", "process 2")
        database = Suspending(settings)

        def meanwhile() -> None:
            clock.go_on(31)  # more than half of the timeout: whoever was away so long asks before he goes on
            if lost:
                c1.beat()
                orphaned_reservations.release(c1._host)  # the task waits for heartbeats of its own

        database.meanwhile = meanwhile
        handlers.do(dataclasses.replace(item, database=database))
        database.dispose()
        assert begun == ([] if lost else ["vendor"])
        assert service.node(uuid)["provision_state"] == ("clean failed" if lost else "available")


def test_what_one_process_claimed_another_of_the_same_name_does_not_find(service: Service) -> None:
    uuid = service.add_node("n1")
    reserve(service, uuid, "c1")
    settings = service.app.settings
    assert len(claiming.take(service.database, settings, "c1", "process 1")) == 1
    assert len(claiming.take(service.database, settings, "c1", "process 1")) == 1
    assert claiming.take(service.database, settings, "c1", "process 2") == []


def test_a_restart_frees_what_was_left_under_its_name(service: Service) -> None:
    power, clean = service.add_node("n1"), service.add_node("n2")
    begin(service, power, "c1", target_power_state="power off")
    begin(service, clean, "c1", provision_state="cleaning", target_provision_state="available")
    stuck = service.add_node("n3", power=False)
    service.set_columns(stuck, provision_state="deploying", target_provision_state="active")
    die(service, "c1")
    service.conductors["c1"].start()
    assert service.node(power)["last_error"] == "Pending power operation was aborted due to conductor restart"
    for uuid, state, after in ((clean, "cleaning", "clean failed"), (stuck, "deploying", "deploy failed")):
        node = service.node(uuid)
        assert (node["provision_state"], node["reservation"]) == (after, None)
        assert node["last_error"] == f"The {state} state can't be resumed by conductor c1. Moving to fail state."


def test_what_a_dead_conductor_has_not_begun_is_done_by_the_next_owner(service: Service) -> None:
    """It was requested after its last heartbeat. Should it come back, it finds nothing to do."""
    power, deploy = service.add_node("n1", power=False), service.add_node("n2")
    c1 = survivor(service)
    dead = service.conductors.pop("c2")
    reserve(service, power, "c2", target_power_state="power on")
    service.set_columns(deploy, provision_state="deploying", target_provision_state="active")
    service.database.write(
        lambda session: work_queue.request(session, nodes.find_for_change(session, deploy), "c2", "deploying", {})
    )
    c1.run_periodic_task(ORPHANS)
    assert [service.node(uuid)["reservation"] for uuid in (power, deploy)] == ["c1", "c1"]
    assert dead.work_once() == []
    service.work()
    assert (service.node(power)["power_state"], service.node(power)["last_error"]) == ("power on", None)
    assert (service.node(deploy)["provision_state"], service.node(deploy)["last_error"]) == ("active", None)


def test_what_nobody_has_begun_survives_a_restart(service: Service) -> None:
    uuid = service.add_node("n1", power=False)
    reserve(service, uuid, "c1", target_power_state="power on")
    die(service, "c1")
    service.conductors["c1"].start()
    service.work()
    node = service.node(uuid)
    assert (node["power_state"], node["reservation"], node["last_error"]) == ("power on", None, None)


def test_a_stop_hands_over_what_was_not_begun(service: Service) -> None:
    uuid = service.add_node("n1")
    c2 = service.add_conductor("c2")
    reserve(service, uuid, "c2", target_power_state="power on")
    c2.sign_off()
    c2.finish()
    assert service.node(uuid)["reservation"] == "c1"
    del service.conductors["c2"]
    service.work()
    assert service.node(uuid)["reservation"] is None
    assert service.node(uuid)["power_state"] == "power on"


def test_a_stop_without_a_successor_finishes_the_work(service: Service) -> None:
    uuid = service.add_node("n1", power=False)
    reserve(service, uuid, "c1", target_power_state="power on")
    service.conductors["c1"].sign_off()
    service.conductors["c1"].finish()
    node = service.node(uuid)
    assert (node["reservation"], node["power_state"]) == (None, "power on")


def test_work_of_an_unknown_kind_frees_the_node_and_says_so(service: Service) -> None:
    uuid = service.add_node("n1")

    def request(session: Session) -> None:
        node = nodes.find_for_change(session, uuid)
        node.target_power_state = "power on"
        work_queue.request(session, node, "c1", "from the future", {})

    service.database.write(request)
    service.work()
    node = service.node(uuid)
    assert (node["reservation"], node["target_power_state"]) == (None, None)
    assert "from the future" in node["last_error"]


def test_history_is_trimmed_to_the_newest(service: Service) -> None:
    uuid = service.add_node("n1", power=False)

    def happen(session: Session) -> None:
        for number in range(310):
            history.record(session, nodes.find(session, uuid), f"event {number}", event_type="test")

    service.database.write(happen)
    service.conductors["c1"].run_periodic_task(next(task for task in PERIODIC_TASKS if task.name == "history"))
    assert [event for _, _, event in events(service)] == [f"event {number}" for number in range(10, 310)]


def test_conductors_long_gone_are_forgotten(service: Service) -> None:
    uuid = service.add_node("n1")
    for host, age in (("c2", 15), ("c3", 13), ("c4", 15)):
        service.add_conductor(host)
        statement = update(ConductorRow).where(ConductorRow.hostname == host)
        service.database.write(
            lambda session, s=statement, age=age: session.execute(s.values(heartbeat_at=epoch() - age * 86400))
        )
    service.set_columns(uuid, reservation="c4")
    c1 = service.conductors["c1"]
    c1.run_periodic_task(next(task for task in PERIODIC_TASKS if task.name == "conductors"))
    listed = service.baremetal("GET", "/conductors").json["conductors"]
    assert [(row["hostname"], row["alive"]) for row in listed] == [("c1", True), ("c3", False), ("c4", False)]
    # Who still holds a node is kept, so that the node can be freed.
    c1.run_periodic_task(ORPHANS)
    assert service.node(uuid)["reservation"] is None


def test_a_node_that_waits_too_long_has_failed(service: Service) -> None:
    waiting = next(task for task in PERIODIC_TASKS if task.name == "waiting")
    late, early = service.add_node("n1"), service.add_node("n2")
    for uuid, year in ((late, 2000), (early, 2999)):
        service.set_columns(
            uuid,
            provision_state="wait call-back",
            target_provision_state="active",
            provision_updated_at=datetime(year, 1, 1),
        )
    service.conductors["c1"].run_periodic_task(waiting)
    assert service.node(late)["provision_state"] == "deploy failed"
    assert "Timeout reached while deploying the node" in service.node(late)["last_error"]
    assert service.node(early)["provision_state"] == "wait call-back"


def test_active_nodes_are_taken_over(service: Service) -> None:
    uuid = service.add_node("n1")
    service.set_columns(uuid, provision_state="active", conductor_affinity="c9")
    service.conductors["c1"].run_periodic_task(next(task for task in PERIODIC_TASKS if task.name == "local state"))
    assert affinity_of(service, uuid) == "c1"


def test_active_nodes_of_others_are_read_after_a_change(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a node, or of the conductors. The rest of the time a conductor reads a digest of them. A round while the clock
    of the database is not steady does not count."""
    c1, c2 = service.conductors["c1"], service.add_conductor("c2")
    local = next(task for task in PERIODIC_TASKS if task.name == "local state")
    uuids = [service.add_node(f"n{number}") for number in range(8)]
    for uuid in uuids:
        service.set_columns(uuid, provision_state="active", conductor_affinity="c2")
    with monkeypatch.context() as patch:
        patch.setattr(c1._host.clock, "is_steady", lambda: False)
        c1.run_periodic_task(local)
    assert {affinity_of(service, uuid) for uuid in uuids} == {"c2"}
    c1.run_periodic_task(local)
    own = {uuid for uuid in uuids if affinity_of(service, uuid) == "c1"}
    assert 0 < len(own) < len(uuids)
    for again in (False, True):
        with service.statements() as seen:
            c1.run_periodic_task(local)
        assert any("nodes.uuid" in statement for statement in seen) is not again
    (first, *_) = own
    service.set_columns(first, conductor_affinity="c2")
    c1.run_periodic_task(local)
    assert affinity_of(service, first) == "c1"
    c2.sign_off()
    c1.run_periodic_task(local)
    assert {affinity_of(service, uuid) for uuid in uuids} == {"c1"}


def affinity_of(service: Service, uuid: str) -> str | None:
    return service.database.read(lambda session: nodes.find(session, uuid).conductor_affinity)


class Forgetful(Database):
    """A database that loses the answer to the first commit."""

    answers_lost = 0

    def write(self, work: Callable[[Session], T]) -> T:
        result = super().write(work)
        if not self.answers_lost:
            self.answers_lost += 1
            raise CommitUnknown
        return result


@pytest.mark.parametrize("take", [work_queue.hold, work_queue.finish])
def test_a_write_whose_answer_was_lost_is_not_made_twice(service: Service, take: Callable[..., Node | None]) -> None:
    uuid = service.add_node("n1")
    reserve(service, uuid, "c1")
    settings = service.app.settings
    (item,) = claiming.take(service.database, settings, "c1", "process 1")

    def happen(session: Session) -> str:
        node = take(session, item.work)
        assert node is not None
        history.record(session, node, "once", event_type="test")
        return "done"

    database = Forgetful(settings)
    assert dataclasses.replace(item, database=database).write(happen) == "done"
    database.dispose()
    assert [event for _, _, event in events(service)] == ["once"]
