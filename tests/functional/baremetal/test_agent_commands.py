"""Commands to agents: each is executed once, even if messages are lost."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import update

from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.conductor import orphaned_reservations, periodic_tasks
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.db.models import NodeWork
from baremetal_sched.drivers.fake.hardware import FakePower
from baremetal_sched.machines.machine import Machine
from tests.emulators.stub_agent import URL, StubAgent
from tests.restored import Rows
from tests.service import Service

MAC = "52:54:00:00:00:01"
IMAGE = "http://images.example.org/x.raw"
#: What a deployment has the agent do.
DEPLOYED = ["execute_deploy_step", "install_bootloader", "sync"]

ERASE = {"interface": "deploy", "step": "erase_devices_metadata", "priority": 10, "abortable": True}
BURN = {"interface": "deploy", "step": "burnin_cpu", "priority": 0, "reboot_requested": False}


@pytest.fixture
def token(service: Service, agent: StubAgent) -> str:
    """The token of the agent on n1, which was booted to deploy the machine."""
    boot(service)
    ask(service, "active")
    return token_of(service)


def boot(service: Service) -> None:
    uuid = service.add_node("n1", power=False, deploy_interface="direct")
    service.patch("n1", ("add", "/instance_info", {"image_source": IMAGE, "image_checksum": "0" * 64}))
    service.baremetal("POST", "/ports", {"node_uuid": uuid, "address": MAC})


def ask(service: Service, verb: str, **more: Any) -> None:
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": verb, **more})
    service.work()


def token_of(service: Service) -> str:
    return str(service.baremetal("GET", f"/lookup?addresses={MAC}").json["config"]["agent_token"])


def beat(service: Service, token: str) -> None:
    body = {"callback_url": URL, "agent_token": token, "agent_version": "13.0"}
    service.baremetal("POST", "/heartbeat/n1", body, status=202)
    service.work()


def until_done(service: Service, token: str) -> dict[str, Any]:
    for _ in range(10):
        beat(service, token)
        node = service.node("n1")
        if "wait" not in node["provision_state"]:
            return node
    raise AssertionError(node["provision_state"])


def state(service: Service) -> str:
    return str(service.node("n1")["provision_state"])


# -- the whole story ---------------------------------------------------------------------------------------------------


def test_a_deployment(service: Service, agent: StubAgent, token: str) -> None:
    beat(service, token)
    node = service.node("n1")
    assert (node["provision_state"], node["reservation"]) == ("wait call-back", None)
    assert node["deploy_step"]["step"] == "write_image"
    node = until_done(service, token)
    assert (node["provision_state"], node["power_state"], node["last_error"]) == ("active", "power on", None)
    assert agent.names == DEPLOYED
    name, params = agent.executed[1]
    assert (name, params["deploy_version"]) == ("deploy.execute_deploy_step", agent.versions)
    assert params["step"]["args"]["image_info"]["urls"] == [IMAGE]
    assert [port["address"] for port in params["ports"]] == [MAC]
    assert (params["node"]["uuid"], params["node"]["name"]) == (node["uuid"], "n1")
    assert token not in str(agent.executed)


def test_an_instance_that_is_deleted_does_not_run_on(service: Service, agent: StubAgent, token: str, row: Rows) -> None:
    for stays_on, expected in [(False, "power off"), (True, "power on")]:
        with row(stays_on, expected):
            agent.renew()
            service.set_columns(service.node("n1")["uuid"], disable_power_off=stays_on, automated_clean=False)
            until_done(service, token)
            assert agent.names[2:] == (["sync", "lockdown"] if stays_on else ["sync"])
            before = service.node("n1")["driver_internal_info"]["last_power_state_change"]
            ask(service, "deleted")
            node = service.node("n1")
            assert (node["provision_state"], node["power_state"]) == ("available", expected)
            assert node["driver_internal_info"]["last_power_state_change"] != before


def test_the_agent_shuts_the_machine_down(
    service: Service, agent: StubAgent, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its controller is asked until it is off, and switches it off if that takes too long."""
    switched: list[str] = []
    switch = FakePower.set_power_state

    def note(self: FakePower, machine: Machine, target: str, timeout: int | None = None) -> Any:
        switched.append(target)
        return switch(self, machine, target, timeout)

    monkeypatch.setattr(FakePower, "only_remembers", False)
    monkeypatch.setattr(FakePower, "set_power_state", note)
    for _ in range(3):
        beat(service, token)
    assert agent.names[-1] == "power_off"
    node = service.node("n1")
    assert (node["provision_state"], node["deploy_step"]["step"]) == ("deploying", "tear_down_agent")
    for _ in range(7):
        service.database.write(lambda session: session.execute(update(NodeWork).values(not_before=1)))
        service.work()
    node = service.node("n1")
    assert (node["provision_state"], node["power_state"]) == ("active", "power on")
    assert switched == ["power off", "power on"]


