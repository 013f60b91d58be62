"""Cleaning and servicing machines on which there is no agent: only steps that need none."""

import pytest

from baremetal_sched.drivers.fake.provisioning import FakeDeploy
from tests.functional.baremetal.provisioning import LOG_STEP, RESET_STEP, do, put_into, state_of
from tests.restored import Rows
from tests.service import Service

ON_STEP = {"interface": "power", "step": "power_on"}
WAIT_STEP = {"interface": "vendor", "step": "wait"}


@pytest.fixture
def agentless(uuid: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A node whose deploy interface boots no agent."""
    monkeypatch.setattr(FakeDeploy, "lacks_agent", True)
    return uuid


def test_automated_cleaning_fails_at_once(service: Service, agentless: str, row: Rows) -> None:
    for state, verb in [("manageable", "provide"), ("active", "deleted")]:
        with row(state, verb):
            put_into(service, agentless, state)
            node = do(service, verb)
            assert state_of(node) == ("clean failed", "available")
            assert (
                "automated cleaning needs an agent on the machine, and its deploy interface 'fake'"
                in node["last_error"]
            )
            assert "--no-automated-clean" in node["last_error"]
            assert (node["maintenance"], node["fault"], node["reservation"]) == (False, None, None)
            assert not service.steps_done(agentless)


def test_the_way_out_is_to_clean_nothing(service: Service, agentless: str) -> None:
    put_into(service, agentless, "manageable")
    do(service, "provide")
    do(service, "manage")
    service.patch(agentless, ("replace", "/automated_clean", False))
    assert state_of(do(service, "provide")) == ("available", None)


def test_a_clean_step_that_needs_an_agent_is_refused(service: Service, agentless: str, row: Rows) -> None:
    for step in [RESET_STEP, LOG_STEP, WAIT_STEP]:
        with row(step):
            put_into(service, agentless, "manageable")
            node = do(service, "clean", clean_steps=[ON_STEP, step])
            assert state_of(node) == ("clean failed", "manageable")
            name = f"{step['interface']}.{step['step']}"
            assert f"Cannot clean node {agentless}: {name} needs an agent on the machine" in node["last_error"]
            assert node["power_state"] != "power on"


def test_steps_that_need_none_are_done(service: Service, agentless: str) -> None:
    put_into(service, agentless, "manageable")
    node = do(service, "clean", clean_steps=[ON_STEP, WAIT_STEP | {"args": {"seconds": 0}}])
    assert (state_of(node), node["power_state"]) == (("manageable", None), "power on")


def test_servicing_without_an_agent(service: Service, agentless: str) -> None:
    put_into(service, agentless, "active")
    assert state_of(do(service, "service", service_steps=[LOG_STEP])) == ("active", None)
    node = do(service, "service", service_steps=[LOG_STEP, {"interface": "vendor", "step": "trigger_servicewait"}])
    assert node["provision_state"] == "service failed"
    assert "vendor.trigger_servicewait needs an agent on the machine" in node["last_error"]
    assert service.steps_done(agentless) == ["vendor.log_passthrough"]


def test_disable_ramdisk_refuses_what_needs_one(service: Service, uuid: str, row: Rows) -> None:
    for kind in ["clean", "service"]:
        with row(kind):
            put_into(service, uuid, "manageable" if kind == "clean" else "active")
            step = RESET_STEP if kind == "clean" else {"interface": "vendor", "step": "trigger_servicewait"}
            node = do(service, kind, disable_ramdisk=True, **{f"{kind}_steps": [step]})
            assert node["provision_state"] == f"{kind} failed"
            assert "it requires booting a ramdisk): leave disable_ramdisk out" in node["last_error"]
