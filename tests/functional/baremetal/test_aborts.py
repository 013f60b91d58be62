"""``abort``: at once, after a step that must not be interrupted, and in ``service failed``."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from baremetal_sched.conductor.agent_steps import flags_of
from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.drivers import steps
from baremetal_sched.drivers.fake.hardware import FakePower, FakeVendor
from baremetal_sched.drivers.fake.provisioning import FakeBoot, FakeDeploy
from baremetal_sched.drivers.steps import clean_step, deploy_step, service_step
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import NOTHING, Effect, Machine
from tests.functional.baremetal.provisioning import HOLD_STEP, LOG_STEP, ask, do, enrol, events, put_into, resume
from tests.service import Service

#: A kind of steps: the state in which its operation begins, the verb, the waiting state, and the state after an abort.
KINDS = {
    "clean": ("manageable", "clean", "clean wait", "clean failed"),
    "deploy": ("available", "active", "wait call-back", "deploy failed"),
    "service": ("active", "service", "service wait", "service failed"),
}


@pytest.fixture
def uuid(service: Service) -> Iterator[str]:
    yield enrol(service)
    steps._marked.cache_clear()


def _let_the_step_wait(patch: pytest.MonkeyPatch, *, abortable: bool) -> None:
    """Let ``log_passthrough`` wait for a report of the machine."""

    @service_step(abortable=abortable, requires_ramdisk=False)
    @clean_step(abortable=abortable)
    @deploy_step(0, abortable=abortable)
    def log_passthrough(self: FakeVendor, machine: Machine) -> Effect:
        return Effect(waits=True)

    patch.setattr(FakeVendor, "log_passthrough", log_passthrough)
    steps._marked.cache_clear()


def _begin(service: Service, uuid: str, kind: str, *more: dict[str, Any]) -> dict[str, Any]:
    """Begin an operation, whose first step waits."""
    state, verb, waiting, _ = KINDS[kind]
    put_into(service, uuid, state, power_state="power on")
    wanted: list[dict[str, Any]] = [LOG_STEP, *more]
    if kind == "deploy":
        wanted = [{**step, "args": {}, "priority": 200 - number} for number, step in enumerate(wanted)]
    node = do(service, verb, **{f"{kind}_steps": wanted})
    assert node["provision_state"] == waiting, node["last_error"]
    return node


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_last", [True, False], ids=["last", "not last"])
def test_a_step_that_must_not_be_interrupted_is_waited_for(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch, kind: str, is_last: bool
) -> None:
    """Then nothing else is done on the machine, and the node, whose step has not failed, is not in maintenance."""
    _let_the_step_wait(monkeypatch, abortable=False)
    torn_down: list[str] = []
    monkeypatch.setattr(FakeDeploy, "tear_down_service", lambda self, machine: torn_down.append(kind) or NOTHING)
    _begin(service, uuid, kind, *([] if is_last else [{"interface": "power", "step": "reboot"}]))
    for _ in range(2):
        ask(service, "abort")
        node = service.node(uuid)
        assert (node["provision_state"], node["reservation"]) == (KINDS[kind][2], None)
        assert node[f"{kind}_step"]["abort_after"] is True
    begun = events(service, f"{kind}_step_start")
    resume(service)
    service.work()
    node = service.node(uuid)
    assert (node["provision_state"], node["reservation"]) == (KINDS[kind][3], None)
    assert node["last_error"].startswith("By request, the ")
    assert node["last_error"].endswith(" was aborted after step vendor.log_passthrough.")
    assert (node["maintenance"], node["fault"], node[f"{kind}_step"]) == (False, None, {})
    assert events(service, f"{kind}_step_start") == begun
    assert torn_down == (["service"] if kind == "service" else [])


def test_the_time_out_ends_a_step_that_is_waited_for(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _let_the_step_wait(monkeypatch, abortable=False)
    _begin(service, uuid, "service")
    ask(service, "abort")
    service.set_columns(uuid, provision_updated_at=datetime(2020, 1, 1))
    waiting = next(task for task in PERIODIC_TASKS if task.name == "waiting")
    service.conductors["c1"].run_periodic_task(waiting)
    node = service.node(uuid)
    assert node["provision_state"] == "service failed"
    assert node["last_error"].startswith("Timeout reached while servicing the node")


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_that_may_be_interrupted_is_aborted_at_once(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A service leads to ``active``, as in Ironic 39, and its machine goes back to the instance."""
    _let_the_step_wait(monkeypatch, abortable=True)
    torn_down: list[str] = []
    monkeypatch.setattr(FakeDeploy, "tear_down_service", lambda self, machine: torn_down.append(kind) or NOTHING)
    _begin(service, uuid, kind)
    node = do(service, "abort")
    after = "active" if kind == "service" else KINDS[kind][3]
    assert (node["provision_state"], node["reservation"], node[f"{kind}_step"]) == (after, None, {})
    assert node["last_error"].endswith(" was aborted at step vendor.log_passthrough.")
    assert torn_down == (["service"] if kind == "service" else [])