def test_a_command_is_asked_for_until_it_is_done(service: Service, agent: StubAgent, token: str) -> None:
    agent.is_quick = False
    for _ in range(3):
        beat(service, token)
        assert (state(service), agent.names) == ("wait call-back", ["execute_deploy_step"])
    agent.finish()
    agent.is_quick = True
    until_done(service, token)
    assert agent.names == DEPLOYED


def test_steps_of_the_agent(service: Service, agent: StubAgent) -> None:
    """Those with a priority clean the machine; others are done if a client names them."""
    agent.steps["clean"] = [ERASE, BURN]
    boot(service)
    ask(service, "manage")
    ask(service, "provide")
    token = token_of(service)
    beat(service, token)
    assert service.node("n1")["clean_step"]["step"] == "erase_devices_metadata"
    assert until_done(service, token)["provision_state"] == "available"
    assert agent.steps_executed == ["erase_devices_metadata"]
    ask(service, "manage")
    named = [{"interface": "deploy", "step": "burnin_cpu", "args": {"timeout": 1}}]
    ask(service, "clean", clean_steps=named)
    assert until_done(service, token_of(service))["provision_state"] == "manageable"
    assert agent.steps_executed == ["erase_devices_metadata", "burnin_cpu"]
    assert agent.executed[-1][1]["step"]["args"] == {"timeout": 1}


def test_a_runbook_with_a_step_of_the_agent(service: Service, agent: StubAgent) -> None:
    """The states that the node passes, and the commands that it takes."""
    agent.steps["clean"] = [ERASE, BURN]
    boot(service)
    ask(service, "manage")
    steps = [{"interface": "deploy", "step": "erase_devices_metadata", "args": {}, "order": 1}]
    service.baremetal("POST", "/runbooks", {"name": "CUSTOM_ERASE", "steps": steps}, status=201)
    for path in ("/runbooks/CUSTOM_ERASE", "/nodes/n1"):
        service.baremetal("PUT", f"{path}/traits/CUSTOM_ERASE")
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "clean", "runbook": "CUSTOM_ERASE"})
    passed = [state(service)]
    service.work()
    token = token_of(service)
    while passed[-1] != "manageable":
        passed.append(state(service))
        beat(service, token)
        passed.append(state(service))
    assert passed == ["cleaning", "clean wait", "clean wait", "clean wait", "manageable"]
    assert [name for name, _ in agent.executed] == ["clean.get_clean_steps", "clean.execute_clean_step"]


def test_a_step_that_the_agent_lacks(service: Service, agent: StubAgent) -> None:
    boot(service)
    ask(service, "manage")
    ask(service, "clean", clean_steps=[{"interface": "deploy", "step": "nosuch"}])
    node = until_done(service, token_of(service))
    assert node["provision_state"] == "clean failed"
    assert "node does not support this clean step: deploy.nosuch" in node["last_error"]
    assert agent.names == []


def test_an_agent_that_is_not_needed_is_not_asked(service: Service, agent: StubAgent) -> None:
    """One on fast track may be gone long since."""
    boot(service)
    service.patch("n1", ("add", "/driver_info/fast_track", True))
    service.set_columns(service.node("n1")["uuid"], provision_state="manageable", power_state="power on")
    beat(service, token_of(service))
    agent.is_silent = True
    ask(service, "clean", clean_steps=[{"interface": "power", "step": "power_on"}], disable_ramdisk=True)
    assert (state(service), service.node("n1")["last_error"]) == ("manageable", None)


def test_a_step_that_needs_a_reboot(service: Service, agent: StubAgent) -> None:
    """The agent that comes back has forgotten its commands, and the plan goes on where it was."""
    agent.steps["clean"] = [{**ERASE, "reboot_requested": True, "priority": 20}, {**BURN, "priority": 10}]
    boot(service)
    ask(service, "manage")
    ask(service, "provide")
    first = token_of(service)
    beat(service, first)
    beat(service, first)
    assert state(service) == "clean wait"
    assert service.node("n1")["driver_internal_info"]["agent_url"] is None
    agent.restart()
    assert until_done(service, token_of(service))["provision_state"] == "available"
    assert agent.steps_executed == ["erase_devices_metadata", "burnin_cpu"]


