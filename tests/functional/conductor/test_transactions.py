"""What is committed before which call of a driver, for each kind of work: the table of the page about fencing.

``|`` is a commit, or several without a call between them, so a kind may take fewer transactions than it did. A call
that moves in front of a commit fails here: a crash must find in the database what protects the call.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, update

from baremetal_sched.baremetal.conductors import work_queue
from baremetal_sched.conductor.handlers import HANDLERS
from baremetal_sched.conductor.noted_calls import IsLost, NotedCalls
from baremetal_sched.db.models import NodeWork
from baremetal_sched.drivers.fake.hardware import FakeVendor
from baremetal_sched.machines.machine import Effect
from tests.databases import ConductorRows, TestDatabase
from tests.functional.baremetal.provisioning import LOG_STEP, ask, enrol, put_into, resume
from tests.service import Service

PAGE = Path(__file__).parents[3] / "api-ref" / "design" / "fencing.rst"
WAITS = {"interface": "vendor", "step": "trigger_servicewait"}
STEPS = [LOG_STEP, {"interface": "bios", "step": "factory_reset"}]
INVENTORY = {"interfaces": [{"name": "eth0", "mac_address": "52:54:00:00:00:01"}], "bmc_address": "192.0.2.7"}

CLEANED = "vendor.log_passthrough | deploy.tear_down_cleaning |"
#: Kinds of work, and what fake-hardware does for them.
TABLE = {
    "power": "| power.set_power_state |",
    "led": "| power.get_power_state power.get_power_state | power.set_power_state | power.set_power_state |",
    "vendor": "| vendor.call |",
    "driver": "| management.set_boot_mode |",
    "verifying": "| power.validate power.get_power_state management.get_boot_settings |",
    "inspecting": "| inspect.inspect_hardware |",
    "adopting": "| power.validate boot.validate deploy.validate storage.validate power.get_power_state |",
    "cleaning": f"| deploy.prepare_cleaning | {CLEANED}",
    "deploying": "| power.validate deploy.validate storage.attach_volumes | deploy.deploy | boot.prepare_instance |",
    "deleting": f"| deploy.tear_down storage.detach_volumes | deploy.prepare_cleaning | {CLEANED}",
    "rescuing": "| rescue.rescue |",
    "unrescuing": "| rescue.unrescue |",
    "servicing": "| vendor.log_passthrough | vendor.log_passthrough | deploy.tear_down_service |",
    "aborted service": "| deploy.tear_down_service |",
    "resume": "| vendor.log_passthrough | deploy.tear_down_service |",
    "poll": "| vendor.poll | bios.factory_reset | deploy.tear_down_cleaning |",
    "discovery": "| power.set_power_state boot.clean_up_ramdisk |",
}


@pytest.fixture
def service(conductor_rows: ConductorRows, test_database: TestDatabase) -> Iterator[Service]:
    """The service with one conductor; machines that it does not know are enrolled."""
    test_database.enter_conductors(conductor_rows)
    with Service(test_database.url, auto_discovery={"enabled": True, "driver": "fake-hardware"}) as running:
        running.resume_conductor("c1")
        yield running


@pytest.fixture
def seen(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Calls of drivers and commits, in order."""
    found: list[str] = []
    calling = NotedCalls.calling

    def noted(self: NotedCalls, name: str, is_lost: IsLost = lambda seconds: False) -> AbstractContextManager[None]:
        found.append(name)
        return calling(self, name, is_lost)

    def committed(connection: object) -> None:
        if found[-1:] != ["|"]:
            found.append("|")

    monkeypatch.setattr(NotedCalls, "calling", noted)
    event.listen(service.database.engine, "commit", committed)
    yield found
    event.remove(service.database.engine, "commit", committed)


def verb(name: str, state: str, **more: Any) -> Callable[[Service, str], None]:
    """Ask for a verb in a state."""

    def request(service: Service, uuid: str) -> None:
        put_into(service, uuid, state, power_state="power on")
        ask(service, name, **more)

    return request


def a_child(service: Service, uuid: str) -> None:
    """Switch n1 off, which has a child."""
    child = service.add_node("n2", power=False)
    service.set_columns(child, power_state="power on")
    service.patch("n2", ("add", "/parent_node", uuid))
    power(service, uuid)


def power(service: Service, uuid: str) -> None:
    put_into(service, uuid, "available", power_state="power on")
    service.baremetal("PUT", "/nodes/n1/states/power", {"target": "power off"})


def vendor(service: Service, uuid: str) -> None:
    service.baremetal("POST", "/nodes/n1/vendor_passthru?method=second_method", {"bar": "kazoo"})


def driver(service: Service, uuid: str) -> None:
    put_into(service, uuid, "available")
    service.baremetal("PUT", "/nodes/n1/states/boot_mode", {"target": "uefi"})


def waiting(service: Service, uuid: str) -> None:
    """Let n1 wait for its agent, before a step."""
    verb("service", "active", service_steps=[WAITS, LOG_STEP])(service, uuid)
    service.work()
    resume(service)


def aborted(service: Service, uuid: str) -> None:
    put_into(service, uuid, "service failed", power_state="power on")
    ask(service, "abort")


def polled(service: Service, uuid: str) -> None:
    """Let n1 be busy with the first of two steps, whose progress is due."""
    verb("clean", "manageable", clean_steps=STEPS)(service, uuid)
    service.work()
    service.database.write(lambda session: session.execute(update(NodeWork).values(not_before=1)))


def discovered(service: Service, uuid: str) -> None:
    service.baremetal("POST", "/continue_inspection", {"inventory": INVENTORY})


REQUESTS: dict[str, Callable[[Service, str], None]] = {
    "power": power,
    "led": a_child,
    "vendor": vendor,
    "driver": driver,
    "verifying": verb("manage", "enroll"),
    "inspecting": verb("inspect", "manageable"),
    "adopting": verb("adopt", "manageable"),
    "cleaning": verb("provide", "manageable"),
    "deploying": verb("active", "available"),
    "deleting": verb("deleted", "active"),
    "rescuing": verb("rescue", "active", rescue_password="secret"),
    "unrescuing": verb("unrescue", "rescue"),
    "servicing": verb("service", "active", service_steps=[LOG_STEP, LOG_STEP]),
    "aborted service": aborted,
    "resume": waiting,
    "poll": polled,
    "discovery": discovered,
}


def test_the_table_has_every_kind() -> None:
    kinds = {*HANDLERS, work_queue.SUBORDINATE}
    assert kinds == {*TABLE} == {*REQUESTS}
    text = PAGE.read_text()
    assert [kind for kind in kinds if f"``{kind}``" not in text] == []


@pytest.mark.parametrize("kind", TABLE)
def test_commits_before_calls(kind: str, service: Service, seen: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == work_queue.POLL:
        step = FakeVendor.log_passthrough
        monkeypatch.setattr(FakeVendor, "log_passthrough", wraps(step)(lambda self, machine: Effect(poll_after=1)))
    REQUESTS[kind](service, enrol(service))
    seen.clear()
    service.work()
    print(kind, *seen)
    assert " ".join(seen) == TABLE[kind]
