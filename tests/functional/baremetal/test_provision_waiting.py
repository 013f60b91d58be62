"""Nodes that wait for an agent, or are held, in the middle of their provisioning."""

from typing import Any

import pytest
from sqlalchemy import select

from baremetal_sched.db.models import NodeHistory
from tests.functional.baremetal.provisioning import (
    HOLD_STEP,
    LOG_STEP,
    WAIT_STEP,
    ask,
    do,
    events,
    put_into,
    resume,
    state_of,
)
from tests.restored import Rows
from tests.service import Service


def test_waiting_for_an_agent(service: Service, uuid: str, row: Rows) -> None:
    for state, verb, name, waiting, target in [
        ("manageable", "clean", "clean_steps", "clean wait", "manageable"),
        ("active", "service", "service_steps", "service wait", "active"),
    ]:
        with row(state, verb, name, waiting, target):
            put_into(service, uuid, state)
            node = do(service, verb, **{name: [WAIT_STEP, LOG_STEP]})
            assert (state_of(node), node["reservation"]) == ((waiting, target), None)
            assert node[name.removesuffix("s")]["step"] == "wait"
            resume(service)
            assert service.node(uuid)["reservation"] == "c1"
            service.work()
            node = service.node(uuid)
            assert (state_of(node), node[name.removesuffix("s")]) == ((state, None), {})
            assert events(service, f"{verb}_step_start")[-1] == "Step vendor.log_passthrough begins"


def test_holding(service: Service, uuid: str, row: Rows) -> None:
    for state, verb, name, held in [
        ("manageable", "clean", "clean_steps", "clean hold"),
        ("active", "service", "service_steps", "service hold"),
        ("available", "active", "deploy_steps", "deploy hold"),
    ]:
        with row(state, verb, name, held):
            put_into(service, uuid, state)
            hold = {**HOLD_STEP, "args": {}, "priority": 200} if name == "deploy_steps" else HOLD_STEP
            node = do(service, verb, **{name: [hold] if name == "deploy_steps" else [hold, LOG_STEP]})
            assert (node["provision_state"], node["reservation"]) == (held, None)
            ask(service, "unhold")
            service.work()
            assert service.node(uuid)["provision_state"] == ("active" if name == "deploy_steps" else state)


@pytest.mark.parametrize(
    ("state", "verb", "steps", "error"),
    [
        ("manageable", "clean", [WAIT_STEP], "By request, the cleaning was aborted at step vendor.wait."),
        ("active", "service", [HOLD_STEP], "By request, the service was aborted at step deploy.hold."),
    ],
)
def test_an_abort_is_in_the_history(
    service: Service, uuid: str, state: str, verb: str, steps: list[Any], error: str
) -> None:
    put_into(service, uuid, state)
    do(service, verb, **{f"{verb}_steps": steps})
    assert do(service, "abort")["last_error"] == error
    kind = {"clean": "cleaning", "service": "servicing"}[verb]
    query = select(NodeHistory.event, NodeHistory.severity).where(NodeHistory.event_type == kind)
    assert service.database.read(lambda session: session.execute(query).all()) == [(error, "INFO")]