def change_managers(agent: StubAgent, kind: str) -> None:
    """Have the agent refuse the next step, for its hardware managers are others now."""
    agent.failures[f"execute_{kind}_step"] = "version"
    agent.statuses[f"execute_{kind}_step"] = "CLEAN_VERSION_MISMATCH"
    agent.versions = {"generic_hardware_manager": "1.3"}


def test_automated_cleaning_begins_again_if_the_agent_has_changed(service: Service, agent: StubAgent) -> None:
    agent.steps["clean"] = [{**ERASE, "priority": 20}, {**BURN, "priority": 10}]
    boot(service)
    ask(service, "manage")
    ask(service, "provide")
    token = token_of(service)
    beat(service, token)
    change_managers(agent, "clean")
    beat(service, token)
    agent.failures.clear()
    assert until_done(service, token)["provision_state"] == "available"
    assert agent.steps_executed == ["erase_devices_metadata"] * 2 + ["burnin_cpu"]
    assert agent.executed[-1][1]["clean_version"] == {"generic_hardware_manager": "1.3"}


def test_other_cleaning_repeats_its_step_if_the_agent_has_changed(service: Service, agent: StubAgent) -> None:
    agent.steps["clean"] = [ERASE, BURN]
    boot(service)
    ask(service, "manage")
    named = [{"interface": "deploy", "step": name} for name in ("erase_devices_metadata", "burnin_cpu")]
    ask(service, "clean", clean_steps=named)
    token = token_of(service)
    beat(service, token)
    beat(service, token)
    change_managers(agent, "clean")
    beat(service, token)
    agent.failures.clear()
    assert until_done(service, token)["provision_state"] == "manageable"
    assert agent.steps_executed == ["erase_devices_metadata", "burnin_cpu", "burnin_cpu"]


def test_an_agent_that_changes_all_the_time(service: Service, agent: StubAgent) -> None:
    agent.steps["clean"] = [ERASE]
    change_managers(agent, "clean")
    boot(service)
    ask(service, "manage")
    ask(service, "provide")
    node = until_done(service, token_of(service))
    assert node["provision_state"] == "clean failed"
    assert "the agent's hardware managers change all the time" in node["last_error"]
    assert len(agent.steps_executed) == 4


def test_a_deployment_fails_if_the_agent_has_changed(service: Service, agent: StubAgent, token: str) -> None:
    change_managers(agent, "deploy")
    node = until_done(service, token)
    assert node["provision_state"] == "deploy failed"
    assert node["last_error"] == (
        "Step deploy.write_image failed: the agent has not begun it, for its hardware managers have changed. The "
        "image was not begun."
    )


def test_autodetect(database_url: str, agent: StubAgent, row: Rows) -> None:
    for info, expected in [({}, "wait call-back"), ({"ironic_ramdisk_deploy": True}, "active")]:
        with (
            row(info, expected),
            Service(database_url, DEFAULT={"autodetect_deploy_interfaces": ["ramdisk", "direct"]}) as service,
        ):
            service.add_conductor("c1")
            boot(service)
            service.patch("n1", ("add", "/deploy_interface", "autodetect"))
            if info:
                service.patch("n1", ("add", "/instance_info", {"boot_iso": "http://images.example.org/x.iso", **info}))
            ask(service, "active")
            assert state(service) == expected, service.node("n1")["last_error"]
            assert service.node("n1")["deploy_interface"] == "autodetect"


def test_an_abort(service: Service, agent: StubAgent, token: str, row: Rows) -> None:
    """The agent's actions do not matter any more."""
    for during in ["boot", "a command"]:
        with row(during):
            if during == "a command":
                beat(service, token)
            ask(service, "abort")
            node = service.node("n1")
            assert node["provision_state"] == "deploy failed"
            assert "By request, the deployment was aborted" in node["last_error"]
            assert "agent_command" not in node["driver_internal_info"]
            service.baremetal(
                "POST", "/heartbeat/n1", {"callback_url": URL, "agent_token": token, "agent_version": "1"}, status=400
            )


# -- lost answers ------------------------------------------------------------------------------------------------------


