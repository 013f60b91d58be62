"""Steps that machines are busy with by themselves: no worker waits, and any conductor can ask how far they are."""

from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import select, update

from baremetal_sched.conductor import claiming, handlers, job
from baremetal_sched.db.models import Node, NodeWork
from baremetal_sched.drivers.fake.hardware import FakeBios, FakeVendor
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import NOTHING, Effect, Machine
from tests.functional.baremetal.provisioning import LOG_STEP, RESET_STEP, WAIT_STEP, ask, enrol, events, put_into
from tests.functional.conductor.test_orphans import ORPHANS, die
from tests.restored import Rows
from tests.service import Service
from tests.waiting import wait_until

LONG_WAIT = {**WAIT_STEP, "args": {"seconds": 45}}


class Busy:
    """A management controller's answers about the step ``log_passthrough``: ``asked`` are the questions."""

    def __init__(self) -> None:
        self.begun = 0
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.says: Effect | Exception = Effect(poll_after=60, remember={"task": "/tasks/1"})

    def begin(self, machine: Machine) -> Effect:
        self.begun += 1
        return Effect(poll_after=60, remember={"task": "/tasks/1"})

    def poll(self, machine: Machine, step: str, remembered: Mapping[str, Any]) -> Effect:
        self.asked.append((step, dict(remembered)))
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> Busy:
    controller = Busy()

    def step(self: FakeVendor, machine: Machine) -> Effect:
        return controller.begin(machine)

    step.__dict__.update(FakeVendor.log_passthrough.__dict__)
    monkeypatch.setattr(FakeVendor, "log_passthrough", step)
    monkeypatch.setattr(
        FakeVendor, "poll", lambda self, machine, name, remembered: controller.poll(machine, name, remembered)
    )
    return controller


@pytest.fixture
def uuid(service: Service, busy: Busy) -> str:
    """n1, at the step that its machine is busy with; another step is left."""
    node = enrol(service)
    put_into(service, node, "manageable")
    ask(service, "clean", clean_steps=[LOG_STEP, RESET_STEP])
    service.work()
    return node


def let_time_pass(service: Service) -> None:
    """Let the time come to ask."""
    service.database.write(lambda session: session.execute(update(NodeWork).values(not_before=1)))


def rows(service: Service) -> list[Any]:
    columns = (NodeWork.id, NodeWork.kind, NodeWork.conductor, NodeWork.claimed_by, NodeWork.not_before)
    return list(service.database.read(lambda session: session.execute(select(*columns)).all()))


def take(service: Service, host: str) -> job.Job:
    (item,) = claiming.take(service.database, service.app.settings, host, f"process of {host}")
    return item


def test_steps_that_wait_hold_no_worker(database_url: str) -> None:
    with Service(database_url, conductor={"workers_pool_size": 2}) as service:
        service.add_conductor("c1")
        for number in range(4):
            put_into(service, service.add_node(f"w{number}", power=False), "manageable")
            body = {"target": "clean", "clean_steps": [LONG_WAIT, LOG_STEP]}
            service.baremetal("PUT", f"/nodes/w{number}/states/provision", body)
        last = service.add_node("last", power=False)
        service.baremetal("PUT", f"/nodes/{last}/states/power", {"target": "power on"})
        service.work()
        assert service.node(last)["power_state"] == "power on"
        waiting = service.node("w0")
        assert (waiting["provision_state"], waiting["reservation"]) == ("cleaning", "c1")
        assert waiting["clean_step"]["step"] == "wait"
        let_time_pass(service)
        service.work()
        assert {service.node(f"w{number}")["provision_state"] for number in range(4)} == {"manageable"}
        assert service.steps_done(service.node("w0")["uuid"]) == ["vendor.wait", "vendor.log_passthrough"]


def test_nobody_takes_it_before_its_time(service: Service) -> None:
    put_into(service, enrol(service), "manageable")
    ask(service, "clean", clean_steps=[LONG_WAIT])
    for done in service.conductors["c1"].work_once():
        done.result()
    assert claiming.take(service.database, service.app.settings, "c1", "process 1") == []
    let_time_pass(service)
    assert take(service, "c1").kind == "poll"


