"""Calls of drivers: made by a conductor, once, while the request holds nothing."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, select, update

from baremetal_sched.baremetal.conductors import driver_calls, driver_client, driver_replies
from baremetal_sched.conductor import answering, driver_methods, orphaned_reservations
from baremetal_sched.conductor.answering import Answering
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.db.models import DriverCall, Node, NodeWork
from baremetal_sched.drivers import registry
from baremetal_sched.errors import AnswerTimeout, CommitUnknown, DatabaseAway, DriverFailed, InvalidValue
from baremetal_sched.errors.baremetal import NodeLocked
from baremetal_sched.machines.machine import Effect, Machine
from baremetal_sched.settings import load
from tests.clocks import Clock
from tests.service import Service, fault
from tests.waiting import PATIENCE, wait_until

BOOT_DEVICE = "/nodes/n1/management/boot_device"
PXE = {"boot_device": "pxe"}


class Recorder:
    """Stands for a method of the fake management interface, and notes when it is called."""

    def __init__(self, action: Callable[[], Any] = lambda: Effect()) -> None:
        self.calls = 0
        self._action = action

    def __call__(self, machine: Machine, *args: Any, **named: Any) -> Any:
        self.calls += 1
        return self._action()


def replace(monkeypatch: pytest.MonkeyPatch, name: str, action: Callable[[], Any] = lambda: Effect()) -> Recorder:
    recorder = Recorder(action)
    monkeypatch.setattr(registry.interface("management", "fake"), name, recorder)
    return recorder


def host(service: Service) -> ConductorHost:
    return ConductorHost("c1", service.database, service.app.settings)


def wait_until_begun(service: Service, monkeypatch: pytest.MonkeyPatch, begin: Callable[[str], object]) -> None:
    """Let requests wait for a reply until ``begin`` returns, however long that takes, and no longer."""
    clock = Clock()
    monkeypatch.setattr(driver_client, "time", clock)
    service.app.drivers._timeout = 600.0

    def begin_and_wait(name: str) -> None:
        begin(name)
        clock.go_on(600)

    service.app.drivers.on_call = begin_and_wait


def calls(service: Service) -> int:
    return service.database.read(lambda session: session.scalar(select(func.count(DriverCall.id))) or 0)


def await_settled(service: Service) -> None:
    """Wait until no call is left; the thread that delivers replies deletes them a moment later."""
    wait_until(lambda: calls(service) == 0, "the calls to be deleted")


def await_begun(made: Answering) -> None:
    """Wait until the threads know what they are to call."""
    wait_until(lambda: all(each.call for each in made._making.values()), "the calls to be begun")


def reservation(service: Service) -> str | None:
    return service.database.read(lambda session: session.scalars(select(Node.reservation)).one())


def write_down(service: Service, *, token: str = "a token", **changes: Any) -> int:
    """A call of set_boot_device, as a request writes it down; returns its id."""

    def write(session: Any) -> int:
        node = session.scalars(select(Node)).one()
        asked = {"device": "pxe", "persistent": False}
        question = driver_calls.DriverQuestion(
            *(node.id, node.uuid, node.driver, node.revision, "c1", "management.set_boot_device", asked),
            **{"reserves": True, "then": str, **changes},
        )
        return driver_calls.write_down(session, question, token, 30)

    return service.database.write(write)


def reply_to(service: Service, call_id: int) -> driver_replies.Reply | None:
    document = service.database.read(lambda session: driver_calls.find_replies(session, [call_id]))[call_id]
    return None if document is None else driver_replies.read(document)


def test_a_machine_is_told_once_and_its_node_is_reserved_meanwhile(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str | None] = []
    replace(monkeypatch, "set_boot_device", lambda: seen.append(reservation(service)) or Effect())
    service.baremetal("PUT", BOOT_DEVICE, PXE, status=204)
    assert (seen, reservation(service)) == (["c1"], None)
    await_settled(service)


def test_what_a_driver_did_is_written_down(service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    replace(monkeypatch, "set_boot_device", lambda: Effect(internal={"boots_from": "pxe"}))
    service.baremetal("PUT", BOOT_DEVICE, PXE, status=204)
    assert service.node("n1")["driver_internal_info"]["boots_from"] == "pxe"


def test_no_transaction_is_open_while_a_driver_is_called(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another request that changes the same node waits for no lock; it is refused, as the node is reserved."""
    statuses: list[int] = []

    def meanwhile() -> Effect:
        statuses.append(service.baremetal("PUT", "/nodes/n1/maintenance", {}, status="*").status_int)
        statuses.append(service.baremetal("GET", "/nodes/n1").status_int)
        return Effect()

    recorder = replace(monkeypatch, "set_boot_device", meanwhile)
    service.baremetal("PUT", BOOT_DEVICE, PXE, status=204)
    # A request that had waited for a lock until its time-out would have got 503.
    assert (statuses, recorder.calls) == ([409, 200], 1)


