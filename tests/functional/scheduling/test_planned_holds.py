"""Holds that begin and end at planned times, or when their node rests; and lockouts."""

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select

from baremetal_sched.baremetal.holds import due, holds
from baremetal_sched.conductor import periodic_tasks, power_sync
from baremetal_sched.db.models import Node, NodeHistory
from tests.passing_time import HOUR, go_by
from tests.service import Service, fault

HOLDS = "/scheduling/v1/nodes/n1/holds"


@pytest.fixture
def served(service: Service) -> Service:
    service.add_conductor("c1")
    service.add_node("n1")
    return service


def hold(service: Service, kind: str = "window", *, status: int = 201, **more: Any) -> dict[str, Any]:
    document: dict[str, Any] = service.http.post_json(HOLDS, {"type": kind, **more}, status=status).json
    return document


def listed(service: Service) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.http.get(HOLDS).json["maintenance"]
    return found


def sweep(service: Service) -> None:
    periodic_tasks.sweep_holds(service.conductors["c1"]._host)


def events(service: Service) -> list[str]:
    """The events of holds, in order."""
    query = select(NodeHistory.event).where(NodeHistory.event_type == "maintenance").order_by(NodeHistory.id)
    found = service.database.read(lambda session: session.scalars(query).all())
    return [event.partition(") ")[2] for event in found]


def closes_at(service: Service) -> float | None:
    return service.database.read(lambda session: session.scalar(select(Node.closes_at)))


LATER = {"starts_at": "2050-01-01T00:00:00Z", "ends_at": "2050-01-01T06:00:00Z"}


def plan(service: Service, kind: str = "window", **more: Any) -> dict[str, Any]:
    """A hold from in one hour to in two, whatever the time is."""
    start = service.database.read(holds.now) + HOUR
    times = {"starts_at": start, "ends_at": start + HOUR}
    if "drain_deadline" in more:
        times["drain_deadline"] = start + more.pop("drain_deadline")
    return hold(service, kind, **{name: _text(moment) for name, moment in times.items()}, **more)


def _text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def test_a_window_begins_and_ends(served: Service) -> None:
    made = plan(served, reason="switch")
    assert made["state"] == "planned"
    assert closes_at(served) is not None
    sweep(served)
    assert not served.node("n1")["maintenance"]
    served.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "fan"})
    served.baremetal("DELETE", "/nodes/n1/maintenance")
    assert [each["uuid"] for each in listed(served)] == [made["uuid"]]
    go_by(served, HOUR + 1)
    sweep(served)
    assert (served.node("n1")["maintenance"], served.node("n1")["maintenance_reason"]) == (True, "window: switch")
    assert (listed(served)[0]["state"], closes_at(served)) == ("active", None)
    assert served.candidates("resources=CUSTOM_GOLD:1") == set()
    go_by(served, HOUR)
    sweep(served)
    assert (served.node("n1")["maintenance"], listed(served)) == (False, [])
    assert served.candidates("resources=CUSTOM_GOLD:1") == {served.node("n1")["uuid"]}
    assert [event.partition(":")[0] for event in events(served)][-2:] == ["has begun", "has ended"]


def test_what_nobody_did_in_time_is_done_late_and_in_order(served: Service) -> None:
    plan(served)
    go_by(served, HOUR)
    hold(served, "operator_hold", **LATER)
    second = plan(served, "hardware_failure")
    go_by(served, 1.5 * HOUR)
    sweep(served)
    assert [each["type"] for each in listed(served) if each["state"] == "active"] == ["hardware_failure"]
    late = events(served)[-3:]
    assert [event.partition(",")[0].partition(":")[0] for event in late] == ["has begun", "has ended", "has begun"]
    seconds = [int(event.split()[2]) for event in (late[0], late[2])]
    assert all(each >= least for each, least in zip(seconds, (5400, 1800), strict=True))
    assert served.node("n1")["maintenance_reason"] == "hardware_failure"
    served.http.delete(f"{HOLDS}/{second['uuid']}", status=204)
    assert closes_at(served) is not None