def test_a_step_without_the_mark_is_aborted_at_once(service: Service, uuid: str) -> None:
    put_into(service, uuid, "wait call-back", deploy_step=LOG_STEP)
    assert do(service, "abort")["provision_state"] == "deploy failed"


def test_marks_of_steps_of_agents() -> None:
    """Agents mark no step of deploying; what they do not mark of cleaning is not interrupted, as in Ironic."""
    assert "abortable" not in flags_of("deploy", {"step": "x"})
    assert flags_of("deploy", {"abortable": False})["abortable"] is False
    assert flags_of("clean", {})["abortable"] is False
    assert flags_of("service", {"abortable": True})["abortable"] is True


@pytest.mark.parametrize("step", ["hold", "wait"])
def test_a_hold_of_a_deployment_and_a_wait_are_aborted_at_once(service: Service, uuid: str, step: str) -> None:
    put_into(service, uuid, "available", power_state="power on")
    do(service, "active", deploy_steps=[{**HOLD_STEP, "step": step, "args": {}, "priority": 200}])
    assert service.node(uuid)["deploy_step"]["abortable"] is True
    assert do(service, "abort")["provision_state"] == "deploy failed"


def test_a_machine_that_cannot_be_given_back(service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node is active, as in Ironic, and its error names the problem."""

    def tear_down(self: FakeDeploy, machine: Machine) -> Effect:
        raise InvalidValue(message="the controller refuses")

    _let_the_step_wait(monkeypatch, abortable=True)
    monkeypatch.setattr(FakeDeploy, "tear_down_service", tear_down)
    _begin(service, uuid, "service")
    node = do(service, "abort")
    assert (node["provision_state"], node["reservation"]) == ("active", None)
    assert node["last_error"].endswith("the controller refuses")


def test_the_abort_of_a_failed_service(service: Service, uuid: str) -> None:
    """It is refused in maintenance; afterwards no error is left."""
    put_into(service, uuid, "service failed", last_error="before", maintenance=True)
    text = ask(service, "abort", status=409).text
    assert "in maintenance" in text
    assert "node maintenance unset" in text
    kept = service.node(uuid)
    assert (kept["provision_state"], kept["last_error"]) == ("service failed", "before")
    service.set_columns(uuid, maintenance=False)
    node = do(service, "abort")
    assert (node["provision_state"], node["last_error"], node["reservation"]) == ("active", None, None)


@pytest.mark.parametrize("hears", [False, True], ids=["before the agent reports", "when it has failed"])
def test_a_machine_with_an_agent_goes_back_to_its_instance(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch, hears: bool
) -> None:
    """Also if nothing was heard of the agent, and if its service had failed and the node is out of maintenance."""
    done: list[str] = []
    monkeypatch.setattr(FakeBoot, "prepare_ramdisk", lambda self, machine: done.append("ramdisk"))
    monkeypatch.setattr(FakeBoot, "clean_up_ramdisk", lambda self, machine: done.append("no ramdisk"))
    switch = FakePower.set_power_state

    def note(self: FakePower, machine: Machine, target: str, timeout: int | None = None) -> Any:
        done.append(target)
        return switch(self, machine, target, timeout)

    monkeypatch.setattr(FakePower, "set_power_state", note)
    service.set_columns(uuid, deploy_interface="custom-agent")
    put_into(service, uuid, "active", power_state="power on")
    node = do(service, "service", service_steps=[{"interface": "vendor", "step": "trigger_servicewait"}])
    assert (node["provision_state"], node["service_step"]) == ("service wait", {})
    assert done == ["ramdisk", "rebooting"]
    if hears:
        monkeypatch.setattr(FakeVendor, "trigger_servicewait", failing_step)
        resume(service)
        service.work()
        assert service.node(uuid)["provision_state"] == "service failed"
        service.set_columns(uuid, maintenance=False, fault=None)
    done.clear()
    node = do(service, "abort")
    assert (node["provision_state"], node["reservation"]) == ("active", None)
    assert done == ["rebooting", "no ramdisk"]
    assert not node["driver_internal_info"].get("booted_for_service")


def failing_step(self: FakeVendor, machine: Machine) -> Effect:
    raise InvalidValue(message="it does not work")