def test_the_driver_is_asked_when_it_is_time_with_what_it_wanted_remembered(
    service: Service, busy: Busy, uuid: str
) -> None:
    service.work()
    assert (busy.begun, busy.asked) == (1, [])
    let_time_pass(service)
    busy.says = Effect(poll_after=60, remember={"task": "/tasks/2"}, internal={"progress": 50})
    service.work()
    node = service.node(uuid)
    assert (node["provision_state"], node["reservation"]) == ("cleaning", "c1")
    assert (node["clean_step"]["step"], node["driver_internal_info"]["progress"]) == ("log_passthrough", 50)
    let_time_pass(service)
    busy.says = Effect(internal={"progress": 100})
    service.work()
    assert busy.asked == [("log_passthrough", {"task": "/tasks/1"}), ("log_passthrough", {"task": "/tasks/2"})]
    assert busy.begun == 1
    node = service.node(uuid)
    assert (node["provision_state"], node["reservation"], node["clean_step"]) == ("manageable", None, {})
    assert node["driver_internal_info"]["progress"] == 100
    assert service.steps_done(uuid) == ["vendor.log_passthrough", "bios.factory_reset"]
    assert len(events(service, "clean_step_start")) == 2


def test_a_step_that_turns_out_to_have_failed(service: Service, busy: Busy, uuid: str, row: Rows) -> None:
    for says, error in [
        (InvalidValue(message="disk 3 is broken"), "Step vendor.log_passthrough failed: disk 3 is broken"),
        (RuntimeError("oops"), "Unexpected error: RuntimeError('oops')"),
    ]:
        with row(says, error):
            let_time_pass(service)
            busy.says = says
            service.work()
            node = service.node(uuid)
            assert (node["provision_state"], node["reservation"], node["last_error"]) == ("clean failed", None, error)
            assert rows(service) == []


def test_a_step_that_takes_too_long_fails(database_url: str, busy: Busy) -> None:
    with Service(database_url, conductor={"polled_step_timeout": 0.1}) as service:
        service.add_conductor("c1")
        put_into(service, enrol(service), "manageable")
        ask(service, "clean", clean_steps=[LOG_STEP])
        service.work()
        # It is asked once more when its time is up, not after the 60 seconds that it asked for.
        wait_until(lambda: service.work() or service.node("n1")["provision_state"] != "cleaning", "the end")
        node = service.node("n1")
        assert (node["provision_state"], len(busy.asked)) == ("clean failed", 1)
        assert node["last_error"] == "Step vendor.log_passthrough failed: it is not done after 0.1 seconds."


def test_a_node_at_such_a_step_is_locked(service: Service, busy: Busy, uuid: str) -> None:
    """As it is at any other step: "cleaning" knows no abort."""
    for verb in ("abort", "provide"):
        ask(service, verb, status=409)
    service.patch(uuid, ("add", "/extra/a", 1), status=409)
    assert service.node(uuid)["clean_step"]["step"] == "log_passthrough"


def test_when_a_conductor_dies_another_one_asks(service: Service, busy: Busy, uuid: str, row: Rows) -> None:
    for at in ["between two questions", "at a question"]:
        with row(at):
            c2 = service.add_conductor("c2")
            if at == "at a question":
                let_time_pass(service)
                take(service, "c1")
            die(service, "c1")
            c2.run_periodic_task(ORPHANS)
            assert service.node(uuid)["reservation"] == "c2"
            let_time_pass(service)
            busy.says = NOTHING
            for done in c2.work_once():
                done.result()
            assert service.node(uuid)["provision_state"] == "manageable"
            assert busy.begun == 1


def test_what_follows_the_step_is_not_begun_again(service: Service, busy: Busy, uuid: str) -> None:
    """The step is over, and the next one had begun when the conductor died."""
    c2 = service.add_conductor("c2")
    let_time_pass(service)
    item = take(service, "c1")
    service.database.write(lambda session: session.execute(update(NodeWork).values(not_before=None)))
    die(service, "c1")
    c2.run_periodic_task(ORPHANS)
    node = service.node(uuid)
    assert (node["provision_state"], node["reservation"]) == ("clean failed", None)
    handlers.do(item)
    assert service.node(uuid) == node