def test_a_race_that_is_lost_does_not_call_the_driver_again(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node is changed while its driver is called, so what the conductor has read of it is out of date."""

    def change() -> Effect:
        change_by_hand = update(Node).values(revision=Node.revision + 1, extra={"changed": True})
        service.database.write(lambda session: session.execute(change_by_hand))
        return Effect(internal={"boots_from": "pxe"})

    recorder = replace(monkeypatch, "set_boot_device", change)
    service.baremetal("PUT", BOOT_DEVICE, PXE, status=204)
    node = service.node("n1")
    assert (recorder.calls, node["extra"]) == (1, {"changed": True})
    assert node["driver_internal_info"]["boots_from"] == "pxe"


def test_a_node_that_changes_while_it_is_validated_is_validated_again(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    validated: list[str] = []

    def validate(machine: Machine) -> None:
        validated.append(machine.driver_info.get("how", "not at all"))
        if len(validated) == 1:
            service.patch("n1", ("add", "/driver_info/how", "well"))

    monkeypatch.setattr(registry.interface("power", "fake"), "validate", validate)
    service.baremetal("PUT", "/nodes/n1/states/power", {"target": "power off"}, status=202)
    assert validated == ["not at all", "well"]


def test_a_node_that_always_changes_is_given_up(service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []

    def validate(machine: Machine) -> None:
        counted.append(len(counted))
        service.patch("n1", ("add", "/extra/n", len(counted)))

    monkeypatch.setattr(registry.interface("power", "fake"), "validate", validate)
    refused = service.baremetal("PUT", "/nodes/n1/states/power", {"target": "power off"}, status=409)
    assert "was changed during the driver call" in fault(refused)
    assert service.node("n1")["target_power_state"] is None


def test_what_nobody_begins_is_taken_back(service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_until_begun(service, monkeypatch, lambda name: None)
    refused = service.baremetal("PUT", BOOT_DEVICE, PXE, status=503)
    assert "did not start the driver call in time, so nothing was done" in fault(refused)
    assert (calls(service), reservation(service)) == (0, None)


def test_what_was_begun_and_not_answered_may_have_been_done(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    recorder = replace(monkeypatch, "set_boot_device", lambda: release.wait(60) and Effect())

    def begin(name: str) -> None:
        service.conductors[name].answering.begin_all()
        wait_until(lambda: recorder.calls, "the call")

    wait_until_begun(service, monkeypatch, begin)
    refused = service.baremetal("PUT", BOOT_DEVICE, PXE, status=504)
    assert "It may have been completed" in fault(refused)
    assert "Retry-After" not in refused.headers
    assert (recorder.calls, reservation(service)) == (1, "c1")
    release.set()
    for making in service.conductors["c1"].answering._making.values():
        making.thread.join(PATIENCE)
    assert reservation(service) is None


def test_a_driver_that_hangs_when_it_is_asked_is_not_asked_again(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients repeat a request that was answered with 503."""
    release = threading.Event()
    monkeypatch.setattr(registry.interface("power", "fake"), "validate", lambda machine: release.wait(60) and None)
    made, clock = service.conductors["c1"].answering, Clock()
    monkeypatch.setattr(answering, "time", clock)

    def begin(name: str) -> None:
        made.begin_all()
        await_begun(made)
        clock.go_on(2)
        made.begin_all()  # as it does all the time

    wait_until_begun(service, monkeypatch, begin)
    service.baremetal("GET", "/nodes/n1/validate", status=504)
    release.set()
    for making in list(made._making.values()):
        making.thread.join(PATIENCE)


def test_no_call_is_begun_past_its_deadline(service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = replace(monkeypatch, "set_boot_device")
    write_down(service)
    service.database.write(lambda session: session.execute(update(DriverCall).values(deadline=1)))
    service.call_drivers("c1")
    assert (recorder.calls, reservation(service)) == (0, "c1")
    answering.settle_abandoned(host(service))
    assert (calls(service), reservation(service)) == (0, None)


def test_a_call_is_made_by_one_process(service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = replace(monkeypatch, "set_boot_device")
    call_id = write_down(service)
    claimed: list[Any] = []
    original = driver_methods.METHODS["management.set_boot_device"]

    def while_another_looks(*given: Any) -> Any:
        other = Answering(host(service), "another process")
        claimed.append(service.database.write(lambda session: other._claim(session, call_id)))
        return original(*given)

    monkeypatch.setitem(driver_methods.METHODS, "management.set_boot_device", while_another_looks)  # type: ignore[arg-type]
    service.call_drivers("c1")
    assert (recorder.calls, claimed) == (1, [None])


def test_a_bug_of_a_driver_is_said_and_frees_the_node(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> Effect:
        raise ZeroDivisionError("a bug")

    replace(monkeypatch, "set_boot_device", fail)
    refused = service.baremetal("PUT", BOOT_DEVICE, PXE, status=502)
    assert "The driver of the node failed unexpectedly: ZeroDivisionError('a bug')" in fault(refused)
    assert reservation(service) is None


@pytest.mark.parametrize("value", [object(), float("nan"), {"text": "x" * 20_000_000}])
def test_what_a_driver_says_and_cannot_be_kept_is_its_failure(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch, value: Any
) -> None:
    replace(monkeypatch, "get_boot_device", lambda: value)
    assert service.baremetal("GET", BOOT_DEVICE, status="*").status_int in (400, 413, 502)
    assert reservation(service) is None


def test_a_locked_node_is_refused_and_only_asked_where_that_does_no_harm(service: Service, uuid: str) -> None:
    service.set_columns(uuid, reservation="c1")
    assert "is locked by host c1" in fault(service.baremetal("GET", BOOT_DEVICE, status=409))
    assert "is locked by host c1" in fault(service.baremetal("PUT", BOOT_DEVICE, PXE, status=409))
    service.baremetal("GET", f"{BOOT_DEVICE}/supported", status=200)
    service.baremetal("GET", "/nodes/n1/validate", status=200)
    with pytest.raises(NodeLocked):
        write_down(service)


def test_calls_of_a_process_that_was_killed_are_answered_when_its_conductor_starts_again(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is unknown whether the machine got the call, so the call is not repeated."""
    recorder = replace(monkeypatch, "set_boot_device")
    call_id = write_down(service)
    killed = Answering(host(service), "a process that is killed")
    assert service.database.write(lambda session: killed._claim(session, call_id)) is not None
    orphaned_reservations.release_before_start(host(service))
    answering.give_up_before_start(host(service))
    reply = reply_to(service, call_id)
    assert reply is not None
    assert isinstance(reply.error, AnswerTimeout)
    service.call_drivers("c1")
    assert (recorder.calls, reservation(service)) == (0, None)


def test_questions_of_a_process_that_was_killed_are_asked_again(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = replace(monkeypatch, "set_boot_device")
    call_id = write_down(service, reserves=False, then=None)
    killed = Answering(host(service), "a process that is killed")
    assert service.database.write(lambda session: killed._claim(session, call_id)) is not None
    answering.give_up_before_start(host(service))
    service.call_drivers("c1")
    assert (recorder.calls, reply_to(service, call_id) is not None) == (1, True)


def test_calls_of_a_dead_conductor_go_to_the_next(service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = replace(monkeypatch, "set_boot_device")
    call_id = write_down(service, reserves=False)
    service.database.write(lambda session: session.execute(update(DriverCall).values(conductor="dead")))
    answering.settle_abandoned(host(service))
    service.call_drivers("c1")
    assert (recorder.calls, reply_to(service, call_id) is not None) == (1, True)


def test_who_lost_its_work_writes_nothing(service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose() -> Effect:
        service.database.write(lambda session: session.execute(NodeWork.__table__.delete()))  # type: ignore[attr-defined]
        return Effect(internal={"boots_from": "pxe"})

    replace(monkeypatch, "set_boot_device", lose)
    service.baremetal("PUT", BOOT_DEVICE, PXE, status=504)
    assert "boots_from" not in service.node("n1")["driver_internal_info"]


def test_a_driver_that_hangs_is_given_up_and_its_node_is_free(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    replace(monkeypatch, "set_boot_device", lambda: release.wait(60) and Effect(internal={"late": True}))
    made = service.conductors["c1"].answering
    made._longest = 0.1
    call_id = write_down(service)
    made.begin_all()
    thread = made._making[call_id].thread
    wait_until(lambda: made.begin_all() or reservation(service) is None, "the call to be given up")
    reply = reply_to(service, call_id)
    assert (reservation(service), made._making) == (None, {})
    assert reply is not None
    assert isinstance(reply.error, AnswerTimeout)
    release.set()
    thread.join(PATIENCE)
    assert "late" not in service.node("n1")["driver_internal_info"]


def test_a_claim_whose_commit_may_have_failed_is_looked_for(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = replace(monkeypatch, "set_boot_device")
    call_id = write_down(service)
    write, lost = service.database.write, [DatabaseAway(), CommitUnknown()]

    def write_and_lose_the_answer(work: Any, **options: Any) -> Any:
        result = write(work, **options) if len(lost) != 1 else None
        if lost:
            raise lost.pop()
        return result

    monkeypatch.setattr(service.database, "write", write_and_lose_the_answer)
    service.call_drivers("c1")
    reply = reply_to(service, call_id)
    assert (recorder.calls, reservation(service)) == (1, None)
    assert reply is not None
    assert reply.error is None


def test_what_was_claimed_and_is_late_by_now_is_not_begun(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = replace(monkeypatch, "set_boot_device")
    call_id = write_down(service)
    made = service.conductors["c1"].answering
    assert service.database.write(lambda session: made._claim(session, call_id)) is not None
    service.database.write(lambda session: session.execute(update(DriverCall).values(deadline=1)))
    made._make(call_id)
    assert (recorder.calls, reservation(service), calls(service)) == (0, None, 0)


def test_an_error_of_the_driver_is_never_a_reason_to_call_it_again(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> Effect:
        raise NodeLocked(node=uuid, host="a management controller")

    recorder = replace(monkeypatch, "set_boot_device", refuse)
    assert "a management controller" in fault(service.baremetal("PUT", BOOT_DEVICE, PXE, status=409))
    assert recorder.calls == 1


def test_a_conductor_that_stops_makes_the_calls_that_it_has_begun(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = replace(monkeypatch, "set_boot_device", lambda: time.sleep(0.05) or Effect())
    conductor = service.conductors["c1"]
    service.app.drivers.on_call = lambda name: (conductor.answering.begin_all(), conductor.finish())
    service.baremetal("PUT", BOOT_DEVICE, PXE, status=204)
    assert (recorder.calls, reservation(service)) == (1, None)


def test_a_conductor_that_cannot_wait_any_longer_says_so(
    service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    replace(monkeypatch, "set_boot_device", lambda: release.wait(60) and Effect())
    conductor = service.conductors["c1"]
    monkeypatch.setattr(conductor, "_settings", load(overrides={"DEFAULT": {"graceful_shutdown_timeout": 0.1}}))

    def stop(name: str) -> None:
        conductor.answering.begin_all()
        await_begun(conductor.answering)
        conductor.finish()

    service.app.drivers.on_call = stop
    service.app.drivers._timeout = 3600
    service.baremetal("PUT", BOOT_DEVICE, PXE, status=504)  # the conductor says so, not the end of this patience
    assert reservation(service) is None
    release.set()


def test_calls_that_hang_leave_room_for_others(service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    replace(monkeypatch, "set_boot_device", lambda: release.wait(60) and Effect())
    made, clock = service.conductors["c1"].answering, Clock()
    monkeypatch.setattr(answering, "time", clock)
    made._most = 1
    first = write_down(service, reserves=False)
    made.begin_all()
    second = write_down(service, reserves=False, token="another")
    made.begin_all()
    assert list(made._making) == [first]
    await_begun(made)
    clock.go_on(made._patience)
    made.begin_all()
    assert list(made._making) == [first, second]
    release.set()
    for making in made._making.values():
        making.thread.join(PATIENCE)


def test_deleting_a_node_stops_its_console(service: Service, uuid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[str] = []
    monkeypatch.setattr(registry.interface("console", "fake"), "stop_console", lambda each: stopped.append(each.uuid))
    service.baremetal("PUT", "/nodes/n1/states/console", {"enabled": True}, status=202)
    service.work()
    assert service.node("n1")["console_enabled"]
    service.baremetal("DELETE", "/nodes/n1", status=204)
    assert stopped == [uuid]


def test_errors_of_drivers_keep_their_kind(service: Service) -> None:
    class OfAnotherPackage(InvalidValue):
        """Which the API does not know."""

    document = driver_replies.failed(OfAnotherPackage(message="no such device"), 3)
    document["error"][0] = "SomethingUnknown"
    reply = driver_replies.read(document)
    assert (type(reply.error), str(reply.error), reply.revision) == (InvalidValue, "no such device", 3)
    assert isinstance(driver_replies.read(driver_replies.failed(KeyError("a"), None)).error, DriverFailed)