def test_windows_that_follow_each_other(served: Service) -> None:
    hold(served, **LATER)
    hold(served, starts_at="2050-01-01T06:00:00Z", ends_at="2050-01-01T12:00:00Z")
    hold(served, starts_at="2049-12-31T00:00:00Z", ends_at="2050-01-01T00:00:00Z")
    hold(served, starts_at="2050-01-01T05:59:59Z", status=409)
    hold(served, ends_at="2049-12-31T00:00:01Z", status=409)
    hold(served, ends_at="2049-12-31T00:00:00Z")
    assert len(listed(served)) == 4


def test_withheld_before(database_url: str) -> None:
    with Service(database_url, scheduling={"withhold_before_windows": 600}) as service:
        service.add_conductor("c1")
        service.add_node("n1")
        made = hold(service, **LATER)
        assert closes_at(service) == 2524608000 - 600
        later = hold(service, "operator_hold", starts_at="2050-01-02T00:00:00Z")
        service.http.delete(f"{HOLDS}/{made['uuid']}", status=204)
        assert closes_at(service) == 2524608000 + 86400 - 600
        service.http.delete(f"{HOLDS}/{later['uuid']}", status=204)
        assert closes_at(service) is None


def test_draining_waits_until_the_machine_is_nobodys(served: Service) -> None:
    uuid = served.node("n1")["uuid"]
    served.claim("3f2504e0-4f89-41d3-9a0c-0305e82c3301", uuid)
    made = hold(served, drain=True)
    assert (made["state"], served.node("n1")["maintenance"]) == ("draining", False)
    assert closes_at(served) is not None
    for columns in (
        {"provision_state": "cleaning", "target_provision_state": "available"},
        {"provision_state": "clean wait", "target_provision_state": "available"},
        {"provision_state": "available", "target_provision_state": None, "reservation": "c1"},
        {"reservation": None, "instance_uuid": "3f2504e0-4f89-41d3-9a0c-0305e82c3302"},
        {"instance_uuid": None},
    ):
        served.set_columns(uuid, **columns)
        sweep(served)
        assert listed(served)[0]["state"] == "draining", columns
        if "target_provision_state" in columns:
            served.database.read(due.due_nodes)
    served.placement("DELETE", "/allocations/3f2504e0-4f89-41d3-9a0c-0305e82c3301")
    sweep(served)
    assert (listed(served)[0]["state"], served.node("n1")["maintenance"], closes_at(served)) == ("active", True, None)
    assert events(served)[-1] == "has begun as the node rests"
    assert hold(served, "operator_hold", drain=True)["state"] == "active"


def test_a_deadline_of_draining(served: Service) -> None:
    uuid = served.node("n1")["uuid"]
    plan(served, drain=True, drain_deadline=HOUR / 2)
    served.set_columns(uuid, instance_uuid="3f2504e0-4f89-41d3-9a0c-0305e82c3302", provision_state="active")
    go_by(served, HOUR + 1)
    sweep(served)
    assert listed(served)[0]["state"] == "draining"
    go_by(served, HOUR / 2)
    served.set_columns(uuid, reservation="c1")
    sweep(served)
    assert listed(served)[0]["state"] == "draining"
    served.set_columns(uuid, reservation=None)
    sweep(served)
    assert listed(served)[0]["state"] == "active"
    assert events(served)[-1].startswith("has begun at its deadline, without waiting for the node (state active, inst")


def test_draining_in_vain(served: Service) -> None:
    served.set_columns(served.node("n1")["uuid"], instance_uuid="3f2504e0-4f89-41d3-9a0c-0305e82c3302")
    plan(served, drain=True)
    go_by(served, 2 * HOUR)
    sweep(served)
    assert (listed(served), events(served)[-1]) == ([], "has ended before it could begin")