def test_while_the_next_step_is_done_the_work_is_one_process_own(
    service: Service, busy: Busy, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def reset(self: Any, machine: Machine) -> Effect:
        seen.extend(rows(service))
        return NOTHING

    reset.__dict__.update(FakeBios.factory_reset.__dict__)
    monkeypatch.setattr(FakeBios, "factory_reset", reset)
    let_time_pass(service)
    busy.says = NOTHING
    service.work()
    ((_, _, conductor, claimed_by, not_before),) = seen
    assert (conductor, claimed_by is None, not_before) == ("c1", False, None)


def test_who_was_asking_while_the_work_was_given_to_another_writes_nothing(
    service: Service, busy: Busy, uuid: str
) -> None:
    service.add_conductor("c2")
    let_time_pass(service)
    item = take(service, "c1")
    die(service, "c1")
    service.conductors["c2"].run_periodic_task(ORPHANS)
    service.conductors["c1"].beat()
    busy.says = NOTHING
    before = service.node(uuid)
    handlers.do(item)
    assert service.node(uuid) == before
    ((number, kind, conductor, claimed_by, _),) = rows(service)
    assert (number != item.id, kind, conductor, claimed_by) == (True, "poll", "c2", None)


def test_a_conductor_that_stops_gives_it_to_another_one(service: Service, busy: Busy, uuid: str) -> None:
    service.add_conductor("c2")
    service.conductors["c1"].sign_off()
    service.conductors["c1"].finish()
    node = service.node(uuid)
    assert (node["provision_state"], node["reservation"], node["last_error"]) == ("cleaning", "c2", None)


def test_or_goes_on_itself_when_it_is_started_again(service: Service, busy: Busy, uuid: str, row: Rows) -> None:
    for at in ["between two questions", "at a question"]:
        with row(at):
            if at == "at a question":
                let_time_pass(service)
                take(service, "c1")
            else:
                service.conductors["c1"].sign_off()
                service.conductors["c1"].finish()
            assert service.node(uuid)["reservation"] == "c1"
            die(service, "c1")
            again = service.add_conductor("c1")
            service.database.write(lambda session: session.execute(update(Node).values(last_error=None)))
            die(service, "c1")
            again.start()
            let_time_pass(service)
            busy.says = NOTHING
            service.work()
            assert (service.node(uuid)["provision_state"], busy.begun) == ("manageable", 1)


def test_who_was_asking_while_the_conductor_was_started_again_writes_nothing(
    service: Service, busy: Busy, uuid: str
) -> None:
    """Under the same name: only the id of the work tells the two apart."""
    let_time_pass(service)
    item = take(service, "c1")
    again = service.add_conductor("c1")
    die(service, "c1")
    again.start()
    busy.says = NOTHING
    before = service.node(uuid)
    handlers.do(item)
    assert (service.node(uuid), len(busy.asked)) == (before, 0)


BIOS_STEP = {"interface": "bios", "step": "apply_configuration", "args": {"settings": [{"name": "a", "value": "1"}]}}
UPDATES = [{"component": "bmc", "url": "http://example.com/2.0.bin"}]
FIRMWARE_STEP = {"interface": "firmware", "step": "update", "args": {"settings": UPDATES}}


def test_fake_machines_are_busy_for_as_long_as_the_settings_say(database_url: str, row: Rows) -> None:
    for kind, step, settings, versions in [
        ("bios", BIOS_STEP, ["a"], []),
        ("bios", RESET_STEP, [], []),
        ("firmware", FIRMWARE_STEP, [], ["2.0"]),
        ("vendor", LOG_STEP, [], []),
    ]:
        with row(kind, step, settings, versions), Service(database_url, fake={f"{kind}_delay": 60}) as service:
            service.add_conductor("c1")
            uuid = enrol(service)
            put_into(service, uuid, "manageable")
            ask(service, "clean", clean_steps=[step])
            service.work()
            assert (service.node(uuid)["provision_state"], service.steps_done(uuid)) == ("cleaning", [])
            assert service.baremetal("GET", "/nodes/n1/bios").json == {"bios": []}
            let_time_pass(service)
            service.work()
            assert service.node(uuid)["provision_state"] == "manageable"
            known = service.baremetal("GET", "/nodes/n1/bios").json["bios"]
            assert [setting["name"] for setting in known] == settings
            components = service.baremetal("GET", "/nodes/n1/firmware").json["firmware"]
            assert [component["current_version"] for component in components] == versions


def test_a_fake_deployment_takes_none_of_the_workers(database_url: str) -> None:
    with Service(database_url, fake={"deploy_delay": 60}) as service:
        service.add_conductor("c1")
        service.add_node("n1")
        ask(service, "active")
        service.work()
        node = service.node("n1")
        assert (node["provision_state"], node["deploy_step"]["step"]) == ("deploying", "deploy")
        let_time_pass(service)
        service.work()
        assert service.node("n1")["provision_state"] == "active"