def test_an_answer_that_is_lost(service: Service, agent: StubAgent, token: str, row: Rows) -> None:
    """A command that the agent has is found in its list; one that was never sent is sent."""
    for name in ["execute_deploy_step", "install_bootloader", "sync"]:
        for trouble in ["refused", "unanswered", "garbled"]:
            with row(name, trouble):
                agent.renew()
                agent.trouble[name] = trouble
                assert until_done(service, token)["provision_state"] == "active"
                assert agent.names == DEPLOYED


def test_a_command_that_may_have_arrived_is_not_sent_again(
    service: Service, agent: StubAgent, token: str, row: Rows
) -> None:
    for name in ["execute_deploy_step", "install_bootloader"]:
        with row(name):
            agent.trouble[name] = "lost"
            node = until_done(service, token)
            assert node["provision_state"] == "deploy failed"
            step = "write_image" if name == "execute_deploy_step" else "prepare_instance_boot"
            assert f"It is unknown whether step deploy.{step} ran" in node["last_error"]
            assert name not in agent.names
            assert token not in node["last_error"]


def test_a_command_that_may_be_repeated_is(service: Service, agent: StubAgent, token: str) -> None:
    agent.trouble["sync"] = "lost"
    assert until_done(service, token)["provision_state"] == "active"
    assert agent.names == DEPLOYED


class Killed(BaseException):
    """The process of the conductor is gone."""


Kill = Callable[[StubAgent, str], None]


def kill_before(agent: StubAgent, name: str) -> None:
    agent.before = lambda method, body: _kill(body, name)


def kill_after(agent: StubAgent, name: str) -> None:
    agent.after = lambda method, body: _kill(body, name)


def _kill(body: dict[str, Any] | None, name: str) -> None:
    if body is not None and body["name"].endswith(name):
        raise Killed


def test_a_conductor_is_killed_at_a_command(service: Service, agent: StubAgent, token: str, row: Rows) -> None:
    """The node fails, and its error names the unknown part."""
    for name in ["execute_deploy_step", "install_bootloader"]:
        for kill in [kill_before, kill_after]:
            with row(name, kill):
                agent.renew()
                kill(agent, name)
                with pytest.raises(Killed):
                    until_done(service, token)
                agent.before = agent.after = lambda method, body: None
                settings = service.app.settings
                orphaned_reservations.release_before_start(ConductorHost("c1", service.database, settings))
                node = service.node("n1")
                assert (node["provision_state"], node["reservation"]) == ("deploy failed", None)
                step = "write_image" if name == "execute_deploy_step" else "prepare_instance_boot"
                image = "may be partly written" if step == "write_image" else "is written"
                assert node["last_error"].endswith(f"It is unknown whether step deploy.{step} ran. The image {image}.")
                assert agent.names.count(name) == (kill is kill_after)


def test_a_conductor_is_killed_while_the_agent_works(service: Service, agent: StubAgent, token: str, row: Rows) -> None:
    """Nothing is lost: no process has anything to do with the node then."""
    for name in ["execute_deploy_step", "install_bootloader"]:
        with row(name):
            agent.renew()
            agent.is_quick = False
            beat(service, token)
            while agent.names[-1] != name:
                agent.finish()
                beat(service, token)
            assert service.node("n1")["reservation"] is None
            agent.is_quick = True
            settings = service.app.settings
            orphaned_reservations.release_before_start(ConductorHost("c1", service.database, settings))
            assert until_done(service, token)["provision_state"] == "active"
            assert agent.names == DEPLOYED


# -- what the agent says -----------------------------------------------------------------------------------------------


def test_a_step_that_fails(service: Service, agent: StubAgent, token: str, row: Rows) -> None:
    for prepare, said in [
        (lambda agent: agent.failures.update(execute_deploy_step="checksum is wrong"), "checksum is wrong"),
        (lambda agent: agent.trouble.update(execute_deploy_step=500), "refused the request (500): it does not work"),
        (lambda agent: agent.trouble.update(execute_deploy_step=401), "refused the request (401)"),
        (lambda agent: agent.trouble.update(execute_deploy_step="busy"), "refused the request (409): Agent is busy"),
        (lambda agent: agent.failures.update(get_deploy_steps="no"), "did not say which deploy steps it has: no"),
        (lambda agent: agent.steps.update(deploy=[{"step": 7}]), "has a deploy step that makes no sense"),
        (lambda agent: agent.failures.update(install_bootloader="no grub"), "says: no grub"),
    ]:
        with row(prepare, said):
            agent.renew()
            prepare(agent)
            node = until_done(service, token)
            assert node["provision_state"] == "deploy failed"
            assert said in node["last_error"]
            assert "agent_command" not in node["driver_internal_info"]