# -- lockouts ----------------------------------------------------------------------------------------------------------


def test_nothing_touches_a_machine_that_is_locked_out(served: Service) -> None:
    made = hold(served, "lockout", reason="hands inside")
    expected = f"Node {served.node('n1')['uuid']} is locked out by hold {made['uuid']}. Release the hold first."
    for method, path, body in (
        ("PUT", "/states/power", {"target": "power off"}),
        ("PUT", "/states/provision", {"target": "active"}),
        ("PUT", "/states/provision", {"target": "manage"}),
        ("PUT", "/management/boot_device", {"boot_device": "pxe"}),
        ("PUT", "/states/console", {"enabled": True}),
        ("GET", "/management/boot_device/supported", None),
        ("PUT", "/management/inject_nmi", {}),
    ):
        assert fault(served.baremetal(method, f"/nodes/n1{path}", body, status=400)).startswith(expected), path
    assert served.node("n1")["reservation"] is None
    served.http.delete(f"{HOLDS}/{made['uuid']}", status=204)
    served.baremetal("PUT", "/nodes/n1/states/power", {"target": "power off"}, status=202)


def test_conductors_leave_it_alone(served: Service) -> None:
    uuid, host = served.node("n1")["uuid"], served.conductors["c1"]._host
    served.database.write(lambda session: _fail(session, uuid))
    hold(served, "lockout")
    power_sync.recover(host)
    assert served.node("n1")["fault"] == "power failure"
    served.http.delete(f"{HOLDS}/{listed(served)[-1]['uuid']}", status=204)
    assert [each["type"] for each in listed(served)] == ["fault"]
    assert listed(served)[0]["extra"] == {"kind": "power failure"}


def _fail(session: Any, uuid: str) -> None:
    node = session.scalars(select(Node).where(Node.uuid == uuid)).one()
    holds.assert_fault(session, node, "power failure", "It does not answer")


def test_recovery_ends_the_fault_only(served: Service) -> None:
    uuid = served.node("n1")["uuid"]
    served.database.write(lambda session: _fail(session, uuid))
    served.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "fan"})
    assert (served.node("n1")["maintenance_reason"], served.node("n1")["fault"]) == ("fan", "power failure")

    def recover(session: Any) -> None:
        holds.release_fault(session, session.scalars(select(Node)).one(), "c1")

    served.database.write(recover)
    node = served.node("n1")
    assert (node["maintenance"], node["maintenance_reason"], node["fault"]) == (True, "fan", None)


def test_a_lockout_is_acknowledged_when_no_driver_is_at_work(served: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    made = hold(served, "lockout")
    assert made["acknowledged_at"] is None
    questions = served.conductors["c1"]._host.questions
    with monkeypatch.context() as patch:
        patch.setattr(questions, "is_under_way", lambda key: True)
        sweep(served)
        assert listed(served)[0]["acknowledged_at"] is None
    sweep(served)
    assert listed(served)[0]["acknowledged_at"] is not None


def test_a_planned_lockout_waits_for_the_conductor(served: Service) -> None:
    uuid = served.node("n1")["uuid"]
    plan(served, "lockout")
    served.set_columns(uuid, reservation="c1")
    go_by(served, HOUR + 1)
    sweep(served)
    assert listed(served)[0]["state"] == "planned"
    served.set_columns(uuid, reservation=None)
    sweep(served)
    assert listed(served)[0]["state"] == "active"


def test_a_lockout_loosens_no_guard(served: Service, subtests: pytest.Subtests) -> None:
    for kind, status in [("lockout", 409), ("operator_hold", 204)]:
        with subtests.test(kind=kind):
            served.set_columns(served.node("n1")["uuid"], instance_uuid="3f2504e0-4f89-41d3-9a0c-0305e82c3302")
            hold(served, kind)
            served.baremetal("DELETE", "/nodes/n1", status=status)
