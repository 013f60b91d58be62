"""Provisioning that comes to nothing: the state of the node then, and what its history says."""

from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from baremetal_sched.db.models import Node, NodeHistory, NodeTrait
from baremetal_sched.drivers.fake.hardware import FakeVendor
from baremetal_sched.errors import InvalidValue
from tests.functional.baremetal.provisioning import LOG_STEP, ask, do, failing, offered, put_into, state_of
from tests.restored import Rows
from tests.service import Service


def test_a_step_that_fails(service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch, row: Rows) -> None:
    """The state of the machine is unknown now: maintenance, with the fault, until an operator has looked at it."""
    for error, said in [
        (InvalidValue(message="the disk is on fire"), "Step vendor.log_passthrough failed: the disk is on fire"),
        (ZeroDivisionError("x"), "Unexpected error: ZeroDivisionError('x')"),
        (
            OperationalError("SELECT 1", {}, Exception("1305: SAVEPOINT does not exist")),
            "Unexpected error: the database refused a statement; the log of the conductor has the error.",
        ),
    ]:
        for state, verb, more, after, fault_name in [
            ("manageable", "provide", {}, ("clean failed", "available"), "clean failure"),
            ("manageable", "clean", {"clean_steps": [LOG_STEP]}, ("clean failed", "manageable"), "clean failure"),
            ("active", "service", {"service_steps": [LOG_STEP]}, ("service failed", "active"), "service failure"),
            ("active", "deleted", {}, ("clean failed", "available"), "clean failure"),
        ]:
            with row(error, said, state, verb, more, after, fault_name):
                monkeypatch.setattr(FakeVendor, "log_passthrough", failing(error))
                put_into(service, uuid, state, power_state="power on")
                node = do(service, verb, **more)
                assert state_of(node) == after
                assert (node["maintenance"], node["fault"], node["maintenance_reason"]) == (True, fault_name, said)
                assert (node["last_error"], node["reservation"], node["clean_step"]) == (said, None, {})
                assert not offered(service)
                monkeypatch.undo()
                service.baremetal("DELETE", "/nodes/n1/maintenance")
                if after[0] == "clean failed":
                    do(service, "manage")
                    assert do(service, "provide")["provision_state"] == "available"
                    assert offered(service)


def test_what_cannot_be_reached_stays_enrolled(service: Service, uuid: str) -> None:
    service.set_columns(uuid, power_interface="agent")
    node = do(service, "manage")
    assert state_of(node) == ("enroll", None)
    assert "agent power interface" in node["last_error"]


def test_other_failures(service: Service, uuid: str, row: Rows) -> None:
    for state, verb, columns, after in [
        ("manageable", "adopt", {"deploy_interface": "direct"}, ("adopt failed", "active")),
        ("active", "unrescue", {}, None),
    ]:
        with row(state, verb, columns, after):
            put_into(service, uuid, state, **columns)
            if after is None:
                ask(service, verb, status=400)
            else:
                node = do(service, verb)
                assert state_of(node) == after
                assert node["last_error"]


def test_errors_and_steps_are_in_the_history(service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeVendor, "log_passthrough", failing(InvalidValue(message="no")))
    put_into(service, uuid, "manageable")
    do(service, "provide")
    assert do(service, "manage")["last_error"] == "Step vendor.log_passthrough failed: no"
    monkeypatch.undo()
    do(service, "provide")
    query = select(NodeHistory.severity, NodeHistory.event_type, NodeHistory.state, NodeHistory.conductor)
    assert service.database.read(lambda session: session.execute(query.order_by(NodeHistory.id)).all()) == [
        ("INFO", "automated_cleaning_start", "cleaning", "c1"),
        ("INFO", "clean_step_start", "cleaning", "c1"),
        ("ERROR", "automated_cleaning_end", "cleaning", "c1"),
        ("INFO", "maintenance", "cleaning", "c1"),
        ("ERROR", "cleaning", "cleaning", "c1"),
        ("INFO", "automated_cleaning_start", "cleaning", "c1"),
        ("INFO", "clean_step_start", "cleaning", "c1"),
        ("INFO", "clean_step_end", "cleaning", "c1"),
        ("INFO", "automated_cleaning_end", "cleaning", "c1"),
    ]


@pytest.mark.parametrize(
    ("state", "verb", "columns", "kind"),
    [
        ("enroll", "manage", {"power_interface": "agent"}, "verify"),
        ("manageable", "adopt", {"deploy_interface": "direct"}, "adoption"),
    ],
)
def test_what_failed_is_in_the_history(
    service: Service, uuid: str, state: str, verb: str, columns: dict[str, Any], kind: str
) -> None:
    put_into(service, uuid, state, **columns)
    error = do(service, verb)["last_error"]
    query = select(NodeHistory.event_type, NodeHistory.severity, NodeHistory.event)
    assert service.database.read(lambda session: session.execute(query).all()) == [(kind, "ERROR", error)]


def test_what_can_never_be_written_down_fails(service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another worker would not be luckier: the worker is needed for other nodes."""

    def clash(session: Session, node: Node, *findings: Any) -> None:
        session.add_all([NodeTrait(node_id=node.id, trait="CUSTOM_A"), NodeTrait(node_id=node.id, trait="CUSTOM_A")])
        session.flush()

    monkeypatch.setattr("baremetal_sched.conductor.job.MOST_CLASHES", 2)
    monkeypatch.setattr(service.database, "attempts", 3)
    monkeypatch.setattr("baremetal_sched.baremetal.inspection.inspection.store", clash)
    put_into(service, uuid, "manageable")
    node = do(service, "inspect")
    assert state_of(node) == ("inspect failed", "manageable")
    assert node["last_error"].startswith("The result could not be recorded in 2 rounds of attempts, because ")
    assert (node["reservation"], node["traits"]) == (None, [])
    monkeypatch.undo()
    assert do(service, "inspect")["provision_state"] == "manageable"