def test_an_agent_that_was_restarted(service: Service, agent: StubAgent, token: str) -> None:
    beat(service, token)
    agent.restart()
    node = until_done(service, token)
    assert node["provision_state"] == "deploy failed"
    assert "no longer knows the command deploy.execute_deploy_step" in node["last_error"]


def test_an_agent_that_cannot_be_asked(service: Service, agent: StubAgent, token: str) -> None:
    """Its command is asked for again after the next heartbeat."""
    beat(service, token)
    agent.is_silent = True
    beat(service, token)
    assert state(service) == "wait call-back"
    agent.is_silent = False
    assert until_done(service, token)["provision_state"] == "active"
    assert agent.names == DEPLOYED


def test_a_command_that_takes_too_long(database_url: str, agent: StubAgent) -> None:
    with Service(database_url, agent={"command_run_timeout": 60}) as service:
        service.add_conductor("c1")
        boot(service)
        ask(service, "active")
        token = token_of(service)
        agent.is_quick = False
        beat(service, token)
        uuid = service.node("n1")["uuid"]
        beat(service, token)
        assert state(service) == "wait call-back"
        forget_time(service, uuid, 61)
        beat(service, token)
        node = service.node("n1")
    assert (node["provision_state"], node["power_state"]) == ("deploy failed", "power off")
    assert "the agent has been executing deploy.execute_deploy_step for 60 seconds" in node["last_error"]


def forget_time(service: Service, uuid: str, seconds: float) -> None:
    """Make the command older."""
    info = service.node(uuid)["driver_internal_info"]
    token = service.database.read(lambda session: _internal(session, uuid))["agent_secret_token"]
    command = {**info["agent_command"], "since": info["agent_command"]["since"] - seconds}
    service.set_columns(uuid, driver_internal_info={**info, "agent_secret_token": token, "agent_command": command})


def _internal(session: Any, uuid: str) -> Any:
    return nodes.find(session, uuid).driver_internal_info


def test_an_agent_that_is_silent_fails_its_node_in_the_end(service: Service, agent: StubAgent, token: str) -> None:
    """It is asked in vain, which does not count as a sign of life."""
    beat(service, token)
    uuid = service.node("n1")["uuid"]
    service.set_columns(uuid, provision_updated_at=datetime(2026, 1, 1))
    agent.is_silent = True
    host = ConductorHost("c1", service.database, service.app.settings)
    periodic_tasks.ask_silent_agents(host)
    service.work()
    assert state(service) == "wait call-back"
    periodic_tasks.fail_late(host)
    node = service.node("n1")
    assert node["provision_state"] == "deploy failed"
    assert "nothing was heard of the agent" in node["last_error"]


def test_an_old_answer_is_not_taken_for_a_lost_one(service: Service, agent: StubAgent) -> None:
    """The agent's steps are read again instead."""
    agent.steps["clean"] = [ERASE]
    boot(service)
    ask(service, "manage")
    ask(service, "provide")
    token = token_of(service)
    beat(service, token)
    change_managers(agent, "clean")
    agent.trouble["get_clean_steps"] = "lost"
    beat(service, token)
    agent.failures.clear()
    assert until_done(service, token)["provision_state"] == "available"
    assert agent.executed[-1][1]["clean_version"] == agent.versions


def test_partitions_that_make_no_sense(service: Service, agent: StubAgent, token: str, row: Rows) -> None:
    for result in [["x"], "x", 7]:
        with row(result):
            agent.results["get_partition_uuids"] = result
            node = until_done(service, token)
            assert node["provision_state"] == "deploy failed"
            assert "the agent did not say which partitions there are" in node["last_error"]


def test_an_agent_that_sends_no_heartbeat_is_asked(service: Service, agent: StubAgent, token: str) -> None:
    beat(service, token)
    uuid = service.node("n1")["uuid"]
    host = ConductorHost("c1", service.database, service.app.settings)
    periodic_tasks.ask_silent_agents(host)
    service.work()
    assert service.node("n1")["deploy_step"]["step"] == "write_image"
    service.set_columns(uuid, provision_updated_at=datetime(2026, 1, 1))
    periodic_tasks.ask_silent_agents(host)
    service.work()
    assert service.node("n1")["deploy_step"]["step"] == "prepare_instance_boot"
